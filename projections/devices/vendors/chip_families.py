"""Ascend and Iluvatar, each chip of which is a vendor of its own to HAMi (docs/rules/devices.md#vendors)."""

from projections.devices.vendors.vendor import Encoding, NodeScoring, Rules, Template, Vendor, VendorResources

NETWORK = "NetworkID"
"""The custom field by which Ascend cards register their network."""


def pin_of(word: str) -> str:
    """The annotation that keeps a pod to cards of a chip, also of one that only HAMi's configuration names."""
    return f"hami.io/use-{word}-uuid"


def is_chip_pin(name: str) -> bool:
    """Whether an annotation is one of these."""
    return name.startswith("hami.io/use-") and name.endswith("-uuid")


def _templates(*rows: tuple[str, int, int]) -> tuple[Template, ...]:
    return tuple(Template(name=name, memory=memory, cores=cores) for name, memory, cores in rows)


_HALVES = _templates(("vir05_1c_16g", 16384, 5), ("vir10_3c_32g", 32768, 10))


def ascend(
    word: str,
    *,
    templates: tuple[Template, ...] = (),
    allocatable: int = 0,
    capacity: int = 0,
    resources: VendorResources | None = None,
    super_pod: bool = False,
) -> Vendor:
    """One chip of the Ascend family; each is a vendor of its own to HAMi."""
    name = f"huawei.com/{word}"
    return Vendor(
        word=word,
        family="ascend",
        resources=resources or VendorResources(count=name, memory=f"{name}-memory", cores=f"{name}-core"),
        register=f"hami.io/node-register-{word}",
        handshake=f"hami.io/node-handshake-{word}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=pin_of(word),
        avoid_uuid=f"hami.io/no-use-{word}-uuid",
        rules=Rules(
            groups=NETWORK if word.startswith("Ascend910") else "",
            pairs=word == "Ascend910C",
            soft_split=True,
            scoring=NodeScoring.NETWORK if word.startswith("Ascend910") else NodeScoring.NOTHING,
        ),
        templates=templates,
        allocatable=allocatable,
        capacity=capacity,
        super_pod=super_pod,
    )


def iluvatar(word: str, resources: VendorResources | None = None) -> Vendor:
    """One chip of Iluvatar; each is a vendor of its own to HAMi."""
    name = f"iluvatar.ai/{word}"
    return Vendor(
        word=word,
        family="iluvatar",
        resources=resources
        or VendorResources(count=f"{name}-vgpu", memory=f"{name}.vMem", cores=f"{name}.vCore", factor=256),
        encoding=Encoding.LEGACY,
        register=f"hami.io/node-{word}-register",
        handshake=f"hami.io/node-handshake-{word}",
        to_allocate=f"hami.io/{word}-devices-to-allocate",
        allocated=f"hami.io/{word}-devices-allocated",
        use_uuid=pin_of(word),
        avoid_uuid=f"hami.io/no-use-{word}-uuid",
        rules=Rules(cores_together=True),
    )


CHIPS: tuple[Vendor, ...] = (
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
)
