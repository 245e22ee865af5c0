"""How much card memory was free, and whether anybody could have had it, between moments at which its price may change."""

import msgspec

from events.event import Millis
from projections.billing.entries.entry import Window
from projections.billing.entries.time_cuts import TimeCuts


class FreeMemoryKey(msgspec.Struct, frozen=True, order=True):
    """Cards of one flavor (that of their nodes) and model, in the stretch of time that begins then."""

    begin: Millis
    flavor: str
    model: str


class UnusedTime:
    """MiB·ms of card memory that nobody held, on cards that could be used."""

    def __init__(self, window: Window, cuts: TimeCuts) -> None:
        self.window, self.cuts = window, cuts
        self.idle: dict[FreeMemoryKey, int] = {}
        self.stranded: dict[FreeMemoryKey, int] = {}

    def add(self, flavor: str, model: str, free: int, since: Millis, until: Millis, *, stranded: bool) -> None:
        """So many MiB of a card were free for a time."""
        sums = self.stranded if stranded else self.idle
        for begin, length in self.cuts.stretches(self.window, since, until):
            key = FreeMemoryKey(begin, flavor, model)
            sums[key] = sums.get(key, 0) + free * length
