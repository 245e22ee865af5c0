"""What one owner has of a card: a workload by its reservations and its pods, or a pod that belongs to no workload."""

from collections.abc import Iterable

import msgspec

from events.device import PodPlacement
from projections.devices.card_use import IDLE, CardUse, effective_use

POD = "pod:"
"""What the owner's name begins with where it is a pod that belongs to no workload."""


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of one attempt of one workload."""

    workload: str
    reservation: int
    placements: tuple[PodPlacement, ...]
    confirmed: bool
    given: tuple[PodPlacement, ...] = ()
    """Of one that is proposed anew: what the accountant had given before, which is given until he says that it is released."""


class Stake(msgspec.Struct, frozen=True):
    """What one owner has of one card: reserved by the log, held by its pods."""

    reserved: CardUse = IDLE
    held: CardUse = IDLE

    def charged(self) -> CardUse:
        """What counts as taken: the larger of both."""
        if self.reserved is IDLE or self.held is IDLE:
            return self.held if self.reserved is IDLE else self.reserved
        return self.reserved.larger(self.held)


class PodHold(msgspec.Struct, frozen=True, kw_only=True):
    """A living pod on a node, and what it has of each card."""

    owner: str
    node: str
    use: dict[str, CardUse]


def exceeds(use: CardUse, whole: CardUse) -> bool:
    """Whether more is taken than there is."""
    return use.memory > whole.memory or use.cores > whole.cores or use.slots > whole.slots


def is_less(use: CardUse, before: CardUse) -> bool:
    """Whether less of a card is taken than before, of anything."""
    return exceeds(before, use) or len(before.instances) > len(use.instances)


def uses_of(placements: Iterable[PodPlacement]) -> dict[str, CardUse]:
    """What placements take of each card, together."""
    total: dict[str, CardUse] = {}
    for placement in placements:
        for uuid, use in effective_use(placement.containers, placement.init, sidecars=placement.sidecars).items():
            total[uuid] = total.get(uuid, IDLE).plus(use)
    return total


def holding_key(workload: str, reservation: int) -> str:
    """The key of an attempt's holding."""
    return f"{workload}@{reservation}"
