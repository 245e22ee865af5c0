"""Cards and slices of them: the words that inventories, requests and reservations are told in.

Memory is in MiB, cores are percent of one card (hami-semantics §1, §3).
"""

from events.event import Value


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


class CardShare(Value, frozen=True, kw_only=True):
    """A slice of one card that a container gets: one slot, so much memory, so many percent of its cores."""

    uuid: str
    vendor: str
    memory: int
    cores: int


class CardRequest(Value, frozen=True, kw_only=True):
    """What one container asks of each of `count` cards; `percent` counts only when no memory is named."""

    vendor: str
    count: int
    memory: int = 0
    percent: int | None = None
    cores: int = 0
