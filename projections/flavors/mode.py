"""How well one flavor suits one resource, and which of two flavors is better (docs/rules/flavors.md#modes)."""

from collections.abc import Callable, Collection

import msgspec

from events.admission import Mode
from events.quota import FlavorPreference, FlavorSearch, Fungibility, PreemptionPolicy, PreemptionRules
from projections.quota.columns import Column
from projections.quota.node import Node

RANK: dict[Mode, int] = {mode: rank for rank, mode in enumerate(Mode)}
"""From worst to best."""


class Granular(msgspec.Struct, frozen=True):
    """A mode and the borrowing level that goes with it: the height of the lowest subtree that fits."""

    mode: Mode
    borrow: int = 0


Oracle = Callable[[Column, int], Granular]
"""How preemption could free so much of one flavor and resource: Preempt, Reclaim or NoPreemptionCandidates."""


class BorrowingLevel(msgspec.Struct, frozen=True, gc=False):
    """Where an amount fits within the quota of a subtree."""

    height: int
    """Of the lowest subtree that holds it within its own quota; 0 is the queue itself."""
    more_above: bool
    """The subtree has a parent, whose other children it may reclaim from."""


def lowest_that_fits(node: Node, column: Column, amount: int) -> BorrowingLevel:
    """The lowest subtree that holds the amount within its own quota; the root where none does."""
    rest = amount
    for one in node.path:
        if not one.borrowing_with(column, rest):
            return BorrowingLevel(one.height, one.parent is not None)
        rest -= one.local_available(column)
    return BorrowingLevel(node.root.height, more_above=False)


def may_preempt_while_borrowing(rules: PreemptionRules, *, fair: bool) -> bool:
    """Whether the queue may preempt although it ends up borrowing."""
    if fair:
        # Kueue asks for a policy that is not Never, and one that is left out is none.
        return rules.reclaim_within_cohort is not PreemptionPolicy.NEVER or rules.reclaim_left_out
    within = rules.borrow_within_cohort
    return within is not None and within.policy is not PreemptionPolicy.NEVER


def stops_search(granular: Granular, fungibility: Fungibility | None) -> bool:
    """Whether the search for a flavor ends here; without any rules (docs/rules/flavors.md#search-all) one has to fit."""
    if fungibility is None:
        return granular.mode is Mode.FIT
    if granular.mode in (Mode.NO_FIT, Mode.NO_CANDIDATES):
        return False
    if granular.mode in (Mode.PREEMPT, Mode.RECLAIM) and fungibility.when_can_preempt is FlavorSearch.TRY_NEXT_FLAVOR:
        return False
    return not (granular.borrow and fungibility.when_can_borrow is FlavorSearch.TRY_NEXT_FLAVOR)


def least_preferred(resources: Collection[Granular], fungibility: Fungibility | None) -> Granular:
    """How well a flavor suits all of these resources: as well as the one that it suits worst.

    Rule: docs/rules/flavors.md#modes
    """
    if fungibility is not None and fungibility.preference is FlavorPreference.PREEMPTION_OVER_BORROWING:
        worst = min((one.mode for one in resources), key=RANK.__getitem__)
        return Granular(worst, max(one.borrow for one in resources))
    return min(resources, key=lambda one: _standing(one, fungibility))


def preferred(left: Granular, right: Granular, fungibility: Fungibility | None) -> bool:
    """Whether `left` is strictly better than `right`."""
    return _standing(left, fungibility) > _standing(right, fungibility)


def _standing(one: Granular, fungibility: Fungibility | None) -> tuple[int, ...]:
    rank = RANK[one.mode]
    if fungibility is None:
        return (rank,)
    if fungibility.preference is FlavorPreference.PREEMPTION_OVER_BORROWING:
        return min(rank, RANK[Mode.PREEMPT]), -one.borrow, rank
    return rank, -one.borrow
