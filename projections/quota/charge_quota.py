"""What a workload holds of the quota: charged when it is reserved, given back when it is released."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from events.amount import multiply
from events.pod_set import PodSet
from events.workload import PodSetAssignment
from projections.quota.columns import Column, Columns, FlavorResource, Usage
from projections.quota.holders import QuotaHolders
from projections.quota.tree import QuotaTree
from projections.trail import Trail
from projections.workloads.lifecycle import Workload


def usage_of(workload: Workload, columns: Columns) -> Usage:
    """The usage charged for a workload that holds quota, less its reclaimed pods.

    Rule: docs/rules/quota.md#charged-usage
    """
    admission = workload.admission
    return {} if admission is None else columns.numbered(charged_amounts(admission.assignments, admission.given_back))


def done_when_let_in(
    asked: Iterable[PodSet], assignments: Iterable[PodSetAssignment], done: Mapping[str, int]
) -> dict[str, int]:
    """By pod set, how many pods were done when others let it in with these assignments; fewer than none where these are for more than it asks for."""
    counts = {one.name: one.count for one in asked}
    found = {one.name: min(done.get(one.name, 0), counts.get(one.name, one.count) - one.count) for one in assignments}
    return {name: count for name, count in found.items() if count}


def given_back_by(done: Mapping[str, int], before: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    """By pod set, how many pods of those that quota was reserved for need it no more, now that so many are done.

    `before` were done when it was reserved; what was given back once is not taken again, whatever is said later.
    """
    beyond = {name: count - before.get(name, 0) for name, count in {**dict.fromkeys(before, 0), **done}.items()}
    found = {name: max(count, known.get(name, 0)) for name, count in {**dict.fromkeys(known, 0), **beyond}.items()}
    return {name: count for name, count in sorted(found.items()) if count > 0}


def charged_amounts(
    assignments: Iterable[PodSetAssignment], reclaimed: Mapping[str, int] = MappingProxyType({})
) -> dict[FlavorResource, int]:
    """What is charged for pod sets by flavor and resource, less so many pods of each that are done; what has no flavor is not charged."""
    amounts: dict[FlavorResource, int] = {}
    for one in assignments:
        for resource, amount in remaining_usage(one, reclaimed.get(one.name, 0)).items():
            flavor = one.flavors.get(resource)
            if flavor is not None:
                amounts[flavor, resource] = amounts.get((flavor, resource), 0) + amount
    return amounts


def difference(usage: Mapping[Column, int], held: Mapping[Column, int]) -> Usage:
    """How much more the usage is than what is held already, by column; nothing where it is less."""
    return {column: max(amount - held.get(column, 0), 0) for column, amount in usage.items()}


def remaining_usage(assignment: PodSetAssignment, reclaimed: int) -> dict[str, int]:
    """The usage of a pod set when so many of its pods are done: divided first, then multiplied, as Kueue does."""
    left = max(assignment.count - reclaimed, 0)
    if left == assignment.count or assignment.count == 0:
        return assignment.usage
    return {resource: multiply(amount // assignment.count, left) for resource, amount in assignment.usage.items()}


def left_done(done: Mapping[str, int], before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By pod set, how many of so many pods count as done in a slice of another size: as many are needed as before, or as it has.

    A job that becomes smaller first does without those that are done.
    """
    found = {name: count - (before.get(name, 0) - after.get(name, 0)) for name, count in done.items()}
    return {name: count for name, count in found.items() if count > 0}


def charge_quota(quota: QuotaTree, holding: dict[str, QuotaHolders], trail: Trail, workload: Workload) -> None:
    """Charge the workload's usage to its cluster queue."""
    admission = workload.admission
    if admission is None:
        return
    usage = usage_of(workload, quota.columns)
    _holders(holding, admission.cluster_queue).add(trail, workload, usage)
    quota.add_usage(admission.cluster_queue, usage)


def release_quota(quota: QuotaTree, holding: dict[str, QuotaHolders], trail: Trail, workload: Workload) -> bool:
    """Return the workload's usage; whether any was still charged."""
    charged = _charged(holding, workload)
    if charged is None:
        return False
    charged.holders.remove(trail, workload.key)
    quota.remove_usage(charged.cluster_queue, charged.usage)
    return True


def recharge(holding: dict[str, QuotaHolders], quota: QuotaTree, trail: Trail, workload: Workload) -> None:
    """Charge what the workload holds now, after some of its pods were reclaimed, instead of what it held."""
    charged = _charged(holding, workload)
    if charged is None:
        return
    after = usage_of(workload, quota.columns)
    charged.holders.add(trail, workload, after)
    quota.remove_usage(charged.cluster_queue, charged.usage)
    quota.add_usage(charged.cluster_queue, after)


class QuotaCharge(msgspec.Struct, frozen=True):
    """What a workload is charged with, and where."""

    cluster_queue: str
    holders: QuotaHolders
    usage: Usage


def _charged(holding: dict[str, QuotaHolders], workload: Workload) -> QuotaCharge | None:
    """The charge of a workload; None when it is charged to no cluster queue."""
    if workload.admission is None:
        return None
    cluster_queue = workload.admission.cluster_queue
    holders = _holders(holding, cluster_queue)
    usage = holders.usage.get(workload.key)
    return None if usage is None else QuotaCharge(cluster_queue, holders, usage)


def _holders(holding: dict[str, QuotaHolders], cluster_queue: str) -> QuotaHolders:
    found = holding.get(cluster_queue)
    if found is None:
        found = holding[cluster_queue] = QuotaHolders()
    return found
