"""Suites about quota, victims and whole cycles, checked with the production deciders."""

from collections.abc import Callable, Collection
from typing import Any

from events.quantity import to_units
from events.quota import PreemptionPolicy
from projections.preemption.policy import satisfies_policy
from projections.workloads.lifecycle import FINISHED, Workload
from projections.workloads.slices import REPLACED
from services.applier.manifests import workload_status
from services.queue_manager.reconcile import reconcile
from services.watcher.workloads.workload_objects import workload_state
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up
from tests.conformance.kueue.shown import all_shown, events_told, under_all_gates

Case = dict[str, Any]


def available(case: Case) -> str | None:
    """What each queue may use now, and could use if nobody used anything."""
    at = CaseWorld(case)
    for name, usage in case["inputs"]["usage"].items():
        at.world.quota.add_usage(name, at.by_column(usage))
    for word, question in (("available", "available"), ("potentially_available", "potential")):
        for name, wanted in case["want"][word].items():
            node = at.world.quota.queues[name]
            for column, amount in at.by_column(wanted).items():
                found = getattr(node, question)(column)
                if found != amount:
                    return f"{name} {at.world.quota.columns.names[column]}: {word} {found}, recorded {amount}"
    return None


def satisfies(case: Case) -> str | None:
    """Whether a policy lets one workload preempt the other."""
    inputs = case["inputs"]
    at = CaseWorld(case)
    found = satisfies_policy(
        PreemptionPolicy(inputs["policy"]),
        _workload(inputs["preemptor"]),
        _workload(inputs["candidate"]),
        at.world.settings,
    )
    return None if found is case["want"]["result"] else f"found {found}"


def cycle(case: Case) -> str | None:
    """One scheduling cycle over all queues: who holds quota after it, who waits where, and what everybody is told."""
    return under_all_gates(case, _one_cycle)


def _one_cycle(case: Case) -> str | None:
    at, want = CaseWorld(case), case["want"]
    line_up(at)
    at.cycle()
    return (
        held(at, want.get("assignments") or {})
        or _waiting(at, want)
        or all_shown(at, want["workloads"])
        or events_told(at, case)
    )


def topology_cycle(case: Case) -> str | None:
    """One scheduling cycle with pods that are placed by topology: who holds which domains after it."""
    return under_all_gates(case, _one_topology_cycle)


def _one_topology_cycle(case: Case) -> str | None:
    at, want = CaseWorld(case), case["want"]
    line_up(at)
    before = {key for key, one in at.world.workloads.items() if one.admitted and not one.second_pass.unhealthy_nodes}
    at.cycle()
    for one in list(at.world.workloads.values()):
        if one.second_pass.unhealthy_nodes:
            at.fold(reconcile(at.world, one, at.now))
    wanted = want.get("new_assignments") or {}
    return (
        held(at, wanted, without=before)
        or placed(at, wanted)
        or _waiting(at, want)
        or (all_shown(at, want["workloads"]) if want.get("workloads") else None)
        or events_told(at, case)
    )


def placed(at: CaseWorld, wanted: Case) -> str | None:
    """Which domains the pods of each workload hold, as they are stored in its status."""
    for key, recorded in wanted.items():
        shown = workload_status(at.world.workloads[key], at.world.settings)["admission"]["podSetAssignments"]
        for found, one in zip(shown, recorded["podSetAssignments"], strict=True):
            for field in ("topologyAssignment", "delayedTopologyRequest"):
                if found.get(field) != one.get(field):
                    return f"{key} {one['name']}: {field} {found.get(field)}, recorded {one.get(field)}"
    return None


def held(at: CaseWorld, wanted: Case, without: Collection[str] = ()) -> str | None:
    """Who holds quota, and of what.

    Kueue's cache holds a slice that was replaced in the cycle until its end is seen; here it ends with the replacement.
    """
    holders = {
        key: one
        for key, one in at.world.workloads.items()
        if one.admission is not None and (not one.finished or _replaced(one)) and key not in without
    }
    if set(holders) != set(wanted):
        return f"holding quota: {sorted(holders)}, recorded {sorted(wanted)}"
    for key, recorded in wanted.items():
        admission = holders[key].admission
        if admission is None or admission.cluster_queue != recorded["clusterQueue"]:
            return f"{key} is in another queue than {recorded['clusterQueue']}"
        found = [(one.name, one.count, one.flavors, one.usage) for one in admission.assignments]
        told = [
            (
                one["name"],
                one.get("count", 0),
                one.get("flavors") or {},
                {name: to_units(name, text) for name, text in (one.get("resourceUsage") or {}).items()},
            )
            for one in recorded["podSetAssignments"]
        ]
        if found != told:
            return f"{key}: {found}, recorded {told}"
    return None


def _replaced(workload: Workload) -> bool:
    return (over := workload.condition(FINISHED)) is not None and over.reason == REPLACED


def _waiting(at: CaseWorld, want: Case) -> str | None:
    for word, place in (("left", "waiting"), ("inadmissible_left", "parked")):
        wanted = {name: sorted(keys) for name, keys in (want.get(word) or {}).items() if keys}
        found = {
            name: keys
            for name in at.world.lines.names()
            if name and (keys := sorted(getattr(at.world.lines.of(name), place)))
        }
        if found != wanted:
            return f"{word}: {found}, recorded {wanted}"
    return None


def _workload(value: Case) -> Workload:
    state = workload_state(value)
    adopted = {one.type: one for one in state.adopted.conditions} if state.adopted is not None else {}
    return Workload(
        key=state.workload,
        uid=state.uid,
        owner=state.owner,
        created_at=state.created_at,
        generation=0,
        spec=state.spec,
        conditions=adopted,
    )


SCHEDULING_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestAvailable": available,
    "TestSatisfiesPreemptionPolicy": satisfies,
    "TestSchedule": cycle,
    "TestScheduleConcurrentAdmission": cycle,
    "TestScheduleForTAS": topology_cycle,
    "TestScheduleForTASCohorts": topology_cycle,
    "TestScheduleForTASPreemption": topology_cycle,
}
