"""Cards and slices of them: the values that inventories, requests and reservations are made of.

Memory is in MiB, cores are percent of one card (docs/rules/devices.md#registration); AMD counts compute units, Ascend
AI cores.
"""

from events.event import Value

WHOLE_CARD = 100
"""All of a card, where a part of its cores or of its memory is named in percent."""


class Span(Value, frozen=True, kw_only=True):
    """A half-open stretch of a card's MIG slices (docs/rules/devices.md#mig)."""

    start: int = 0
    size: int = 0


class MigProfile(Value, frozen=True, kw_only=True):
    """A shape into which a MIG card can be cut, and where such a piece may lie."""

    name: str
    memory: int = 0
    cores: int = 0
    slices: int = 0
    placements: tuple[Span, ...] = ()


class MigInstance(Value, frozen=True, kw_only=True):
    """One piece of a MIG card that is taken: its profile and the slices that it covers."""

    profile: str
    start: int = 0
    size: int = 0


class Card(Value, frozen=True, kw_only=True):
    """One physical card as its device plugin registers it."""

    uuid: str
    index: int = 0
    slots: int
    """How many containers may share it."""
    memory: int
    cores: int = 100
    model: str
    numa: int = 0
    mode: str = "hami-core"
    healthy: bool = True
    vendor: str = "NVIDIA"
    """The vendor word under which HAMi keeps it (docs/rules/devices.md#vendors)."""
    profiles: tuple[MigProfile, ...] = ()
    custom: dict[str, int | str] = {}
    """What only this vendor knows of a card, such as the NetworkID of an Ascend."""


class CardShare(Value, frozen=True, kw_only=True):
    """A slice of one card that a container gets: one slot, so much memory, so many percent of its cores."""

    uuid: str
    vendor: str
    memory: int
    cores: int
    index: int = 0
    slots: int = 1
    instance: MigInstance | None = None
    """The piece of a MIG card, where it is one."""
    custom: dict[str, int | str] = {}


class CardRequest(Value, frozen=True, kw_only=True):
    """What one container asks of each of `count` cards; `percent` counts only when no memory is named."""

    vendor: str
    count: int
    memory: int = 0
    percent: int | None = None
    cores: int = 0
