"""The victims under fair sharing, by docs/rules/fair-sharing.md and docs/decisions/0005 alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

from events.quota import PreemptionPolicy, StopPolicy
from events.settings import FairStrategy
from projections.preemption.candidates import Variant
from tests.projections.preemption.classic_by_definition import Asker, Chosen, ClassicByDefinition, Holder, age
from tests.projections.quota.by_definition import ByDefinition, Place

NEVER = PreemptionPolicy.NEVER
Rows = dict[str, list[Holder]]
"""By queue the candidates that are left, in order."""


class DefinedShare(NamedTuple):
    """A share of what is lent, by weight: every infinite one is above all others."""

    infinite: bool
    ratio: Fraction


class FairByDefinition(ClassicByDefinition):
    """One search among these holders, under these strategies."""

    def __init__(
        self, tree: ByDefinition, holders: Sequence[Holder], asker: Asker, strategies: Sequence[FairStrategy]
    ) -> None:
        super().__init__(tree, holders, asker)
        self.strategies = strategies
        self.items = sorted({item for _, item in tree.held} | set(asker.usage))

    def victims(self) -> list[Chosen]:
        """Those that are found when whoever could come back is passed over."""
        passed: set[str] = set()
        while True:
            with self.changed():
                found = self.search(passed)
                returning = self.returning(found)
            if not returning:
                return found
            passed |= {one.holder.workload.key for one in returning}

    @contextmanager
    def changed(self) -> Iterator[None]:
        """What is tried within is taken back."""
        before = dict(self.tree.held)
        try:
            yield
        finally:
            self.tree.held = before

    def search(self, passed: set[str]) -> list[Chosen]:
        rows = {
            place[1]: [one for one in self.in_order(place[1]) if one.workload.key not in passed]
            for place in self.places()
        }
        self.ask(1)
        gone: list[Chosen] = []
        retry: Rows = {}
        if self.first_strategy(rows, retry, gone) or (len(self.strategies) > 1 and self.second_strategy(retry, gone)):
            return self.given_back(gone)
        return []

    def places(self) -> list[Place]:
        """The own queue, and every other one of the tree that borrows something of what is needed and is not stopped."""
        mine = [self.here] if self.rules.within_cluster_queue is not NEVER else []
        if self.rules.reclaim_within_cohort is NEVER:
            return mine
        others = [
            ("queue", name)
            for name in self.tree.leaves(self.tree.path(self.here)[-1])
            if self.tree.queues[name].stop is StopPolicy.NONE
        ]
        return [*mine, *(place for place in others if place != self.here and self.borrows(place))]

    def in_order(self, queue: str) -> list[Holder]:
        mine = queue == self.asker.queue
        policy = self.rules.within_cluster_queue if mine else self.rules.reclaim_within_cohort
        found = [one for one in self.holders if one.queue == queue and self.may_go(one, policy)]
        return sorted(found, key=lambda one: (not one.workload.evicted, *age(one)))

    def ask(self, times: int) -> None:
        """Count what is asked for, or count it no more."""
        for item, amount in self.asker.usage.items():
            held, place = self.tree.held, (self.asker.queue, item)
            held[place] = held.get(place, 0) + times * amount

    def share(self, place: Place) -> DefinedShare:
        parent = self.tree.parent(place)
        if parent is None:
            return DefinedShare(False, Fraction())
        ratio = max(self.ratio(place, parent, resource) for resource in {name for _, name in self.items})
        kind, name = place
        observed = (self.tree.queues if kind == "queue" else self.tree.cohorts).get(name)
        weight = 1 if observed is None else Fraction(observed.weight.numerator, observed.weight.denominator)
        return DefinedShare(False, ratio / weight) if weight else DefinedShare(ratio > 0, ratio)

    def ratio(self, place: Place, parent: Place, resource: str) -> Fraction:
        """What it borrows of a resource, of what its cohort could have of it."""
        items = [item for item in self.items if item[1] == resource]
        borrowed = sum(max(0, self.tree.usage(place, item) - self.tree.subtree(place, item)) for item in items)
        lendable = sum(self.tree.potential(parent, item) for item in items)
        return Fraction(int(borrowed), int(lendable)) if lendable > 0 else Fraction()

    def borrows_anything(self, place: Place) -> bool:
        return any(self.tree.borrows_with(place, item, 0) for item in self.items)

    def next_queue(self, rows: Rows, pruned: set[Place]) -> str | None:
        """Whose turn it is to give: from the root on where most is borrowed, as long as something is left there."""
        root = self.tree.path(self.here)[-1]
        if root[0] == "queue":
            return root[1] if rows.get(root[1]) and root not in pruned else None
        while root not in pruned:
            found = self.descend(root, rows, pruned)
            if found is not None:
                return found
        return None

    def descend(self, cohort: Place, rows: Rows, pruned: set[Place]) -> str | None:
        mine = self.tree.path(self.here)
        for child in self.tree.children[cohort]:
            empty = child[0] == "queue" and not rows.get(child[1])
            if empty or not (self.borrows_anything(child) or child in mine):
                pruned.add(child)
        left = [child for child in self.tree.children[cohort] if child not in pruned]
        queues = sorted(
            (child for child in left if child[0] == "queue"), key=lambda child: self.rank(rows[child[1]][0])
        )
        queue = max(queues, key=self.share, default=None)
        deeper = max((child for child in left if child[0] == "cohort"), key=self.share, default=None)
        if deeper is not None and (queue is None or self.share(deeper) >= self.share(queue)):
            return self.descend(deeper, rows, pruned)
        if queue is None:
            pruned.add(cohort)
            return None
        return queue[1]

    def rank(self, one: Holder) -> tuple[object, ...]:
        return not one.workload.evicted, one.queue == self.asker.queue, *age(one)

    def first_strategy(self, rows: Rows, retry: Rows, gone: list[Chosen]) -> bool:
        entitled = not any(self.tree.borrows_with(self.here, item, 0) for item in self.needed)
        pruned: set[Place] = set()
        spared: Rows = {}
        while (queue := self.next_queue(rows, pruned)) is not None:
            row = rows[queue]
            if queue == self.asker.queue or entitled:
                own = queue == self.asker.queue
                if self.take(row.pop(0), Variant.WITHIN_QUEUE if own else Variant.HIERARCHICAL, gone):
                    return True
                continue
            mine, theirs = (self.share(place) for place in self.sides(queue))
            if mine.infinite and not theirs.infinite:
                pruned.add(("queue", queue))
                retry[queue] = [*spared.pop(queue, []), *row]
                continue
            while row:
                one = row.pop(0)
                if self.passes(self.strategies[0], one):
                    if self.take(one, Variant.FAIR_SHARING, gone):
                        return True
                    break
                spared.setdefault(queue, []).append(one)
        for queue, row in spared.items():
            retry.setdefault(queue, row)
        return False

    def second_strategy(self, retry: Rows, gone: list[Chosen]) -> bool:
        pruned: set[Place] = set()
        while (queue := self.next_queue(retry, pruned)) is not None:
            one = retry[queue].pop(0)
            if self.passes(FairStrategy.LESS_THAN_INITIAL_SHARE, one) and self.take(one, Variant.FAIR_SHARING, gone):
                return True
            pruned.add(("queue", queue))
        return False

    def take(self, one: Holder, variant: Variant, gone: list[Chosen]) -> bool:
        """It goes; whether that is enough."""
        gone.append(Chosen(one, variant))
        self.change(one, -1)
        return self.enough()

    def enough(self) -> bool:
        with self.changed():
            self.ask(-1)
            return self.fits(borrowing=True)

    def passes(self, rule: FairStrategy, one: Holder) -> bool:
        mine, theirs = self.sides(one.queue)
        if rule is FairStrategy.LESS_THAN_INITIAL_SHARE:
            return self.share(mine) < self.share(theirs)
        with self.changed():
            self.change(one, -1)
            return self.share(mine) <= self.share(theirs)

    def sides(self, queue: str) -> tuple[Place, Place]:
        """The two places below where the ways from the asker and from another queue meet."""
        mine, theirs = self.tree.path(self.here), self.tree.path(("queue", queue))
        return (
            [place for place in mine if place not in theirs][-1],
            [place for place in theirs if place not in mine][-1],
        )

    def given_back(self, gone: list[Chosen]) -> list[Chosen]:
        """From the last but one to the first, who need not go stays, unless that lets somebody come back who could not."""
        for index in reversed(range(len(gone) - 1)):
            spared, rest = gone[index], [*gone[:index], gone[-1], *gone[index + 1 : -1]]
            returning = bool(self.returning(gone))
            self.change(spared.holder, 1)
            if self.enough() and (returning or not self.returning(rest)):
                gone = rest
            else:
                self.change(spared.holder, -1)
        return gone

    def returning(self, gone: Sequence[Chosen]) -> list[Chosen]:
        """Of those that have to go for their share, who could take the place back."""
        return [one for one in gone if one.variant is Variant.FAIR_SHARING and self.may_return(one.holder)]

    def may_return(self, one: Holder) -> bool:
        common = [item for item in one.usage if item in self.asker.usage]
        rules = self.tree.queues[one.queue].preemption
        borrows = any(self.tree.borrows_with(self.here, item, 0) for item in common)
        if not borrows or not self.policy_lets(rules.reclaim_within_cohort, one.workload, self.asker.workload):
            return False
        mine, theirs = self.sides(one.queue)
        with self.changed():
            self.change(one, 1)
            entitled = not any(self.tree.borrows_with(("queue", one.queue), item, 0) for item in common)
            returned, before = self.share(theirs), self.share(mine)
            self.ask(-1)
            after = self.share(mine)
        rights = {
            FairStrategy.LESS_THAN_INITIAL_SHARE: returned < before,
            FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE: returned <= after,
        }
        return entitled or any(rights[rule] for rule in self.strategies)
