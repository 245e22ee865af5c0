"""The vendors as a table: resource names, annotation keys, how nodes register, and which rules hold for their cards.

Names and defaults are those of HAMi's chart (hami-semantics §1.2, §2, §3, §4.1).
"""

from collections.abc import Mapping
from enum import Enum

import msgspec


class Encoding(Enum):
    """How a node tells its cards."""

    JSON = "json"
    LEGACY = "legacy"
    CAPACITY = "capacity"


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the checks beyond the common ones hold for the cards of a vendor (hami-semantics §5.2)."""

    cordon: bool = False
    modes: bool = False
    """The pod may name the modes of sharing that it takes."""
    numa: bool = False
    quota: bool = False
    """A namespace's quota is looked at card by card, so that percentages count."""
    exclusive: bool = True
    """Asking for all cores of a card asks for an idle card."""
    mig: bool = False
    topology: bool = False
    compute_units: bool = False
    """Cores are percent in the request and compute units on the card."""
    networks: bool = False
    """Cards of one request come from one network, as far as that goes."""
    pairs: bool = False
    """Cards are given in pairs that share a board."""
    soft_split: bool = False
    """The pod may ask for a split by software, where the node has it."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A fixed slice into which a chip can be cut."""

    name: str
    memory: int
    cores: int = 0


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """The names under which a container asks, and the unit of memory in MiB."""

    count: str
    memory: str = ""
    percent: str = ""
    cores: str = ""
    factor: int = 1

    def names(self) -> tuple[str, ...]:
        """All names that are in use."""
        return tuple(name for name in (self.count, self.memory, self.percent, self.cores) if name)


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """What kuelog knows of one kind of cards."""

    word: str
    """The device type key: cards belong to the vendor whose word their model holds."""
    family: str
    resources: Resources
    encoding: Encoding = Encoding.JSON
    register: str = ""
    to_allocate: str = ""
    allocated: str = ""
    use_uuid: str = ""
    avoid_uuid: str = ""
    use_model: str = ""
    avoid_model: str = ""
    rules: Rules = Rules()
    limits_only: bool = False
    """Requests do not stand in for limits that are missing."""
    default_cores: int = 0
    whole_percent: int | None = 100
    """The percentage of memory that stands for no memory named; None where zero means the whole card."""
    templates: tuple[Template, ...] = ()
    allocatable: int = 0
    """Memory that a whole card of the model gives; 0 where the card itself tells."""
    capacity: int = 0
    super_pod: bool = False
    soft_split_everywhere: bool = False
    """Every node splits cards by software, whether it says so or not."""
    keeps_model: bool = False
    """Allocations name the model of the card instead of the vendor's word."""

    def told_by(self, capacity: Mapping[str, int]) -> bool:
        """Whether a node's capacity tells of such cards."""
        return capacity.get(self.resources.cores or self.resources.count, 0) > 0


NVIDIA, AMD, DCU, MLU = "NVIDIA", "AMD", "DCU", "MLU"
NVIDIA_FAMILY = "nvidia"


def _templates(*rows: tuple[str, int, int]) -> tuple[Template, ...]:
    return tuple(Template(name=name, memory=memory, cores=cores) for name, memory, cores in rows)


_HALVES = _templates(("vir05_1c_16g", 16384, 5), ("vir10_3c_32g", 32768, 10))


def ascend(
    word: str,
    *,
    templates: tuple[Template, ...] = (),
    allocatable: int = 0,
    capacity: int = 0,
    resources: Resources | None = None,
    super_pod: bool = False,
) -> Vendor:
    """One chip of the Ascend family; each is a vendor of its own to HAMi."""
    name = f"huawei.com/{word}"
    return Vendor(
        word=word,
        family="ascend",
        resources=resources or Resources(count=name, memory=f"{name}-memory", cores=f"{name}-core"),
        register=f"hami.io/node-register-{word}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=f"hami.io/use-{word}-uuid",
        avoid_uuid=f"hami.io/no-use-{word}-uuid",
        rules=Rules(networks=word.startswith("Ascend910"), pairs=word == "Ascend910C", soft_split=True),
        templates=templates,
        allocatable=allocatable,
        capacity=capacity,
        super_pod=super_pod,
    )


VENDORS: tuple[Vendor, ...] = (
    Vendor(
        word=NVIDIA,
        family=NVIDIA_FAMILY,
        resources=Resources(
            count="nvidia.com/gpu",
            memory="nvidia.com/gpumem",
            percent="nvidia.com/gpumem-percentage",
            cores="nvidia.com/gpucores",
        ),
        register="hami.io/node-nvidia-register",
        to_allocate="hami.io/vgpu-devices-to-allocate",
        allocated="hami.io/vgpu-devices-allocated",
        use_uuid="nvidia.com/use-gpuuuid",
        avoid_uuid="nvidia.com/nouse-gpuuuid",
        use_model="nvidia.com/use-gputype",
        avoid_model="nvidia.com/nouse-gputype",
        rules=Rules(cordon=True, modes=True, numa=True, quota=True, mig=True, topology=True),
    ),
    Vendor(
        word=AMD,
        family="amd",
        resources=Resources(count="amd.com/gpu", memory="amd.com/gpumem", cores="amd.com/gpucores"),
        register="hami.io/node-amd-register",
        to_allocate="hami.io/amd-devices-to-allocate",
        allocated="hami.io/amd-devices-allocated",
        use_uuid="amd.com/use-gpu-uuid",
        avoid_uuid="amd.com/nouse-gpu-uuid",
        use_model="amd.com/use-gputype",
        avoid_model="amd.com/nouse-gputype",
        rules=Rules(exclusive=False, compute_units=True),
        limits_only=True,
        default_cores=100,
        whole_percent=None,
        keeps_model=True,
    ),
    Vendor(
        word=DCU,
        family="hygon",
        resources=Resources(count="hygon.com/dcunum", memory="hygon.com/dcumem", cores="hygon.com/dcucores"),
        encoding=Encoding.LEGACY,
        register="hami.io/node-dcu-register",
        to_allocate="hami.io/dcu-devices-to-allocate",
        allocated="hami.io/dcu-devices-allocated",
        use_uuid="hygon.com/use-gpuuuid",
        avoid_uuid="hygon.com/nouse-gpuuuid",
        use_model="hygon.com/use-dcutype",
        avoid_model="hygon.com/nouse-dcutype",
        default_cores=100,
    ),
    Vendor(
        word=MLU,
        family="cambricon",
        resources=Resources(
            count="cambricon.com/vmlu",
            memory="cambricon.com/mlu.smlu.vmemory",
            cores="cambricon.com/mlu.smlu.vcore",
            factor=256,
        ),
        encoding=Encoding.CAPACITY,
        to_allocate="hami.io/cambricon-mlu-devices-to-allocate",
        allocated="hami.io/cambricon-mlu-devices-allocated",
        use_uuid="cambricon.com/use-gpuuuid",
        avoid_uuid="cambricon.com/nouse-gpuuuid",
        rules=Rules(quota=True),
        default_cores=100,
    ),
    ascend(
        "Ascend910A",
        templates=_templates(("vir02", 2184, 2), ("vir04", 4369, 4), ("vir08", 8738, 8), ("vir16", 17476, 16)),
        allocatable=32768,
        capacity=32768,
    ),
    ascend(
        "Ascend910B2",
        templates=_templates(("vir03_1c_8g", 8192, 3), ("vir06_1c_16g", 16384, 6), ("vir12_3c_32g", 32768, 12)),
        allocatable=65536,
        capacity=65536,
    ),
    ascend("Ascend910B3", templates=_HALVES, allocatable=65536, capacity=65536),
    ascend("Ascend910B4-1", templates=_HALVES, allocatable=65536, capacity=65536),
    ascend(
        "Ascend910B4",
        templates=_templates(("vir05_1c_8g", 8192, 5), ("vir10_3c_16g", 16384, 10)),
        allocatable=32768,
        capacity=32768,
    ),
    ascend(
        "Ascend310P",
        templates=_templates(("vir01", 3072, 1), ("vir02", 6144, 2), ("vir04", 12288, 4)),
        allocatable=21527,
        capacity=24576,
    ),
    ascend("Ascend910C", templates=_HALVES, allocatable=65536, capacity=65536, super_pod=True),
)

BY_WORD: dict[str, Vendor] = {vendor.word: vendor for vendor in VENDORS}


def serves(vendor: Vendor, model: str) -> bool:
    """Whether a card of that model is one of the vendor's."""
    return vendor.word.upper() in model.upper()
