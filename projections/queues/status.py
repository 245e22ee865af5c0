"""What Kueue shows of queues and cohorts: how many wait and run, what is reserved and used, and of whom how much is borrowed.

A pure question to the world, asked for all local queues of a cluster queue at once, at the cost of who waits and runs there.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from events.event import Millis
from events.quota import ClusterQueueObserved, CohortObserved, LocalQueueObserved, StopPolicy
from events.settings import SettingsObserved
from projections.checks.quota_automation import AUTOMATED
from projections.checks.state import ProvisioningState
from projections.fair_sharing.decay import BITS
from projections.fair_sharing.ledger import UsageRecord, settled
from projections.fair_sharing.share import share_of
from projections.fair_sharing.state import LedgerState
from projections.fair_sharing.usage_mode import counts_usage
from projections.queues.active_condition import ActiveCondition, check_active, cluster_queue_active, local_queue_active
from projections.queues.state import QueueState
from projections.queues.waiting import beside, in_line, stays_out
from projections.quota.columns import Column, Usage
from projections.quota.node import Node
from projections.quota.state import QuotaState
from projections.quota.tree import QuotaTree
from projections.set_aside.left_alone import queue_left_alone
from projections.set_aside.records import Aside
from projections.workloads.state import WorkloadState


class ResourceUse(msgspec.Struct, frozen=True):
    """How much of a resource is taken, in its units; and how much of that is borrowed."""

    resource: str
    total: int
    borrowed: int = 0


class FlavorUse(msgspec.Struct, frozen=True):
    """How much of a flavor's resources is taken."""

    flavor: str
    resources: tuple[ResourceUse, ...]


class PastUse(msgspec.Struct, frozen=True):
    """What a local queue has used lately, in units, as of a time."""

    consumed: dict[str, int]
    at: Millis


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of a cluster queue, or of a local queue."""

    uid: str
    generation: int = 0
    standing: ActiveCondition
    set_aside: str = ""
    """Why a service leaves the tree of a cluster queue alone; empty when none does."""
    pending: int
    reserving: int
    admitted: int
    reservation: tuple[FlavorUse, ...]
    usage: tuple[FlavorUse, ...]
    share: int | None = None
    """The weighted share of a cluster queue; None where shares do not count."""
    past: PastUse | None = None
    """The past usage of a local queue; None where it does not count."""
    within_budget: ActiveCondition | None = None
    """How its budgets stand; None where it has none."""
    quota_automation: ActiveCondition | None = None
    """Whether the quota of a cluster queue follows that of other clusters; None where nobody asks."""


class CohortStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a Cohort's status shows: its weighted share, without fair sharing None."""

    uid: str
    share: int | None


class OwnCheckStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of an admission check of ours."""

    uid: str
    generation: int
    standing: ActiveCondition


Status: TypeAlias = QueueStatus | CohortStatus | OwnCheckStatus


def check_status(world: ProvisioningState, name: str) -> OwnCheckStatus:
    """What is shown of an admission check of ours."""
    check = world.checks[name]
    return OwnCheckStatus(uid=check.uid, generation=check.generation, standing=check_active(world, name))


class Tally(msgspec.Struct):
    """The pending and the reserving workloads of one local queue."""

    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    reserved: Usage = {}
    used: Usage = {}


def tallies(world: QueueState, name: str) -> dict[str, Tally]:
    """The pending workloads of a cluster queue and those that hold its quota, by local queue."""
    found: dict[str, Tally] = {}
    workloads = world.workloads
    for key in (*in_line(world, name), *beside(world, name)):
        local_queue = workloads[key].local_queue
        tally = found.get(local_queue)
        if tally is None:
            tally = found[local_queue] = Tally()
        tally.pending += 1
    for key, usage in world.holders(name).usage.items():
        workload = workloads[key]
        tally = found.get(workload.local_queue)
        if tally is None:
            tally = found[workload.local_queue] = Tally()
        tally.reserving += 1
        _add(tally.reserved, usage)
        if workload.admitted:
            tally.admitted += 1
            _add(tally.used, usage)
    return found


def cluster_queue_status(world: QueueState, name: str, counted: Mapping[str, Tally]) -> QueueStatus:
    """What a ClusterQueue's status shows now: counts, reservations and use per flavor and resource, conditions and share."""
    queue, node = world.cluster_queues[name], world.quota.queues[name]
    used: Usage = {}
    for tally in counted.values():
        _add(used, tally.used)
    reserved = {column: amount for column, amount in enumerate(node.usage) if amount}
    return QueueStatus(
        uid=queue.uid,
        generation=queue.generation,
        standing=cluster_queue_active(world, name),
        set_aside=_set_aside(world.aside, world.quota, name),
        pending=sum(tally.pending for tally in counted.values()),
        reserving=sum(tally.reserving for tally in counted.values()),
        admitted=sum(tally.admitted for tally in counted.values()),
        reservation=_uses(world, queue, node, reserved),
        usage=_uses(world, queue, node, used),
        share=_share(world.settings, world.quota, node),
        quota_automation=_quota_automation(world, name),
    )


def _quota_automation(world: QueueState, name: str) -> ActiveCondition | None:
    settled = world.quota_automation.get(name)
    return None if settled is None else ActiveCondition(settled.reason == AUTOMATED, settled.reason, settled.message)


def _set_aside(aside: Mapping[str, Aside], quota: QuotaTree, name: str) -> str:
    return "; ".join(f"{one.message}. To do: {one.fix}" for one in queue_left_alone(aside, quota, name))


def local_queue_status(world: QueueState, key: str, tally: Tally, at: Millis) -> QueueStatus:
    """The status of a local queue; its past usage as of the last sampling."""
    local_queue = world.local_queues[key]
    queue = world.cluster_queues.get(local_queue.cluster_queue)
    return QueueStatus(
        uid=local_queue.uid,
        standing=local_queue_active(world, key),
        pending=tally.pending,
        reserving=tally.reserving,
        admitted=tally.admitted,
        reservation=() if queue is None else _uses(world, queue, None, tally.reserved),
        usage=() if queue is None else _uses(world, queue, None, tally.used),
        past=_past(world, local_queue, key, at),
    )


def without_cluster_queue(world: WorkloadState, key: str) -> Tally:
    """The pending workloads of a local queue whose cluster queue does not exist.

    Rule: docs/rules/queues.md#pending
    """
    local_queue = world.local_queues[key]
    waiting = [
        one
        for one in world.by_local_queue.get(key, ())
        if not stays_out((found := world.workloads[one]).spec) and not found.reserved and not found.finished
    ]
    return Tally(pending=len(waiting) if local_queue.stop is StopPolicy.NONE else 0)


def cohort_status(world: QuotaState, name: str) -> CohortStatus:
    """What a Cohort's status shows now."""
    return CohortStatus(
        uid=world.cohorts[name].uid, share=_share(world.settings, world.quota, world.quota.cohorts[name])
    )


def sampled_at(settings: SettingsObserved, at: Millis) -> Millis:
    """The last time, up to this one, at which past usage is shown; 0 where it does not count."""
    rule = settings.admission_fair_sharing
    return 0 if rule is None else at - at % max(rule.sampling, 1)


def _past(world: LedgerState, local_queue: LocalQueueObserved, key: str, at: Millis) -> PastUse | None:
    rule = world.settings.admission_fair_sharing
    queue = world.cluster_queues.get(local_queue.cluster_queue)
    if rule is None or queue is None or not counts_usage(world.settings):
        return None
    now = sampled_at(world.settings, at)
    ledger = settled(world.ledgers.get(key, UsageRecord(at=now)), rule, now)
    covered = {name for group in queue.groups for name in group.resources}
    consumed = {name: ledger.consumed.get(name, 0) >> BITS for name in sorted(covered | ledger.consumed.keys())}
    return PastUse(consumed, max(now, ledger.at))


def _share(settings: SettingsObserved, quota: QuotaTree, node: Node) -> int | None:
    if not settings.fair_sharing:
        return None
    return share_of(node, quota.columns.names).rounded()


def _uses(world: QuotaState, queue: ClusterQueueObserved, node: Node | None, usage: Usage) -> tuple[FlavorUse, ...]:
    """Every flavor in the order of the specification, every resource by name, also where nothing is taken."""
    uses: list[FlavorUse] = []
    lends = node is not None and node.parent is not None
    for group in queue.groups:
        for flavor in group.flavors:
            resources: list[ResourceUse] = []
            for quota in sorted(flavor.quotas, key=lambda one: one.resource):
                total = _amount(world.quota, usage, flavor.flavor, quota.resource)
                resources.append(ResourceUse(quota.resource, total, max(total - quota.nominal, 0) if lends else 0))
            uses.append(FlavorUse(flavor.flavor, tuple(resources)))
    return tuple(uses)


def _amount(quota: QuotaTree, usage: Usage, flavor: str, resource: str) -> int:
    column = quota.columns.known(flavor, resource)
    return 0 if column is None else usage.get(column, 0)


def _add(total: Usage, more: Mapping[Column, int]) -> None:
    for column, amount in more.items():
        total[column] = total.get(column, 0) + amount


def ancestors(quota: QuotaTree, cohorts: Mapping[str, CohortObserved], queues: Iterable[str]) -> list[str]:
    """The cohorts of the trees that these cluster queues are in, as far as there are objects of them."""
    roots = {quota.root_of(name) for name in queues}
    return [name for name, node in sorted(quota.cohorts.items()) if node.root.key in roots and name in cohorts]
