"""The search for victims under fair sharing: who has the most gives first, and never so much that it could take it back.

The rules are those of kueue-semantics §7.2. Every choice by share remembers by which rule it was made. When victims are
given back that turned out not to be needed, the choices that remain have to be right without them too: Kueue does not look
again, and two queues may then preempt each other without end (docs/decisions/0005).
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from events.quota import PreemptionPolicy
from events.settings import FairStrategy
from projections.fair_sharing.share import Share, share_of
from projections.gates import enabled
from projections.preemption.candidates import Ask, Candidate, Variant, as_candidate
from projections.preemption.classic import charge, discharge, fits_now
from projections.preemption.fair_targets import Row, TargetQueues
from projections.preemption.giving_order import in_order_of_usage
from projections.quota_node import Node
from projections.world import World


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A victim, when it was chosen, and by which rule of shares; None when its share did not matter."""

    turn: int
    victim: Candidate
    rule: FairStrategy | None


def find_victims(world: World, ask: Ask) -> list[Candidate]:
    """The workloads that have to make room, in order; empty when no set of candidates would do.

    The world is as it was afterwards.
    """
    mark = world.mark()
    search = FairSearch(world, ask)
    found = search.run()
    world.undo(mark)
    return found


class FairSearch:
    """One search. The tree is changed as it goes on: the usage that asks for room counts all the time."""

    __slots__ = ("_ask", "_choices", "_names", "_world")

    def __init__(self, world: World, ask: Ask) -> None:
        self._world, self._ask = world, ask
        self._names = world.quota.columns.names
        self._choices: list[Choice] = []

    def run(self) -> list[Candidate]:
        """The victims; empty when nobody can make enough room."""
        world, ask = self._world, self._ask
        rows = {node.name: Row(candidates_in(world, ask, node)) for node in self._queues()}
        charge(world, ask.node, ask.usage)
        strategies = world.settings.fair_strategies
        retry: dict[str, Row] = {}
        fits = self._by_first(rows, strategies[0], retry)
        if not fits and len(strategies) > 1:
            fits = self._by_second(retry)
        return [choice.victim for choice in self._needed()] if fits else []

    def _queues(self) -> Iterator[Node]:
        """Whose holders may be candidates: the own queue's, and those of the queues that borrow what is needed."""
        ask, rules, never = self._ask, self._ask.queue.preemption, PreemptionPolicy.NEVER
        if rules.within_cluster_queue is not never:
            yield ask.node
        if rules.reclaim_within_cohort is not never:
            for leaf in ask.node.root.leaves():
                if leaf is not ask.node and not leaf.within_nominal(ask.needed):
                    yield leaf

    def _by_first(self, rows: dict[str, Row], rule: FairStrategy, retry: dict[str, Row]) -> bool:
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
                if self._choose(next(row.take()), variant, None):
                    return True
                continue
            failed = spared.setdefault(node.name, [])
            mine, before = self._shares(node)
            if mine.infinite and not before.infinite:
                targets.drop(node)
                retry[node.name] = Row(chain(failed, row.take()))
                continue
            for one in row.take():
                if self._passes(rule, one, mine, before):
                    if self._choose(one, Variant.FAIR_SHARING, rule):
                        return True
                    break  # The shares have changed: another queue may have the most now.
                failed.append(one)
        for name, failed in spared.items():
            if failed and name not in retry:
                retry[name] = Row(failed)
        return False

    def _by_second(self, retry: dict[str, Row]) -> bool:
        """Take one more from each queue that had more before than the preemptor will have."""
        targets = TargetQueues(self._ask.node, retry, self._names)
        rule = FairStrategy.LESS_THAN_INITIAL_SHARE
        while (node := targets.next()) is not None:
            mine, before = self._shares(node)
            first = next(retry[node.name].take())
            if self._passes(rule, first, mine, before) and self._choose(first, Variant.FAIR_SHARING, rule):
                return True
            targets.drop(node)
        return False

    def _choose(self, chosen: Candidate, variant: Variant, rule: FairStrategy | None) -> bool:
        """Reckon as if the candidate were gone; whether that is enough."""
        chosen = msgspec.structs.replace(chosen, variant=variant)
        self._choices.append(Choice(turn=len(self._choices), victim=chosen, rule=rule))
        discharge(self._world, chosen)
        return self._fits()

    def _fits(self) -> bool:
        world, ask = self._world, self._ask
        mark = world.mark()
        for column, amount in ask.usage.items():
            ask.node.discharge(world.trail, column, amount)
        fits = fits_now(ask.node, ask.usage, borrowing=True)
        world.undo(mark)
        return fits

    def _shares(self, target: Node) -> tuple[Share, Share]:
        """The shares of the preemptor's side and of the target's, below where their paths meet."""
        mine, theirs = sides(self._ask.node, target)
        return share_of(mine, self._names), share_of(theirs, self._names)

    def _passes(self, rule: FairStrategy, victim: Candidate, mine: Share, before: Share) -> bool:
        """Whether the rule lets the candidate go."""
        match rule:
            case FairStrategy.LESS_THAN_INITIAL_SHARE:
                return mine < before
            case FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE:
                mark = self._world.mark()
                discharge(self._world, victim)
                after = share_of(sides(self._ask.node, victim.node)[1], self._names)
                self._world.undo(mark)
                return mine <= after

    def _needed(self) -> list[Choice]:
        """Give back, from the last but one to the first, every victim without which it fits and the rest stays right."""
        kept = list(self._choices)
        for index in range(len(kept) - 2, -1, -1):
            spared = kept[index]
            charge(self._world, spared.victim.node, spared.victim.usage)
            rest = [*kept[:index], kept[-1], *kept[index + 1 : -1]]
            if self._fits() and self._still_right(rest, spared):
                kept = rest
            else:
                discharge(self._world, spared.victim)
        return kept

    def _still_right(self, kept: Sequence[Choice], spared: Choice) -> bool:
        """Whether every choice by share holds, made again in its turn without the one that is spared.

        Only what the preemptor's side keeps can make one wrong; what a target keeps makes its share greater.
        """
        world, node = self._world, self._ask.node
        path = spared.victim.node.path
        if all(one.rule is None or sides(node, one.victim.node)[0] not in path for one in kept):
            return True
        mark = world.mark()
        for one in kept:
            charge(world, one.victim.node, one.victim.usage)
        right = True
        for one in sorted(kept, key=lambda choice: choice.turn):
            if one.rule is not None and not self._passes(one.rule, one.victim, *self._shares(one.victim.node)):
                right = False
                break
            discharge(world, one.victim)
        world.undo(mark)
        return right


def candidates_in(world: World, ask: Ask, node: Node) -> Iterator[Candidate]:
    """The candidates of one queue, in the order in which they would have to go (kueue-semantics §6.2)."""
    holders = world.holding.get(node.name)
    if holders is None:
        return
    for row in (holders.leaving, holders.staying):
        for order in in_order_of_usage(world, node.name, row, ask.at):
            found = as_candidate(world, ask, node, order[3], Variant.FAIR_SHARING)
            if found is not None:
                yield found


def sides(preemptor: Node, target: Node) -> tuple[Node, Node]:
    """The children of the lowest common ancestor of two queues, on the way to each ("almost LCA")."""
    mine, theirs = preemptor.path, target.path
    depth = 1
    while depth < len(mine) and depth < len(theirs) and mine[-depth - 1] is theirs[-depth - 1]:
        depth += 1
    return mine[-depth - 1], theirs[-depth - 1]
