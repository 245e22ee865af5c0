"""How long each queue held quota, and whose: borrowed and lent time on both sides, in exact units x milliseconds.

Who borrows of whom is found in `lending_column.py`. What the console shows of borrowing goes by another rule, cohort by cohort, each of
which serves with its own quota first (`projections/quota/borrowing_flows.py`).
"""

from collections.abc import Iterator

import msgspec

from events.event import Millis
from events.quota import ClusterQueueObserved, CohortObserved, ResourceGroup
from projections.billing.entries.entry import Window
from projections.billing.entries.time_cuts import TimeCuts
from projections.billing.quota.lending_column import LendingBound, LendingColumn, LendingMember
from projections.billing.quota.quota_times import QuotaTimes
from projections.quota.columns import FlavorResource

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
    above: tuple[str, ...]
    """The cohorts that it is in, the innermost first; a cohort is in itself."""
    quotas: dict[FlavorResource, tuple[int, int | None]]

    @property
    def root(self) -> str:
        """The name of its tree."""
        return COHORT + self.above[-1] if self.above else self.name


class QuotaBook:
    """Sums of units x milliseconds within a window."""

    def __init__(self, window: Window, cuts: TimeCuts | None = None) -> None:
        self.window, self.cuts = window, cuts
        self.held: dict[HeldQuotaKey, int] = {}
        self.times = QuotaTimes()
        self._queues: dict[str, ClusterQueueObserved] = {}
        self._cohorts: dict[str, CohortObserved] = {}
        self._cohort_quotas: dict[str, dict[FlavorResource, tuple[int, int | None]]] = {}
        self._members: dict[str, _Member] = {}
        self._trees: dict[str, list[_Member]] = {}
        self._used: dict[FlavorResource, dict[str, int]] = {}
        self._columns: dict[tuple[str, FlavorResource], LendingColumn] = {}
        """By tree, flavor and resource, as trees stand now."""
        self._past: list[tuple[FlavorResource, LendingColumn]] = []
        """The same of trees as they stood before."""
        self._settled: dict[tuple[str, FlavorResource], Millis] = {}
        """Up to when those are summed up."""
        self._holds: dict[str, tuple[Millis, str, str, dict[FlavorResource, int]]] = {}

    @property
    def borrowed(self) -> dict[Lent, int]:
        """Units x milliseconds that one queue had of another, or of a cohort."""
        found: dict[Lent, int] = {}
        for column, lending in self._lending():
            for pair, amount in lending.sums.items():
                key = Lent(*pair, *column)
                found[key] = found.get(key, 0) + amount
        return found

    @property
    def priced(self) -> dict[tuple[Millis, Lent], int]:
        """The same between moments at which its price may change; only where time is cut at those."""
        found: dict[tuple[Millis, Lent], int] = {}
        for column, lending in self._lending():
            for (begin, pair), amount in lending.priced.items():
                key = (begin, Lent(*pair, *column))
                found[key] = found.get(key, 0) + amount
        return found

    def _lending(self) -> list[tuple[FlavorResource, LendingColumn]]:
        return [*self._past, *((column, lending) for (_, column), lending in self._columns.items())]

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
        for lending in self._columns.values():
            lending.settle(at)

    def _sum_up(self, since: Millis, tenant: str, queue: str, amounts: dict[FlavorResource, int], at: Millis) -> None:
        length = self.window.clip(since, at)
        if length:
            for (flavor, resource), amount in amounts.items():
                key = HeldQuotaKey(tenant, queue, flavor, resource)
                self.held[key] = self.held.get(key, 0) + amount * length

    def _change(self, queue: str, column: FlavorResource, amount: int, at: Millis) -> None:
        used = self._used.setdefault(column, {})
        member = self._members.get(queue)
        tree = member.root if member is not None else queue
        found = self._columns.get((tree, column)) or self._begin(tree, column, at)
        used[queue] = used.get(queue, 0) + amount
        found.change(queue, amount, at)

    def _begin(self, tree: str, column: FlavorResource, at: Millis) -> LendingColumn:
        of_tree = self._trees.get(tree) or [_Member(tree, (), {})]
        members = [self._lending_member(one, column) for one in of_tree]
        used = self._used.get(column, {})
        found = LendingColumn(members, used, self.window, self.cuts, self._bounds(of_tree, column))
        found.begin(at, self._settled.get((tree, column), 0))
        self._columns[tree, column] = found
        return found

    def _lending_member(self, member: _Member, column: FlavorResource) -> LendingMember:
        nominal, limit = member.quotas.get(column, (0, None))
        if member.name.startswith(COHORT):
            limit = None  # It is for all of the cohort, and for others alone.
        return LendingMember(member.name, nominal, limit, next(self._limited(member.above, column), ""))

    def _bounds(self, members: list[_Member], column: FlavorResource) -> list[LendingBound]:
        """Cohorts with a lending limit, those that are deeper in the tree first."""
        found: list[LendingBound] = []
        for one in sorted(members, key=lambda one: (-len(one.above), one.name)):
            limit = one.quotas.get(column, (0, None))[1]
            if one.name.startswith(COHORT) and limit is not None:
                found.append(LendingBound(one.name, limit, next(self._limited(one.above[1:], column), "")))
        return found

    def _limited(self, cohorts: tuple[str, ...], column: FlavorResource) -> Iterator[str]:
        for name in cohorts:
            known = self._cohort_quotas.get(name, {}).get(column)
            if known is not None and known[1] is not None:
                yield COHORT + name

    def _regrow(self, at: Millis) -> None:
        """The quota tree has changed: sum up until now, and find every borrower and lender anew."""
        for (tree, column), lending in self._columns.items():
            lending.settle(at)
            self._settled[tree, column] = lending.settled
            self._past.append((column, lending))
        self._columns.clear()
        self._members = {
            name: _Member(name, self._above(queue.cohort), _quotas(queue.groups))
            for name, queue in sorted(self._queues.items())
        }
        self._cohort_quotas = {name: _quotas(cohort.groups) for name, cohort in sorted(self._cohorts.items())}
        cohorts = [_Member(COHORT + name, self._above(name), quotas) for name, quotas in self._cohort_quotas.items()]
        self._trees = {}
        for member in (*self._members.values(), *cohorts):
            self._trees.setdefault(member.root, []).append(member)
        for column, used in self._used.items():
            for tree in sorted({self._members[name].root if name in self._members else name for name in used}):
                self._begin(tree, column, at)

    def _above(self, cohort: str) -> tuple[str, ...]:
        """A cohort and those that it is in, up to the root of the tree."""
        found: list[str] = []
        while cohort and cohort not in found:
            found.append(cohort)
            cohort = self._cohorts[cohort].parent if cohort in self._cohorts else ""
        return tuple(found)


def _quotas(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, tuple[int, int | None]]:
    return {
        (quotas.flavor, quota.resource): (quota.nominal, quota.lending_limit)
        for group in groups
        for quotas in group.flavors
        for quota in quotas.quotas
    }
