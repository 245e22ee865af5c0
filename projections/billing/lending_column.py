"""Who has how much of whom of one flavor and resource within one tree of quota, kept as queues use more or less.

A queue borrows what it uses beyond its own nominal quota. It is lent by the members of its tree that leave nominal quota unused and may
lend it, in proportion to what they leave; fractions go to the largest remainders, of equals to the first by name.
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.amount import in_proportion
from events.event import Millis
from projections.billing.entry import Window

NOBODY = ""
"""The lender of what no quota covers, as after a quota was lowered."""
Pair = tuple[str, str]
"""A borrower and a lender."""


class LendingMember(msgspec.Struct, frozen=True):
    """A queue or a cohort of a tree: its nominal quota, and the most that it lends."""

    name: str
    nominal: int = 0
    limit: int | None = None


class LendingColumn:
    """Sums of units x milliseconds by borrower and lender; time is counted once, whoever's clock is behind."""

    def __init__(
        self, members: Sequence[LendingMember], used: Mapping[str, int], sums: dict[Pair, int], window: Window
    ) -> None:
        self.sums, self._window = sums, window
        self._members = members
        self._places = {one.name: place for place, one in enumerate(members)}
        self._left = [one.nominal - used.get(one.name, 0) for one in members]
        self._over = sum(left < 0 for left in self._left)
        """How many use more than their own: while nobody does, no lenders have to be found."""
        self._settled: Millis = 0
        self._since: Millis = 0
        self.pairs: list[tuple[Pair, int]] = []
        """How much each borrower has of each lender, since `_since`."""

    def begin(self, at: Millis, settled: Millis) -> None:
        """From now on it stands so; what came before `settled` is summed up already."""
        self._settled = settled
        self._find(at)

    def change(self, queue: str, amount: int, at: Millis) -> None:
        """A queue uses so much more, or less."""
        self.settle(at)
        place = self._places[queue]
        before = self._left[place]
        self._left[place] = after = before - amount
        self._over += (after < 0) - (before < 0)
        if self._over or self.pairs:
            self._find(at)

    def settle(self, at: Millis) -> tuple[Millis, Millis]:
        """Add what was lent up to a time to the sums; from when until when that was."""
        since = self._since
        if not self.pairs:
            return at, at
        self._since = self._settled = at = max(since, at)
        length, sums = self._window.clip(since, at), self.sums
        if length:
            for pair, amount in self.pairs:
                sums[pair] = sums.get(pair, 0) + amount * length
        return since, at

    @property
    def settled(self) -> Millis:
        """Up to when it is summed up: another machine's clock may be behind that."""
        return self._settled

    def _find(self, at: Millis) -> None:
        self._since = max(at, self._settled)
        members, left = self._members, self._left
        wants = [(place, -rest) for place, rest in enumerate(left) if rest < 0]
        if not wants:
            self.pairs = []
            return
        spare = {
            members[place].name: rest if (limit := members[place].limit) is None else min(rest, limit)
            for place, rest in enumerate(left)
            if rest > 0
        }
        total = sum(amount for _, amount in wants)
        self.pairs = _pair_up([(members[place].name, amount) for place, amount in wants], _share_out(total, spare))


def _share_out(amount: int, spare: dict[str, int]) -> list[tuple[str, int]]:
    """An amount over lenders in proportion to what each has to spare; what nobody has is `NOBODY`'s."""
    total = sum(spare.values())
    if total <= amount:
        return [*spare.items(), *([(NOBODY, amount - total)] if amount > total else [])]
    return [(name, part) for name, part in in_proportion(amount, spare).items() if part]


def _pair_up(wants: list[tuple[str, int]], gives: list[tuple[str, int]]) -> list[tuple[Pair, int]]:
    """How much each borrower has of each lender, in the order given; both sides add up to the same sum."""
    pairs: list[tuple[Pair, int]] = []
    left = iter(gives)
    lender, has = NOBODY, 0
    for borrower, wanted in wants:
        amount = wanted
        while amount:
            if not has:
                lender, has = next(left, (NOBODY, amount))
                continue
            part = min(amount, has)
            pairs.append(((borrower, lender), part))
            amount -= part
            has -= part
    return pairs
