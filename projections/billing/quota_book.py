"""How long each queue held quota, and whose: borrowed and lent time on both sides, in exact units x milliseconds.

A queue borrows what it uses beyond its own nominal quota. It is lent by the queues and cohorts of its tree that leave
nominal quota unused and may lend it, in proportion to what they leave; fractions go to the largest remainders. What the console shows of borrowing goes by another
rule, cohort by cohort, each of which serves with its own quota first (`projections/quota/borrowing_flows.py`).
"""

import msgspec

from events.amount import in_proportion
from events.event import Millis
from events.quota import ClusterQueueObserved, CohortObserved, ResourceGroup
from projections.billing.entry import Window
from projections.billing.quota_times import QuotaTimes
from projections.billing.time_cuts import TimeCuts
from projections.quota.columns import FlavorResource

NOBODY = ""
"""The lender of what no quota covers, as after a quota was lowered."""
COHORT = "cohort:"


class HeldQuotaKey(msgspec.Struct, frozen=True, order=True):
    """The key by which held quota is summed up."""

    tenant: str
    queue: str
    flavor: str
    resource: str


class Lent(msgspec.Struct, frozen=True, order=True):
    """The key by which borrowed quota is summed up."""

    borrower: str
    lender: str
    flavor: str
    resource: str


class _Member(msgspec.Struct):
    """A queue or a cohort of a tree, with its quotas: nominal, and the most that it lends."""

    name: str
    root: str
    quotas: dict[FlavorResource, tuple[int, int | None]]


class QuotaBook:
    """Sums of units x milliseconds within a window."""

    def __init__(self, window: Window, cuts: TimeCuts | None = None) -> None:
        self.window, self.cuts = window, cuts
        self.held: dict[HeldQuotaKey, int] = {}
        self.borrowed: dict[Lent, int] = {}
        self.priced: dict[tuple[Millis, Lent], int] = {}
        """What was borrowed, between moments at which its price may change; only where time is cut at those."""
        self.times = QuotaTimes()
        self._queues: dict[str, ClusterQueueObserved] = {}
        self._cohorts: dict[str, CohortObserved] = {}
        self._members: dict[str, _Member] = {}
        self._trees: dict[str, list[_Member]] = {}
        self._used: dict[FlavorResource, dict[str, int]] = {}
        self._over: dict[FlavorResource, set[str]] = {}
        """Queues that use more than their own quota; while there is none, no lenders have to be found."""
        self._rates: dict[tuple[str, FlavorResource], tuple[Millis, dict[tuple[str, str], int]]] = {}
        """By tree: since when, and how much each borrower has of each lender."""
        self._settled: dict[tuple[str, FlavorResource], Millis] = {}
        """Up to when what was borrowed in a tree is summed up: another machine's clock may be behind that."""
        self._holds: dict[str, tuple[Millis, str, str, dict[FlavorResource, int]]] = {}

    def cohort_of(self, queue: str) -> str:
        """The cohort that a cluster queue is in, or was in last; empty without one."""
        known = self._queues.get(queue)
        return known.cohort if known is not None else ""

    def knows(self, queue: str) -> bool:
        """Whether there is, or was, such a cluster queue."""
        return queue in self._queues or any(key.queue == queue for key in self.held)

    def set_queue(self, queue: ClusterQueueObserved, at: Millis) -> None:
        """A cluster queue stands so from now on."""
        self._queues[queue.name] = queue
        self.times.set_queue(queue, at)
        self._regrow(at)

    def set_cohort(self, cohort: CohortObserved, at: Millis) -> None:
        """A cohort stands so from now on."""
        self._cohorts[cohort.name] = cohort
        self._regrow(at)

    def remove(self, kind: str, name: str, at: Millis) -> None:
        """A cluster queue or a cohort is gone."""
        if kind == "ClusterQueue":
            self.times.remove_queue(name, at)
        if (self._queues if kind == "ClusterQueue" else self._cohorts).pop(name, None) is not None:
            self._regrow(at)

    def hold(self, workload: str, queue: str, amounts: dict[FlavorResource, int], at: Millis) -> None:
        """The workload holds just this from now on."""
        at = max(at, self._holds[workload][0]) if workload in self._holds else at
        self.release(workload, at)
        self._holds[workload] = (at, workload.partition("/")[0], queue, amounts)
        for column, amount in amounts.items():
            self._change(queue, column, amount, at)

    def release(self, workload: str, at: Millis) -> None:
        """The workload holds nothing any more."""
        found = self._holds.pop(workload, None)
        if found is None:
            return
        self._sum_up(*found, at)
        _, _, queue, amounts = found
        for column, amount in amounts.items():
            self._change(queue, column, -amount, at)

    def settle(self, at: Millis) -> None:
        """Add what is held and what is free to the sums up to a time, as if it ended then, and go on from there."""
        for workload, (since, tenant, queue, amounts) in list(self._holds.items()):
            self._sum_up(since, tenant, queue, amounts, at)
            self._holds[workload] = (at, tenant, queue, amounts)
        for tree, column in list(self._rates):
            self._settle(tree, column, at)

    def _sum_up(self, since: Millis, tenant: str, queue: str, amounts: dict[FlavorResource, int], at: Millis) -> None:
        length = self.window.clip(since, at)
        if length:
            for (flavor, resource), amount in amounts.items():
                key = HeldQuotaKey(tenant, queue, flavor, resource)
                self.held[key] = self.held.get(key, 0) + amount * length

    def _change(self, queue: str, column: FlavorResource, amount: int, at: Millis) -> None:
        used = self._used.setdefault(column, {})
        used[queue] = used.get(queue, 0) + amount
        member = self._members.get(queue)
        self._mark(queue, column)
        self._rerate(member.root if member is not None else queue, column, at)

    def _mark(self, queue: str, column: FlavorResource) -> None:
        over, member = self._over.setdefault(column, set()), self._members.get(queue)
        nominal = member.quotas.get(column, (0, None))[0] if member is not None else 0
        (over.add if self._used[column][queue] > nominal else over.discard)(queue)

    def _settle(self, tree: str, column: FlavorResource, at: Millis) -> None:
        since, rates = self._rates[tree, column]
        at = max(since, at)
        length = self.window.clip(since, at)
        if length:
            for (borrower, lender), amount in rates.items():
                key = Lent(borrower, lender, *column)
                self.borrowed[key] = self.borrowed.get(key, 0) + amount * length
                for begin, part in self.cuts.stretches(self.window, since, at) if self.cuts is not None else ():
                    self.priced[begin, key] = self.priced.get((begin, key), 0) + amount * part
        self._rates[tree, column] = (at, rates)
        self._settled[tree, column] = at

    def _rerate(self, tree: str, column: FlavorResource, at: Millis) -> None:
        if (tree, column) in self._rates:
            self._settle(tree, column, at)
        rates = self._lending(tree, column) if self._over.get(column) else {}
        if rates:
            self._rates[tree, column] = (max(at, self._settled.get((tree, column), at)), rates)
        else:
            self._rates.pop((tree, column), None)

    def _lending(self, tree: str, column: FlavorResource) -> dict[tuple[str, str], int]:
        used = self._used.get(column, {})
        wants: list[tuple[str, int]] = []
        spare: list[tuple[str, int]] = []
        for member in self._trees.get(tree) or [_Member(tree, tree, {})]:
            nominal, limit = member.quotas.get(column, (0, None))
            left = nominal - used.get(member.name, 0)
            if left < 0:
                wants.append((member.name, -left))
            elif left:
                spare.append((member.name, left if limit is None else min(left, limit)))
        return pair_up(wants, share_out(sum(amount for _, amount in wants), spare)) if wants else {}

    def _regrow(self, at: Millis) -> None:
        """The quota tree has changed: sum up until now, and find every borrower and lender anew."""
        for tree, column in list(self._rates):
            self._settle(tree, column, at)
        self._rates.clear()
        self._members = {
            name: _Member(name, self._root(queue.cohort) or name, _quotas(queue.groups))
            for name, queue in sorted(self._queues.items())
        }
        cohorts = [
            _Member(COHORT + name, self._root(name), _quotas(cohort.groups))
            for name, cohort in sorted(self._cohorts.items())
        ]
        self._trees = {}
        for member in (*self._members.values(), *cohorts):
            self._trees.setdefault(member.root, []).append(member)
        for column, used in self._used.items():
            for queue in used:
                self._mark(queue, column)
            for tree in sorted({self._members[name].root if name in self._members else name for name in used}):
                self._rerate(tree, column, at)

    def _root(self, cohort: str) -> str:
        seen: set[str] = set()
        while cohort and cohort not in seen:
            seen.add(cohort)
            parent = self._cohorts[cohort].parent if cohort in self._cohorts else ""
            if not parent:
                break
            cohort = parent
        return COHORT + cohort if cohort else ""


def share_out(amount: int, spare: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """An amount over lenders in proportion to what each has to spare; what nobody has is `NOBODY`'s."""
    total = sum(left for _, left in spare)
    if total <= amount:
        return [*spare, *([(NOBODY, amount - total)] if amount > total else [])]
    return [(name, part) for name, part in in_proportion(amount, dict(spare)).items() if part]


def pair_up(wants: list[tuple[str, int]], gives: list[tuple[str, int]]) -> dict[tuple[str, str], int]:
    """How much each borrower has of each lender, in the order given; both sides add up to the same sum."""
    pairs: dict[tuple[str, str], int] = {}
    left = list(reversed(gives))
    for borrower, amount in wants:
        while amount and left:
            lender, has = left.pop()
            part = min(amount, has)
            pairs[borrower, lender] = part
            amount -= part
            if has > part:
                left.append((lender, has - part))
    return pairs


def _quotas(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, tuple[int, int | None]]:
    return {
        (quotas.flavor, quota.resource): (quota.nominal, quota.lending_limit)
        for group in groups
        for quotas in group.flavors
        for quota in quotas.quotas
    }
