"""The search for victims under fair sharing: the highest share gives first, and no victim is chosen that could preempt its preemptor in return.

The rules are in docs/rules/fair-sharing.md#fair-strategies. Victims that could come back and preempt the one they made
room for are passed over: Kueue does not look at that, and two queues may then preempt each other without end
(docs/decisions/0005).
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partial
from itertools import chain

import msgspec

from events.quota import PreemptionPolicy
from events.settings import FairStrategy
from projections.fair_sharing.share import share_of
from projections.feature_gates import enabled
from projections.preemption.candidates import Candidate, PreemptionContext, Variant, as_candidate, may_have_to_give
from projections.preemption.classic import charge, discharge, fits_without_victims, give_back
from projections.preemption.fair_strategy import (
    PreemptorNewShare,
    TargetNewShare,
    TargetOldShare,
    allowed_by_strategy,
)
from projections.preemption.fair_targets import LazyCandidates, TargetQueues
from projections.preemption.mutual_preemption import by_share, may_come_back, sides
from projections.preemption.state import PreemptionState
from projections.preemption.usage_order import in_order_of_usage
from projections.quota.node import Node


def find_victims(world: PreemptionState, context: PreemptionContext) -> list[Candidate]:
    """The workloads that have to make room, in order; empty when no set of candidates would do.

    The world is as it was afterwards.
    """
    excluded: set[str] = set()
    while True:
        with world.trial():
            victims = FairSearch(world, context, excluded).run()
            returning = may_come_back(world, context, victims)
        if not returning:
            return victims
        excluded.update(one.workload.key for one in returning)


class ComparedShares(msgspec.Struct, frozen=True, gc=False):
    """The two shares that stand before a candidate of a queue is tried."""

    preemptor_new: PreemptorNewShare
    target_old: TargetOldShare


class FairSearch:
    """One search. The tree is changed as it goes on: the usage that asks for room counts all the time."""

    __slots__ = ("_ask", "_excluded", "_names", "_victims", "_world")

    def __init__(self, world: PreemptionState, context: PreemptionContext, excluded: Container[str]) -> None:
        self._world, self._ask, self._excluded = world, context, excluded
        self._names = world.quota.columns.names
        self._victims: list[Candidate] = []

    def run(self) -> list[Candidate]:
        """The victims; empty when nobody can make enough room. The tree is left with the preemptor charged and the victims taken away."""
        world, ask = self._world, self._ask
        rows = {node.name: LazyCandidates(self._candidates(node)) for node in self._queues()}
        charge(world.trail, ask.node, ask.usage)
        strategies = world.settings.fair_strategies
        retry: dict[str, LazyCandidates] = {}
        fits = self._by_first(rows, strategies[0], retry)
        if not fits and len(strategies) > 1:
            fits = self._by_second(retry)
        return self._needed() if fits else []

    def _candidates(self, node: Node) -> Iterator[Candidate]:
        return (one for one in candidates_in(self._world, self._ask, node) if one.workload.key not in self._excluded)

    def _queues(self) -> Iterator[Node]:
        """Whose holders may be candidates: the own queue's, and those of the queues that may have to give."""
        ask, rules, never = self._ask, self._ask.queue.preemption, PreemptionPolicy.NEVER
        if rules.within_cluster_queue is not never:
            yield ask.node
        if rules.reclaim_within_cohort is not never:
            for leaf in ask.node.root.leaves():
                if leaf is not ask.node and may_have_to_give(self._world, leaf, ask.needed):
                    yield leaf

    def _by_first(self, rows: dict[str, LazyCandidates], rule: FairStrategy, retry: dict[str, LazyCandidates]) -> bool:
        """Take candidates by the first rule until it fits; those that it spares are left in `retry`."""
        ask = self._ask
        targets = TargetQueues(ask.node, rows, self._names)
        entitled = enabled(self._world.settings, "FairSharingPreemptWithinNominal")
        entitled = entitled and ask.node.within_nominal(ask.needed)
        spared: dict[str, list[Candidate]] = {}
        while (node := targets.next()) is not None:
            row = rows[node.name]
            if node is ask.node or entitled:
                variant = Variant.WITHIN_QUEUE if node is ask.node else Variant.HIERARCHICAL
                if self._choose(next(row.take()), variant):
                    return True
                continue
            failed = spared.setdefault(node.name, [])
            shares = self._shares(node)
            if shares.preemptor_new.infinite and not shares.target_old.infinite:
                targets.drop(node)
                retry[node.name] = LazyCandidates(chain(failed, row.take()))
                continue
            for one in row.take():
                if self._allowed(rule, one, shares):
                    if self._choose(one, Variant.FAIR_SHARING):
                        return True
                    break  # The shares have changed: another queue may have the most now.
                failed.append(one)
        for name, failed in spared.items():
            if failed and name not in retry:
                retry[name] = LazyCandidates(failed)
        return False

    def _by_second(self, retry: dict[str, LazyCandidates]) -> bool:
        """Take one more from each queue that had more before than the preemptor will have."""
        targets = TargetQueues(self._ask.node, retry, self._names)
        rule = FairStrategy.LESS_THAN_INITIAL_SHARE
        while (node := targets.next()) is not None:
            shares = self._shares(node)
            first = next(retry[node.name].take())
            if self._allowed(rule, first, shares) and self._choose(first, Variant.FAIR_SHARING):
                return True
            targets.drop(node)
        return False

    def _choose(self, chosen: Candidate, variant: Variant) -> bool:
        """Take away the candidate's usage for the trial; whether that is enough."""
        chosen = msgspec.structs.replace(chosen, variant=variant)
        self._victims.append(chosen)
        discharge(self._world.trail, chosen)
        return self._fits()

    def _fits(self) -> bool:
        world, ask = self._world, self._ask
        with world.trial():
            for column, amount in ask.usage.items():
                ask.node.discharge(world.trail, column, amount)
            return fits_without_victims(ask, borrowing=True)

    def _shares(self, target: Node) -> ComparedShares:
        """The shares of the preemptor's side and of the target's, below where their paths meet."""
        below = sides(self._ask.node, target)
        return ComparedShares(
            PreemptorNewShare(share_of(below.preemptor, self._names)),
            TargetOldShare(share_of(below.target, self._names)),
        )

    def _allowed(self, strategy: FairStrategy, victim: Candidate, shares: ComparedShares) -> bool:
        return allowed_by_strategy(strategy, shares.preemptor_new, shares.target_old, partial(self._target_new, victim))

    def _target_new(self, victim: Candidate) -> TargetNewShare:
        with self._world.trial():
            discharge(self._world.trail, victim)
            return TargetNewShare(share_of(sides(self._ask.node, victim.node).target, self._names))

    def _needed(self) -> list[Candidate]:
        """Give back, from the last but one to the first, every victim without which it fits and none could come back."""
        kept = list(self._victims)
        sides_kept = Counter(self._side_of(one) for one in kept if by_share(self._ask, one))
        for index in range(len(kept) - 2, -1, -1):
            spared = kept[index]
            rest = [*kept[:index], kept[-1], *kept[index + 1 : -1]]
            harmless = self._harmless(kept, sides_kept, spared)
            give_back(self._world.trail, spared)
            if self._fits() and (harmless or not may_come_back(self._world, self._ask, rest)):
                kept = rest
                if by_share(self._ask, spared):
                    sides_kept[self._side_of(spared)] -= 1
            else:
                discharge(self._world.trail, spared)
        return kept

    def _harmless(self, kept: list[Candidate], sides_kept: Mapping[str, int], spared: Candidate) -> bool:
        """Whether giving one back lets nobody return who could not before.

        Only what the preemptor's side keeps can do that; what a target keeps makes its own share greater. `sides_kept`: by the
        key of that side, how many of those that are kept were chosen by share against it. Victims are many, their sides few.
        """
        if not any(sides_kept.get(one.key, 0) for one in spared.node.path):
            return True
        return bool(may_come_back(self._world, self._ask, kept))

    def _side_of(self, victim: Candidate) -> str:
        """The key of the preemptor's side against a victim."""
        return sides(self._ask.node, victim.node).preemptor.key


def candidates_in(world: PreemptionState, context: PreemptionContext, node: Node) -> Iterator[Candidate]:
    """The candidates of one queue, in the order in which they would have to go.

    Rule: docs/rules/preemption.md#victims-order
    """
    holders = world.holding.get(node.name)
    if holders is None:
        return
    for row in (holders.leaving, holders.staying):
        for order in in_order_of_usage(world, node.name, row, context.at):
            found = as_candidate(world, context, node, order[3], Variant.FAIR_SHARING)
            if found is not None:
                yield found
