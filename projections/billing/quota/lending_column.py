"""Who has how much of whom of one flavor and resource within one tree of quota, kept as queues use more or less.

A queue borrows what it uses beyond its own nominal quota. It is lent by the members of its tree that leave nominal quota unused and may
lend it, in proportion to what they leave; fractions go to the largest remainders, of equals to the first by name. Members of a cohort
that has a lending limit have of each other first, without it; of what they leave then, the rest of the tree has no more than the limit.
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.amount import in_proportion
from events.event import Millis
from projections.billing.entries.entry import Window
from projections.billing.entries.time_cuts import TimeCuts

MOST_KEPT = 500_000
"""Changes that wait to be looked at: some 50 MB of them."""
NOBODY = ""
"""The lender of what no quota covers, as after a quota was lowered."""
Pair = tuple[str, str]
"""A borrower and a lender."""


class LendingMember(msgspec.Struct, frozen=True):
    """A queue or a cohort of a tree: its nominal quota, the most that it lends, and the innermost limited cohort that it is in."""

    name: str
    nominal: int = 0
    limit: int | None = None
    within: str = ""


class LendingBound(msgspec.Struct, frozen=True):
    """A cohort with a lending limit, and the next such cohort that it is in; none for the whole tree."""

    name: str
    limit: int
    within: str = ""


class LendingColumn:
    """Sums of units x milliseconds by borrower and lender; time is counted once, whoever's clock is behind.

    Few bills ask for them, so while anybody borrows, changes are kept as they come, and what they mean is found when somebody asks.
    """

    def __init__(
        self,
        members: Sequence[LendingMember],
        used: Mapping[str, int],
        window: Window,
        cuts: TimeCuts | None,
        bounds: Sequence[LendingBound] = (),
    ) -> None:
        """`bounds` has inner cohorts before those that they are in."""
        self._members, self._window, self._cuts, self._bounds = members, window, cuts, bounds
        self._places = {one.name: place for place, one in enumerate(members)}
        self._left = [one.nominal - used.get(one.name, 0) for one in members]
        self._over = sum(left < 0 for left in self._left)
        """How many use more than their own: while nobody does, no lenders have to be found."""
        self._changes: list[tuple[Millis, int, int]] = []
        """When which member came to use so much more or less."""
        self._pairs: list[tuple[Pair, int]] = []
        self._since: Millis = 0
        self._settled: Millis = 0
        self._sums: dict[Pair, int] = {}
        self._priced: dict[tuple[Millis, Pair], int] = {}

    def begin(self, at: Millis, settled: Millis) -> None:
        """From now on it stands so; what came before `settled` is summed up already."""
        self._settled = settled
        self._find(at)

    def change(self, queue: str, amount: int, at: Millis) -> None:
        """A queue uses so much more, or less."""
        self._changes.append((at, self._places[queue], amount))
        if len(self._changes) > MOST_KEPT or not (self._over or self._pairs):
            self._take_changes()

    def settle(self, at: Millis) -> None:
        """Count what is lent until then, as if it ended there, and go on."""
        self._changes.append((at, 0, 0))

    @property
    def settled(self) -> Millis:
        """Up to when it is summed up."""
        self._take_changes()
        return self._settled

    @property
    def sums(self) -> Mapping[Pair, int]:
        """What each borrower had of each lender."""
        self._take_changes()
        return self._sums

    @property
    def priced(self) -> Mapping[tuple[Millis, Pair], int]:
        """The same between moments at which its price may change; only where time is cut at those."""
        self._take_changes()
        return self._priced

    def _take_changes(self) -> None:
        for at, place, amount in self._changes:
            self._add_up(at)
            if not amount:
                continue
            before = self._left[place]
            self._left[place] = after = before - amount
            self._over += (after < 0) - (before < 0)
            if self._over or self._pairs:
                self._find(at)
        self._changes.clear()

    def _add_up(self, at: Millis) -> None:
        if not self._pairs:
            return
        since, sums = self._since, self._sums
        self._since = self._settled = at = max(since, at)
        length = self._window.clip(since, at)
        if length:
            for pair, amount in self._pairs:
                sums[pair] = sums.get(pair, 0) + amount * length
        for begin, part in self._cuts.stretches(self._window, since, at) if self._cuts is not None else ():
            for pair, amount in self._pairs:
                self._priced[begin, pair] = self._priced.get((begin, pair), 0) + amount * part

    def _find(self, at: Millis) -> None:
        self._since = max(at, self._settled)
        wants: dict[str, list[tuple[str, int]]] = {}
        spare: dict[str, dict[str, int]] = {}
        for one, rest in zip(self._members, self._left, strict=True):
            if rest < 0:
                wants.setdefault(one.within, []).append((one.name, -rest))
            elif rest > 0:
                spare.setdefault(one.within, {})[one.name] = rest if one.limit is None else min(rest, one.limit)
        self._pairs = []
        for bound in self._bounds:
            found, missing, left = _settle_among(wants.get(bound.name, []), spare.get(bound.name, {}))
            self._pairs += found
            wants.setdefault(bound.within, []).extend(missing)
            spare.setdefault(bound.within, {}).update(in_proportion(min(bound.limit, sum(left.values())), left))
        found, missing, _ = _settle_among(wants.get("", []), spare.get("", {}))
        self._pairs += [*found, *(((borrower, NOBODY), amount) for borrower, amount in missing)]


def _settle_among(
    wants: list[tuple[str, int]], spare: dict[str, int]
) -> tuple[list[tuple[Pair, int]], list[tuple[str, int]], dict[str, int]]:
    """Who has what of whom among themselves, who lacks how much after that, and who has how much to spare."""
    pairs = _pair_up(wants, _share_out(sum(amount for _, amount in wants), spare)) if wants else []
    missing = [(borrower, amount) for (borrower, lender), amount in pairs if lender == NOBODY]
    found, left = [(pair, amount) for pair, amount in pairs if pair[1] != NOBODY], dict(spare)
    for (_, lender), amount in found:
        left[lender] -= amount
    return found, missing, left


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
