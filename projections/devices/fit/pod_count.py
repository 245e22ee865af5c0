"""What a pod counts in the limits of its namespace while its cards are chosen (docs/rules/devices.md#namespace-quota).

Each card counts with the most that the pod has of it at a time, as it will when the pod is on the books: what an init
container had of a card counts beside what the containers get of others.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.card import CardShare
from projections.devices.card_use import IDLE, CardUse, effective_use


class TriedContainers(msgspec.Struct, frozen=True, kw_only=True):
    """What the containers of a pod have got that were tried so far, init containers first."""

    shares: tuple[tuple[CardShare, ...], ...] = ()
    init: int = 0
    """How many of the pod's containers are init containers."""
    sidecars: Sequence[int] = ()
    """Which of these run on beside all that come after them, by their places."""

    def ends(self, position: int) -> bool:
        """Whether the container at a place is over before the next one starts."""
        return position < self.init and position not in self.sidecars

    def running(self) -> list[CardShare]:
        """What runs on beside the next container."""
        return [share for at, shares in enumerate(self.shares) if not self.ends(at) for share in shares]

    def seen(self) -> list[CardShare]:
        """What HAMi looks at beside the next container: of init containers all before it, of others what runs on."""
        if len(self.shares) < self.init:
            return [share for shares in self.shares for share in shares]
        return self.running()

    def count(self, each: Callable[[CardShare], CardUse]) -> "PodCount":
        """What all of it counts, by what each share does."""
        beside: dict[str, CardUse] = {}
        for share in self.running():
            beside[share.uuid] = beside.get(share.uuid, IDLE).plus(each(share))
        most = effective_use(self.shares, self.init, sidecars=self.sidecars, each=each)
        total = IDLE
        for use in most.values():
            total = total.plus(use)
        return PodCount(beside, most, total)


class PodCount(msgspec.Struct, frozen=True):
    """What a pod counts, card by card and in all."""

    beside: Mapping[str, CardUse] = {}
    """By card what the pod has of it when its next container starts, and that container itself."""
    most: Mapping[str, CardUse] = {}
    """By card the most that the pod has of it at a time."""
    total: CardUse = IDLE

    def plus(self, uuid: str, use: CardUse) -> "PodCount":
        """The same when the container gets so much of a card as well."""
        beside, before = self.beside.get(uuid, IDLE).plus(use), self.most.get(uuid, IDLE)
        most = before.larger(beside)
        total = self.total.minus(before).plus(most)
        return PodCount({**self.beside, uuid: beside}, {**self.most, uuid: most}, total)


NOT_COUNTED = PodCount()
NOTHING_TRIED = TriedContainers()
