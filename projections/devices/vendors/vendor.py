"""What kuelog knows of one kind of cards, and which of the rules hold for them."""

from collections.abc import Mapping
from enum import Enum
from typing import assert_never

import msgspec

from events.card import Card


class Encoding(Enum):
    """How a node registers its cards."""

    JSON = "json"
    LEGACY = "legacy"
    CAPACITY = "capacity"
    SLICES = "slices"
    """MetaX's own JSON."""
    PROFILES = "profiles"
    """Enflame's own JSON, with the profiles into which cards are cut."""


class Picking(Enum):
    """How the cards of one request are chosen."""

    WALK = "walk"
    """From the last of a sorted list to the first, each that serves."""
    BOARDS = "boards"
    """Eight cards in two wings of four, as few links as possible between those that go together (Kunlunxin)."""
    RUNS = "runs"
    """Neighbours, where several are asked for (AWS Neuron)."""
    ZONES = "zones"
    """All that serve are collected, and those that are linked go first (MetaX)."""


class Reading(Enum):
    """How a container's amounts are meant."""

    EACH = "each"
    """Memory and cores of each card."""
    TOGETHER = "together"
    """Memory and cores of all cards together."""
    SIZES = "sizes"
    """Memory is one of a few sizes, and cores follow from it."""
    PROFILES = "profiles"
    """A number of slices, or memory and cores that the smallest fitting profile covers."""
    NEURON = "neuron"
    """A number of devices, or of cores on as few devices as possible."""
    GIBIBYTES = "gibibytes"
    """Memory of each card in GiB, or in bytes where it is that much."""


class NodeScoring(Enum):
    """What the chosen cards add to a node's score."""

    NOTHING = "nothing"
    NETWORK = "network"
    DIES = "dies"
    BOARDS = "boards"
    LOSSES = "losses"
    LINKS = "links"


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the checks beyond the common ones hold for the cards of a vendor.

    Rule: docs/rules/devices.md#vendor-checks
    """

    modes: bool = False
    """The pod may name the modes of sharing that it takes."""
    numa: bool = False
    exclusive: bool = True
    """Asking for all cores of a card asks for an idle card."""
    mig: bool = False
    topology: bool = False
    compute_units: bool = False
    """Cores are percent in the request and compute units on the card."""
    groups: str = ""
    """The custom field that names a card's group; the cards of one request come from as few groups as possible."""
    whole: bool = False
    """Cards are given whole, by their slots alone."""
    pairs: bool = False
    """Cards are given in pairs that share a board."""
    cores_together: bool = False
    """Cores of several cards are written for all of them together."""
    soft_split: bool = False
    """The pod may ask for a split by software, where the node has it."""
    picking: Picking = Picking.WALK
    scoring: NodeScoring = NodeScoring.NOTHING
    idle: bool = False
    """Only a card that nobody uses is given."""
    same_size: bool = False
    """All that share a card have the same memory of it."""
    one_card: bool = False
    """All containers of a pod have their parts on one card."""
    profiles: bool = False
    """A card is cut into slices by profiles that its node registers."""
    classes: bool = False
    """Workloads share a card only with the same quality of service and with classes that go together."""
    core_bits: bool = False
    """Cores of a card are registered as bits, one for each."""
    dies: bool = False
    """Cards may be dies of one board, which is used alone where a pod wants so (mutex)."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A fixed slice into which a chip can be cut."""

    name: str
    memory: int
    cores: int = 0


class VendorResources(msgspec.Struct, frozen=True, kw_only=True):
    """The names under which a container asks, and the unit of memory in MiB."""

    count: str
    memory: str = ""
    percent: str = ""
    cores: str = ""
    factor: int = 1

    def names(self) -> tuple[str, ...]:
        """The names of the vendor's resources (count, memory, percent, cores) that it has."""
        return tuple(name for name in (self.count, self.memory, self.percent, self.cores) if name)


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What one card of a vendor has, where nodes register only totals."""

    tag: str
    """How its UUID goes on after the node's name."""
    slots: int
    cores: int
    memory: int = 0
    """MiB of one card; 0 where the node registers the memory of all cards together."""
    by_cores: bool = False
    """The node registers the cores of all cards together, and not their number."""
    halves: bool = False
    """The upper half of the cards lies on another NUMA node."""


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """What kuelog knows of one kind of cards."""

    word: str
    """The device type key: cards belong to the vendor whose word their model holds."""
    family: str
    resources: VendorResources
    encoding: Encoding = Encoding.JSON
    register: str = ""
    handshake: str = ""
    """The annotation by which the vendor's device plugin shows that it lives; empty where there is none."""
    offered: bool = False
    """No handshake is kept: cards are there as long as their node's capacity shows any."""
    to_allocate: str = ""
    allocated: str = ""
    use_uuid: str = ""
    avoid_uuid: str = ""
    also_use_uuid: str = ""
    """Another annotation of the same meaning as `use_uuid`."""
    also_avoid_uuid: str = ""
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
    """MiB that a whole card of the model gives; 0 where the card registers it."""
    capacity: int = 0
    registered_cores: int = 0
    """The cores that a card has, whatever the node registers; 0 where the registered number counts."""
    reading: Reading = Reading.EACH
    sizes: tuple[int, ...] = ()
    """The MiB that a request may have, the largest that of a whole card."""
    default_memory: int = 0
    unit: Unit | None = None
    super_pod: bool = False
    soft_split_everywhere: bool = False
    """Every node splits cards by software, whether it says so or not."""
    linked: bool = False
    """Pods want their whole cards linked where they do not say."""
    keeps_model: bool = False
    """Allocations name the model of the card instead of the vendor's word."""

    def per_card(self) -> tuple[str, ...]:
        """The resources whose amounts are meant for each of the cards that are asked for, and not for all together.

        Rule: docs/rules/quota.md#device-totals
        """
        names = self.resources
        cores = "" if self.rules.cores_together else names.cores
        match self.reading:
            case Reading.EACH | Reading.SIZES | Reading.GIBIBYTES:
                return tuple(name for name in (names.memory, names.percent, cores) if name)
            case Reading.TOGETHER | Reading.PROFILES | Reading.NEURON:
                return ()
            case _:
                assert_never(self.reading)

    def steering(self) -> tuple[str, ...]:
        """The annotations by which a pod names the cards and models that it wants or does not want."""
        uuids = (self.use_uuid, self.avoid_uuid, self.also_use_uuid, self.also_avoid_uuid)
        return tuple(name for name in (*uuids, self.use_model, self.avoid_model) if name)

    def shown_in(self, capacity: Mapping[str, int]) -> bool:
        """Whether a node's capacity shows cards of this vendor."""
        by_cores = self.unit is not None and self.unit.by_cores
        return capacity.get(self.resources.cores if by_cores else self.resources.count, 0) > 0


def is_card_of(vendor: Vendor, card: Card) -> bool:
    """Whether a card is one of the vendor's: by its model, and not one of a chip with a longer name, which is asked for by its own.

    Rule: docs/rules/devices.md#vendors
    """
    word, registered = vendor.word.upper(), card.vendor.upper()
    return serves(vendor, card.model) and (registered == word or word not in registered)


def serves(vendor: Vendor, model: str) -> bool:
    """Whether a card of that model is one of the vendor's."""
    return vendor.word.upper() in model.upper()
