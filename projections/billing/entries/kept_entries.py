"""Which lines a ledger keeps: those of its window, and those that it was asked for by their ids."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from events.event import Millis
from projections.billing.entries.entry import CardEntry, DeviceEntry, QuotaEntry
from projections.billing.entries.ledger_scope import LedgerScope

Entry = TypeVar("Entry", CardEntry, QuotaEntry, DeviceEntry)


class KeptEntries(Generic[Entry]):
    """The lines of one kind, in the order in which they ended."""

    def __init__(self, scope: LedgerScope) -> None:
        self._window, self.wanted = scope.window, scope.wanted
        self.inside: list[Entry] = []
        """All that overlap the window."""
        self.found: dict[str, Entry] = {}
        """Those that were asked for, wherever they lie."""

    def keep(self, entry: Entry) -> None:
        """Keep a line, if it is one of those."""
        if self._window.overlaps(entry.since, entry.until):
            self.inside.append(entry)
        if entry.id in self.wanted:
            self.found[entry.id] = entry

    def keeps_waste(self, at: Millis, held: Iterable[Entry]) -> bool:
        """Whether it counts that an attempt was cut short then, which had held these."""
        return at in self._window or any(entry.id in self.wanted for entry in held)
