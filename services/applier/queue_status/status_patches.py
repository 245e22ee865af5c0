"""Which statuses of queues and cohorts are to be written, and what each looks like; pure.

A queue's status is computed only when one of its workloads was touched, or when its pending workloads, its holders, its quota
or its own object have changed; a status that comes out the same is not written again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from events.event import Millis
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.quantity import from_units
from events.timestamp import format_timestamp
from projections.checks.quota_automation import CONDITION as QUOTA_AUTOMATION
from projections.configuration import Configuration
from projections.folds.set_aside import SET_ASIDE, TAKEN_UP
from projections.partitions.homes import leads, owns_queue
from projections.queues.active_condition import ActiveCondition, cluster_queue_active, is_ours
from projections.queues.budget_condition import (
    WITHIN_BUDGET,
    BudgetedQueueState,
    cluster_queue_within_budget,
    local_queue_within_budget,
)
from projections.queues.status import (
    FlavorUse,
    OwnCheckStatus,
    QueueStatus,
    Status,
    Tally,
    ancestors,
    check_status,
    cluster_queue_status,
    cohort_status,
    local_queue_status,
    sampled_at,
    tallies,
    without_cluster_queue,
)
from projections.set_aside.left_alone import queue_left_alone
from projections.workloads.state import WorkloadState

QueuePlace: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of an object."""
ACTIVE = "Active"
_TAKEN_UP = "It or what it depends on has changed: it is tried again"


class Statuses:
    """The last status of each object, and the versions by which a change is noticed."""

    def __init__(self) -> None:
        self.reported: dict[QueuePlace, Status] = {}
        self._signs: dict[str, tuple[Any, ...]] = {}
        self._touched: set[str] = set()

    def touch(self, world: WorkloadState, workloads: Iterable[str]) -> None:
        """Mark the queues of these workloads for a new look."""
        for key in workloads:
            workload = world.workloads.get(key)
            if workload is None:
                continue
            local_queue = world.local_queues.get(workload.local_queue)
            self._touched.add(workload.line or (local_queue.cluster_queue if local_queue is not None else ""))
            if workload.admission is not None:
                self._touched.add(workload.admission.cluster_queue)

    def changed(self, world: BudgetedQueueState, at: Millis) -> dict[QueuePlace, Status]:
        """By object, the statuses that differ from the last ones; they count as written from then on."""
        queues = self._stale(world, at)
        found: dict[QueuePlace, Status] = {}
        for name in queues:
            found |= _of_cluster_queue(world, name, at)
        for name in ancestors(world.quota, world.cohorts, queues):
            found["Cohort", "", name] = cohort_status(world, name)
        for key in sorted(world.local_queues):
            if leads(world) and world.local_queues[key].cluster_queue not in world.cluster_queues:
                found[_local_queue_place(key)] = _of_local_queue(world, key, without_cluster_queue(world, key), at)
        for name in sorted(world.checks):
            if leads(world) and is_ours(world, name):
                found["AdmissionCheck", "", name] = check_status(world, name)
        for place in [place for place in self.reported if not _exists(world, place)]:
            del self.reported[place]
        news = {place: status for place, status in found.items() if self.reported.get(place) != status}
        self.reported.update(news)
        return news

    def _stale(self, world: BudgetedQueueState, at: Millis) -> list[str]:
        touched, self._touched = self._touched, set()
        stale: list[str] = []
        for name in sorted(world.cluster_queues):
            if not owns_queue(world, name):
                continue
            signs = _signs(world, name, at)
            if name in touched or self._signs.get(name) != signs:
                self._signs[name] = signs
                stale.append(name)
        for name in [name for name in self._signs if name not in world.cluster_queues]:
            del self._signs[name]
        return stale


def _signs(world: BudgetedQueueState, name: str, at: Millis) -> tuple[Any, ...]:
    line = world.lines.of(name)
    node = world.quota.queues[name]
    return (
        world.cluster_queues[name],
        cluster_queue_active(world, name),
        queue_left_alone(world.aside, world.quota, name),
        world.quota_automation.get(name),
        tuple(world.local_queues[key] for key in world.local_queues_of.get(name, ()) if key in world.local_queues),
        tuple(world.cohorts.get(one.name) for one in node.path[1:]),
        len(line.waiting),
        line.parked_count,
        len(world.holders(name)),
        world.quota.changed(name),
        world.settings.fair_sharing,
        sampled_at(world.settings, at),
        _budget_signs(world, name, at) if world.budgets else (),
    )


def _budget_signs(world: BudgetedQueueState, name: str, at: Millis) -> tuple[ActiveCondition | None, ...]:
    doors = (key for key in world.local_queues_of.get(name, ()) if key in world.local_queues)
    return (
        cluster_queue_within_budget(world, name, at),
        *(local_queue_within_budget(world, key, at) for key in doors),
    )


def _of_cluster_queue(world: BudgetedQueueState, name: str, at: Millis) -> dict[QueuePlace, Status]:
    counted = tallies(world, name)
    status = cluster_queue_status(world, name, counted)
    if world.budgets:
        status = replace(status, within_budget=cluster_queue_within_budget(world, name, at))
    found: dict[QueuePlace, Status] = {("ClusterQueue", "", name): status}
    for key in sorted(world.local_queues_of.get(name, ())):
        if key in world.local_queues:
            found[_local_queue_place(key)] = _of_local_queue(world, key, counted.get(key, Tally()), at)
    return found


def _of_local_queue(world: BudgetedQueueState, key: str, tally: Tally, at: Millis) -> Status:
    status = local_queue_status(world, key, tally, at)
    return replace(status, within_budget=local_queue_within_budget(world, key, at)) if world.budgets else status


def _local_queue_place(key: str) -> QueuePlace:
    namespace, _, name = key.partition("/")
    return ("LocalQueue", namespace, name)


def _exists(world: Configuration, place: QueuePlace) -> bool:
    match place:
        case "ClusterQueue", _, name:
            return name in world.cluster_queues
        case "Cohort", _, name:
            return name in world.cohorts
        case "AdmissionCheck", _, name:
            return name in world.checks and is_ours(world, name)
        case _, namespace, name:
            return f"{namespace}/{name}" in world.local_queues


def status_patch(place: QueuePlace, status: Status, found: JsonObject, at: Millis) -> JsonObject | None:
    """The merge patch that brings the status of an object to where it should be; None when it is there.

    Conditions of other types stay, and the time since when Active is what it is.
    """
    wanted = _plain(place[0], status)
    there = object_at(found, "status")
    if isinstance(status, QueueStatus | OwnCheckStatus):
        conditions = objects_at(there, "conditions")
        ours = [_condition(ACTIVE, status.standing, status.generation, conditions, at)]
        aside = _aside(status, conditions)
        if aside is not None:
            ours.append(_condition(SET_ASIDE, aside, status.generation, conditions, at))
        if isinstance(status, QueueStatus) and status.within_budget is not None:
            ours.append(_condition(WITHIN_BUDGET, status.within_budget, status.generation, conditions, at))
        if isinstance(status, QueueStatus) and status.quota_automation is not None:
            ours.append(_condition(QUOTA_AUTOMATION, status.quota_automation, status.generation, conditions, at))
        # Without a budget, or a check of other clusters, these are not shown any more.
        named = [*(one["type"] for one in ours), WITHIN_BUDGET, QUOTA_AUTOMATION]
        wanted["conditions"] = [*ours, *(one for one in conditions if one.get("type") not in named)]
    fresh = {name: value for name, value in wanted.items() if there.get(name) != value}
    return {"status": fresh} if fresh else None


def _plain(kind: str, status: Status) -> JsonObject:
    if isinstance(status, OwnCheckStatus):
        return {}
    share = None if not isinstance(status, QueueStatus) or status.past is None else 0
    weighted = status.share if status.share is not None else share
    sharing: JsonObject | None = None if weighted is None else {"weightedShare": weighted}
    if not isinstance(status, QueueStatus):
        return {"fairSharing": sharing}
    if sharing is not None and status.past is not None:
        consumed = {name: from_units(name, amount) for name, amount in status.past.consumed.items()}
        sharing["admissionFairSharingStatus"] = {
            "consumedResources": consumed,
            "lastUpdate": format_timestamp(status.past.at),
        }
    borrows = kind == "ClusterQueue"
    return {
        "pendingWorkloads": status.pending,
        "reservingWorkloads": status.reserving,
        "admittedWorkloads": status.admitted,
        "flavorsReservation": [_flavor(one, borrows=borrows) for one in status.reservation],
        "flavorsUsage": [_flavor(one, borrows=borrows) for one in status.usage],
        "fairSharing": sharing,
    }


def _flavor(one: FlavorUse, *, borrows: bool) -> JsonObject:
    return {
        "name": one.flavor,
        "resources": [
            {
                "name": use.resource,
                "total": from_units(use.resource, use.total),
                **({"borrowed": from_units(use.resource, use.borrowed)} if borrows else {}),
            }
            for use in one.resources
        ],
    }


def _aside(status: QueueStatus | OwnCheckStatus, conditions: Sequence[JsonMapping]) -> ActiveCondition | None:
    """The condition that a service has failed on the queue's tree; None when it never has."""
    if isinstance(status, QueueStatus) and status.set_aside:
        return ActiveCondition(True, "DecisionFailed", status.set_aside)
    was_set_aside = any(one.get("type") == SET_ASIDE for one in conditions)
    return ActiveCondition(False, TAKEN_UP, _TAKEN_UP) if was_set_aside else None


def _condition(
    kind: str, condition: ActiveCondition, generation: int, conditions: Sequence[JsonMapping], at: Millis
) -> JsonObject:
    before = object_at(next((one for one in conditions if one.get("type") == kind), None))
    status = "True" if condition.active else "False"
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": kind,
        "status": status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since or format_timestamp(at),
        **({"observedGeneration": generation} if generation else {}),
    }
