"""HAMi's ConfigMaps as facts: how cards are asked for, and what nodes register (docs/rules/devices.md#config).

What HAMi could not read it would not start with; here the map is refused as a whole, with every field that is wrong, and what
was last understood of it is kept. Unknown sections and fields are ignored, as HAMi ignores them.
"""

from collections.abc import Iterable, Mapping

from events.api.jobs import ApiConfigMap
from events.bounded_yaml import Unreadable, yaml_as_written
from events.catalogue import Fact
from events.control import ObjectProblem
from events.device_config import (
    DeviceConfigObserved,
    DeviceTemplate,
    NodeConfigsObserved,
    NodeDeviceConfig,
    VendorConfig,
)
from events.json_object import JsonMapping, is_object, object_at
from events.settings import HamiSettings
from projections.devices.card_config import HAMI, CardConfig, card_config
from projections.devices.vendors.table import BY_WORD, ENFLAME_SLICE, METAX_SLICE, MLU, NEURON, NVIDIA
from services.watcher.fields.config_section import ConfigSection
from services.watcher.fields.object_reading import read
from services.watcher.fields.problems import Refused, problem

DEVICE_CONFIG, NODE_CONFIG = "device-config.yaml", "config.json"
"""Under which keys HAMi's scheduler and its device plugin have their configuration."""
_COUNT, _MEMORY, _CORES = "resourceCountName", "resourceMemoryName", "resourceCoreName"
_PERCENT = "resourceMemoryPercentageName"
_SECTIONS: tuple[tuple[str, str, tuple[str, str, str, str]], ...] = (
    ("nvidia", NVIDIA, (_COUNT, _MEMORY, _PERCENT, _CORES)),
    ("cambricon", MLU, (_COUNT, _MEMORY, "", _CORES)),
    ("hygon", "DCU", (_COUNT, _MEMORY, "", _CORES)),
    ("metax", "Metax-GPU", (_COUNT, "", "", "")),
    ("metax", METAX_SLICE, ("resourceVCountName", "resourceVMemoryName", "", "resourceVCoreName")),
    ("enflame", ENFLAME_SLICE, ("resourceNameDRSGCU", "resourceNameGCUMemory", "", "resourceNameGCUCore")),
    ("enflame", "GCU", ("resourceNameGCU", "", "", "")),
    ("mthreads", "Mthreads", (_COUNT, _MEMORY, "", _CORES)),
    ("kunlun", "kunlun", (_COUNT, "", "", "")),
    ("kunlun", "XPU", ("resourceVCountName", "resourceVMemoryName", "", "")),
    ("awsneuron", NEURON, (_COUNT, "", "", _CORES)),
    ("amd", "AMD", (_COUNT, _MEMORY, "", _CORES)),
    ("vastai", "Vastai", (_COUNT, "", "", "")),
    ("biren", "Biren", (_COUNT, "", "", "")),
)
"""The sections of the file: of which vendor, and where count, memory, percentage and cores are named."""
_CORE_POLICIES = ("default", "force", "disable")
_MIG_STRATEGIES, _MODES = ("none", "single", "mixed"), ("hami-core", "mig", "mps")


def hami_config(value: JsonMapping) -> list[Fact]:
    """The configuration in a ConfigMap of HAMi. Raises `Refused`, also when it has neither of HAMi's files."""
    found = read(value, ApiConfigMap)
    data, meta = found.data or {}, found.metadata
    if DEVICE_CONFIG in data:
        return [_device_config(_section(data, DEVICE_CONFIG), meta.namespace, meta.name)]
    if NODE_CONFIG in data:
        section = _section(data, NODE_CONFIG)
        nodes = {one.node: one for one in map(_node, section.listed("nodeconfig"))}
        section.refuse_if_any()
        return [NodeConfigsObserved(namespace=meta.namespace, name=meta.name, nodes=tuple(nodes.values()))]
    message = f"it has neither {DEVICE_CONFIG} nor {NODE_CONFIG}"
    raise Refused([problem("data", message, "what HAMi's chart writes")])


def is_hami_config(value: JsonMapping) -> bool:
    """Whether an object is meant to be one of these."""
    data = object_at(value, "data")
    named = DEVICE_CONFIG in data or "nodeconfig" in str(data.get(NODE_CONFIG, ""))
    return value.get("kind") == "ConfigMap" and named


def _section(data: dict[str, str], key: str) -> ConfigSection:
    field = f"data[{key}]"
    try:
        found = yaml_as_written(data[key])
    except Unreadable as bad:
        raise Refused([problem(field, f"it can't be read: {bad.what}", "what HAMi's chart writes")]) from bad
    if not is_object(found) or not found:
        raise Refused([problem(field, "it says nothing, and HAMi does not start with it", "a section for each vendor")])
    return ConfigSection(found, field, [])


def _device_config(file: ConfigSection, namespace: str, name: str) -> Fact:
    vendors: list[VendorConfig] = []
    for key, word, names in _SECTIONS:
        section = file.part(key)
        if section is not None:
            vendors.append(_vendor(section, word, names))
    chips, soft_split = _ascend(file)
    vendors.extend(chips)
    vendors.extend(_chip(one, "iluvatar", _COUNT) for one in file.listed("iluvatars"))
    file.problems.extend(_ambiguous_names(vendors, file.field))
    nvidia = file.part("nvidia") or ConfigSection({}, file.field, file.problems)
    fact = DeviceConfigObserved(
        namespace=namespace,
        name=name,
        vendors=tuple(vendors),
        default_count=nvidia.whole("defaultGPUNum", 1),
        default_memory=nvidia.whole("defaultMemory", 0),
        default_cores=nvidia.whole("defaultCores", 0, most=100),
        core_policy=nvidia.one_of("gpuCorePolicy", "default", _CORE_POLICIES),
        overwrite_env=nvidia.yes("overwriteEnv"),
        priority=nvidia.resource("resourcePriorityName", "nvidia.com/priority"),
        runtime_class=nvidia.text("runtimeClassName", ""),
        soft_split=soft_split,
        split=nvidia.whole("deviceSplitCount", 10, least=1),
        memory_scaling=nvidia.decimal("deviceMemoryScaling", "1"),
        core_scaling=nvidia.decimal("deviceCoreScaling", "1"),
    )
    file.refuse_if_any()
    return fact


def _vendor(section: ConfigSection, word: str, names: tuple[str, str, str, str]) -> VendorConfig:
    known = BY_WORD[word].resources
    count, memory, percent, cores = (
        section.resource(key, default) if key else default
        for key, default in zip(names, (known.count, known.memory, known.percent, known.cores), strict=True)
    )
    factor = section.whole("memoryFactor", 1)
    return VendorConfig(
        word=word,
        count=count,
        memory=memory,
        percent=percent,
        cores=cores,
        factor=max(factor, 1),
        linked=word == METAX_SLICE and section.yes("sgpuTopologyAware"),
    )


def _ascend(file: ConfigSection) -> tuple[list[VendorConfig], bool]:
    """The chips of Ascend, in the older form or in the newer, and whether every node splits by software."""
    if is_object(file.values.get("vnpus")):
        section = file.part("vnpus") or file
        return [_npu(one) for one in section.listed("configs")], section.yes("hamiVnpuCore")
    return [_npu(one) for one in file.listed("vnpus")], False


def _npu(section: ConfigSection) -> VendorConfig:
    chip = _chip(section, "ascend", "resourceName")
    return VendorConfig(
        word=chip.word,
        family=chip.family,
        count=chip.count,
        memory=chip.memory,
        cores=chip.cores,
        factor=max(section.whole("memoryFactor", 1), 1),
        templates=tuple(
            DeviceTemplate(name=one.text("name"), memory=one.whole("memory", 0), cores=one.whole("aiCore", 0))
            for one in section.listed("templates")
        ),
        allocatable=section.whole("memoryAllocatable", 0),
        capacity=section.whole("memoryCapacity", 0),
        super_pod=section.yes("superPod"),
    )


def _chip(section: ConfigSection, family: str, count: str) -> VendorConfig:
    return VendorConfig(
        word=section.text("commonWord"),
        family=family,
        count=section.resource(count),
        memory=section.resource(_MEMORY, ""),
        cores=section.resource(_CORES, ""),
    )


def _ambiguous_names(vendors: Iterable[VendorConfig], field: str) -> list[ObjectProblem]:
    """Problems for resource names that would mean the cards of two vendors."""
    owners: dict[str, str] = {}
    found: list[ObjectProblem] = []
    for one in vendors:
        for name in dict.fromkeys((one.count, one.memory, one.percent, one.cores)):
            if name and owners.setdefault(name, one.word) != one.word:
                message = f"{name} asks for cards of {owners[name]} and of {one.word}"
                found.append(problem(field, message, "a name of its own for each"))
    return found


def _node(section: ConfigSection) -> NodeDeviceConfig:
    hidden = section.part("filterdevices") or ConfigSection({}, section.field, section.problems)
    return NodeDeviceConfig(
        node=section.text("name"),
        split=section.whole("devicesplitcount", 0, least=1) or None,
        memory_scaling=section.decimal("devicememoryscaling", ""),
        core_scaling=section.decimal("devicecorescaling", ""),
        mig_strategy=section.one_of("migstrategy", "", _MIG_STRATEGIES),
        operating_mode=section.one_of("operatingmode", "", _MODES),
        hidden_cards=tuple(hidden.texts("uuid")),
        hidden_indexes=tuple(hidden.wholes("index")),
    )


class KnownCards:
    """The resource names for cards, from HAMi's configuration as last reported; each is read once."""

    def __init__(self, facts: Mapping[str, Fact], rule: HamiSettings) -> None:
        self._facts, self._place = facts, f"ConfigMap/{rule.namespace}/{rule.device_config}"
        self._read: tuple[Fact | None, CardConfig] = (None, HAMI)

    def now(self) -> CardConfig:
        """The names by the configuration that was last reported, HAMi's own where there is none."""
        config = self._facts.get(self._place)
        if config is not self._read[0]:
            self._read = config, card_config(config if isinstance(config, DeviceConfigObserved) else None)
        return self._read[1]
