"""HAMi's ConfigMaps: what they say is told as a fact, what is wrong is told once, and what was understood last goes on."""

from pathlib import Path
from typing import Any

import pytest

from events.control import ObjectRefused, ObjectRemoved
from events.device import DevicesRegistered
from events.device_config import DeviceConfigObserved, DeviceTemplate, NodeConfigsObserved, NodeDeviceConfig
from ops.production.log.memory import MemoryStream
from projections.devices.card_config import HAMI, card_config
from services.watcher.settings.device_config import hami_config
from services.watcher.view import View
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest

NAME = "hami-scheduler-device"
CHART = """
nvidia:
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  resourceMemoryPercentageName: nvidia.com/gpumem-percentage
  resourceCoreName: nvidia.com/gpucores
  resourcePriorityName: nvidia.com/priority
  overwriteEnv: false
  defaultMemory: 0
  defaultCores: 0
  defaultGPUNum: 1
  memoryFactor: 1
  deviceSplitCount: 10
  deviceMemoryScaling: 1
  deviceCoreScaling: 1
  gpuCorePolicy: default
  libCudaLogLevel: 1
  runtimeClassName: ""
  migProfileAllowlist:
  - models: [ "A30" ]
    profiles: [ "1g.6gb" ]
cambricon: {resourceCountName: cambricon.com/vmlu, resourceMemoryName: cambricon.com/mlu.smlu.vmemory,
  resourceCoreName: cambricon.com/mlu.smlu.vcore}
amd: {resourceCountName: "amd.com/gpu", resourceCoreName: "amd.com/gpucores", resourceMemoryName: "amd.com/gpumem"}
somebody-new: {resourceCountName: new.com/card}
"""


def config_map(text: str, *, key: str = "device-config.yaml", name: str = NAME) -> dict[str, Any]:
    return {"metadata": {"namespace": "kube-system", "name": name, "uid": name}, "data": {key: text}}


def told(text: str, **where: str) -> DeviceConfigObserved:
    (fact,) = hami_config(config_map(text, **where))
    assert isinstance(fact, DeviceConfigObserved)
    return fact


def problems(text: str, **where: str) -> dict[str, str]:
    (fact,) = View().see("ConfigMap", config_map(text, **where))
    assert isinstance(fact, ObjectRefused) and fact.kind == "ConfigMap"
    return {one.field.removeprefix("data[device-config.yaml]."): one.message for one in fact.problems}


def test_what_the_chart_writes_is_what_goes_without_saying() -> None:
    config = card_config(told(CHART))
    assert config.resources == HAMI.resources
    assert (config.defaults, config.split) == (HAMI.defaults, HAMI.split)


def test_names_factors_and_defaults_are_those_of_the_map_and_what_it_leaves_out_stays() -> None:
    config = card_config(
        told(
            "nvidia: {resourceCountName: acme.io/gpu, memoryFactor: 512, defaultMemory: 4, defaultGPUNum: 2, defaultCores: 30}\n"
            "hygon: {resourceMemoryName: acme.io/dcumem, memoryFactor: 2}\ncambricon: {resourceMemoryName: acme.io/mlumem}\n"
        )
    )
    gpu, dcu, mlu = (config.resources[word] for word in ("NVIDIA", "DCU", "MLU"))
    assert (gpu.count, gpu.memory, gpu.factor) == ("acme.io/gpu", "nvidia.com/gpumem", 512)
    assert (dcu.count, dcu.memory, dcu.factor, mlu.factor) == ("hygon.com/dcunum", "acme.io/dcumem", 2, 256)
    assert (config.defaults.memory, config.defaults.count, config.defaults.cores) == (4, 2, 30)
    assert config.resources["AMD"] == HAMI.resources["AMD"]


CHIP = """{chipName: 910D, commonWord: Ascend910D, resourceName: huawei.com/Ascend910D,
  resourceMemoryName: huawei.com/Ascend910D-memory, memoryAllocatable: 131072, memoryCapacity: 131072, aiCore: 20,
  templates: [{name: vir10, memory: 65536, aiCore: 10}]}"""


@pytest.mark.parametrize("text", [f"vnpus: [{CHIP}]", f"vnpus: {{hamiVnpuCore: true, configs: [{CHIP}]}}"])
def test_chips_of_ascend_are_read_in_both_forms_and_new_ones_are_known_from_then_on(text: str) -> None:
    fact = told(text)
    assert fact.vendors[0].templates == (DeviceTemplate(name="vir10", memory=65536, cores=10),)
    chip = card_config(fact).by_word["Ascend910D"]
    assert (chip.allocatable, chip.register) == (131072, "hami.io/node-register-Ascend910D")
    assert chip.soft_split_everywhere == ("hamiVnpuCore" in text)


def test_every_field_that_is_wrong_is_named_with_what_belongs_there() -> None:
    found = problems(
        "nvidia: {resourceCountName: gpu, defaultCores: 130, gpuCorePolicy: never, deviceMemoryScaling: 0, overwriteEnv: 7}\n"
        "amd: 3\nvnpus: [{commonWord: X}]\n"
    )
    assert set(found) == {
        "nvidia.resourceCountName",
        "nvidia.defaultCores",
        "nvidia.gpuCorePolicy",
        "nvidia.deviceMemoryScaling",
        "nvidia.overwriteEnv",
        "amd",
        "vnpus[0].resourceName",
    }


def test_a_name_that_would_mean_cards_of_two_vendors_is_refused() -> None:
    (message,) = problems("amd: {resourceCountName: nvidia.com/gpu}\nnvidia: {memoryFactor: 1}").values()
    assert message == "nvidia.com/gpu asks for cards of NVIDIA and of AMD"


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "nvidia: &a [*a]"])
def test_a_file_that_says_nothing_is_refused(text: str) -> None:
    assert len(problems(text)) == 1


def test_a_bad_map_is_told_once_and_the_last_good_one_goes_on_until_it_is_mended_or_gone() -> None:
    view = View()
    view.see("ConfigMap", config_map("nvidia: {resourceCountName: acme.io/gpu}"))
    assert view.cards.resources["NVIDIA"].count == "acme.io/gpu"
    (refused,) = view.see("ConfigMap", config_map("nvidia: {resourceCountName: gpu}"))
    assert isinstance(refused, ObjectRefused) and refused.problems[0].instead.startswith("the name of a resource")
    assert view.see("ConfigMap", config_map("nvidia: {resourceCountName: gpu}")) == []
    assert view.cards.resources["NVIDIA"].count == "acme.io/gpu"
    (mended,) = view.see("ConfigMap", config_map(CHART))
    assert isinstance(mended, DeviceConfigObserved) and view.cards.resources == HAMI.resources
    view.see("ConfigMap", config_map("nvidia: {resourceCountName: acme.io/gpu}"))
    gone = ObjectRemoved(kind="ConfigMap", namespace="kube-system", name=NAME)
    assert view.lose("ConfigMap", "kube-system", NAME) == [gone]
    assert view.cards.resources == HAMI.resources


NODES = """{"nodeconfig": [
  {"name": "n1", "operatingmode": "hami-core", "devicememoryscaling": 1.8, "devicesplitcount": 4, "migstrategy": "none",
   "filterdevices": {"uuid": ["GPU-a"], "index": [3]}},
  {"name": "n2"}]}"""


def test_what_nodes_register_otherwise_is_told_node_by_node() -> None:
    (fact,) = hami_config(config_map(NODES, key="config.json", name="hami-device-plugin"))
    assert isinstance(fact, NodeConfigsObserved)
    assert fact.nodes == (
        NodeDeviceConfig(
            node="n1",
            split=4,
            memory_scaling="1.8",
            mig_strategy="none",
            operating_mode="hami-core",
            hidden_cards=("GPU-a",),
            hidden_indexes=(3,),
        ),
        NodeDeviceConfig(node="n2"),
    )
    wrong = '{"nodeconfig": [{"devicesplitcount": 0, "migstrategy": "some", "filterdevices": {"index": ["x"]}}]}'
    found = problems(wrong, key="config.json", name="hami-device-plugin")
    assert [field.rpartition(".")[2] for field in found] == ["name", "devicesplitcount", "migstrategy", "index"]


async def test_when_the_configuration_changes_nodes_are_read_anew_by_it() -> None:
    objects, stream = Objects(), MemoryStream("FACTS")
    capacity = {"acme.io/cores": "200", "acme.io/mem": "384"}
    node = {"metadata": {"name": "n1", "uid": "n1"}, "status": {"allocatable": capacity, "capacity": capacity}}
    await objects.put("Node", node)
    await objects.put("ConfigMap", config_map(CHART))
    watcher = OneOfSeveral(objects, stream)
    await rest(watcher)
    assert not any(isinstance(fact, DevicesRegistered) for fact in watcher.watcher.view.facts.values())
    renamed = "cambricon: {resourceMemoryName: acme.io/mem, resourceCoreName: acme.io/cores}"
    await objects.put("ConfigMap", config_map(renamed))
    found = None
    while found is None:
        await rest(watcher)
        found = watcher.watcher.view.facts.get("Node//n1#devices")
    assert isinstance(found, DevicesRegistered) and [card.memory for card in found.cards] == [49152, 49152]
    await watcher.end()


def test_the_rights_name_the_two_maps_and_no_other() -> None:
    text = Path("ops/production/deploy/manifests/30-access.yaml").read_text()
    assert text.count("- hami-scheduler-device\n  - hami-device-plugin\n") == 1
