"""HAMi's configuration of cards: the resource names by which they are requested, the units, and the defaults."""

from events.event import Event, Value


class DeviceTemplate(Value, frozen=True, kw_only=True):
    """A slice into which a chip can be cut."""

    name: str
    memory: int
    """MiB."""
    cores: int = 0


class VendorConfig(Value, frozen=True, kw_only=True):
    """One kind of cards, by HAMi's word for it. A name that is empty means that there is none."""

    word: str
    family: str = ""
    """`ascend` or `iluvatar`, of the chips that the configuration lists."""
    count: str
    memory: str = ""
    percent: str = ""
    cores: str = ""
    factor: int = 1
    """So many MiB is one unit of the memory resource; what a vendor multiplies by beside it is not in it."""
    templates: tuple[DeviceTemplate, ...] = ()
    allocatable: int = 0
    """MiB that a whole chip gives; 0 where the card registers its own."""
    capacity: int = 0
    super_pod: bool = False
    linked: bool = False
    """Pods want their whole cards linked where they do not say (sGPU of MetaX)."""


class DeviceConfigObserved(Event, frozen=True, kw_only=True, tag="DeviceConfigObserved.v1"):
    """The configuration of HAMi's scheduler; a vendor that it does not name is as HAMi has it by default."""

    namespace: str
    name: str
    vendors: tuple[VendorConfig, ...] = ()
    default_count: int = 1
    """Cards of NVIDIA for a container that asks for memory or cores and says of how many."""
    default_memory: int = 0
    """MiB of each card for a container that does not say; 0 is all of it."""
    default_cores: int = 0
    core_policy: str = "default"
    overwrite_env: bool = False
    priority: str = "nvidia.com/priority"
    runtime_class: str = ""
    soft_split: bool = False
    """Every node splits chips of Ascend by software."""
    split: int = 10
    """How many containers share a card where its node does not say otherwise."""
    memory_scaling: str = "1"
    """Factor by which a card's memory is multiplied when it is registered; decimal text."""
    core_scaling: str = "1"


class NodeDeviceConfig(Value, frozen=True, kw_only=True):
    """What one node registers differently from the others; a field that is not set changes nothing."""

    node: str
    split: int | None = None
    memory_scaling: str = ""
    core_scaling: str = ""
    mig_strategy: str = ""
    operating_mode: str = ""
    hidden_cards: tuple[str, ...] = ()
    """UUIDs of cards that are not registered."""
    hidden_indexes: tuple[int, ...] = ()


class NodeConfigsObserved(Event, frozen=True, kw_only=True, tag="NodeConfigsObserved.v1"):
    """The configuration of HAMi's device plugin by node: what a plugin registers when it is started the next time."""

    namespace: str
    name: str
    nodes: tuple[NodeDeviceConfig, ...] = ()
