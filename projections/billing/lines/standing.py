"""What still stands of an entry: credits and corrections before have taken it back, or entered it otherwise.

Rule: docs/rules/billing.md#corrections
"""

import msgspec

from projections.billing.entries.entry import AnyEntry


class EntryStanding(msgspec.Struct, frozen=True):
    """What of an entry is charged by now, and what has changed that last."""

    entries: tuple[AnyEntry, ...]
    credit: str = ""
    """Where on the log the whole of it was given back because its attempt was cut short."""
    corrected: str = ""
    """Where on the log a person has corrected it last."""


class EntryStandings:
    """By the id of the entry; one that nothing was said about stands as it was entered."""

    def __init__(self) -> None:
        self._known: dict[str, EntryStanding] = {}

    def of(self, entry: AnyEntry) -> EntryStanding:
        """What is left of an entry after credits and corrections: itself where there were none."""
        return self._known.get(entry.id) or EntryStanding((entry,))

    def credited(self, entry: AnyEntry, place: str) -> tuple[AnyEntry, ...]:
        """What there is to give back of it; from then on nothing is."""
        before = self.of(entry)
        self._known[entry.id] = EntryStanding((), place, before.corrected)
        return before.entries

    def correct(
        self, entry: AnyEntry, place: str, right: tuple[AnyEntry, ...], *, allow_negative: bool
    ) -> tuple[tuple[AnyEntry, ...], tuple[AnyEntry, ...]]:
        """What a correction takes back and what it enters; neither of an entry that a credit covers, unless allowed."""
        before = self.of(entry)
        if before.credit and not allow_negative:
            return (), ()
        self._known[entry.id] = EntryStanding(right, "", place)
        return (before.entries if not before.credit else (entry,)), right
