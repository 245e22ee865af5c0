"""The vendors that kuelog knows, as a table: resource names, annotation keys, registration and rules.

Names and defaults are those of HAMi's chart (hami-semantics §1.2, §2, §3, §4.1).
"""

from projections.devices.vendor import Encoding, Resources, Rules, Template, Vendor

NVIDIA, AMD, DCU, MLU = "NVIDIA", "AMD", "DCU", "MLU"
NVIDIA_FAMILY = "nvidia"
NETWORK = "NetworkID"


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
        handshake=f"hami.io/node-handshake-{word}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=f"hami.io/use-{word}-uuid",
        avoid_uuid=f"hami.io/no-use-{word}-uuid",
        rules=Rules(
            groups="NetworkID" if word.startswith("Ascend910") else "", pairs=word == "Ascend910C", soft_split=True
        ),
        templates=templates,
        allocatable=allocatable,
        capacity=capacity,
        super_pod=super_pod,
    )


def iluvatar(word: str, resources: Resources | None = None) -> Vendor:
    """One chip of Iluvatar; each is a vendor of its own to HAMi."""
    name = f"iluvatar.ai/{word}"
    return Vendor(
        word=word,
        family="iluvatar",
        resources=resources
        or Resources(count=f"{name}-vgpu", memory=f"{name}.vMem", cores=f"{name}.vCore", factor=256),
        encoding=Encoding.LEGACY,
        register=f"hami.io/node-{word}-register",
        handshake=f"hami.io/node-handshake-{word}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=f"hami.io/use-{word}-uuid",
        avoid_uuid=f"hami.io/no-use-{word}-uuid",
    )


def _whole(word: str, short: str, domain: str, count: str, groups: str = "") -> Vendor:
    """A vendor whose cards are given whole."""
    return Vendor(
        word=word,
        family=word.lower(),
        resources=Resources(count=f"{domain}/{count}"),
        register=f"hami.io/node-{short}-register",
        handshake=f"hami.io/node-handshake-{short}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=f"{domain}/use-gpuuuid",
        avoid_uuid=f"{domain}/nouse-gpuuuid",
        rules=Rules(whole=True, exclusive=False, groups=groups),
        registered_cores=100,
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
        handshake="hami.io/node-handshake",
        to_allocate="hami.io/vgpu-devices-to-allocate",
        allocated="hami.io/vgpu-devices-allocated",
        use_uuid="nvidia.com/use-gpuuuid",
        avoid_uuid="nvidia.com/nouse-gpuuuid",
        use_model="nvidia.com/use-gputype",
        avoid_model="nvidia.com/nouse-gputype",
        rules=Rules(modes=True, numa=True, quota=True, mig=True, topology=True),
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
        handshake="hami.io/node-handshake-dcu",
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
    *(iluvatar(word) for word in ("MR-V50", "MR-V100", "BI-V100", "BI-V150")),
    _whole("Vastai", "va", "vastaitech.com", "va", groups="AIC"),
    _whole("Biren", "biren", "birentech.com", "gpu"),
)

BY_WORD: dict[str, Vendor] = {vendor.word: vendor for vendor in VENDORS}
