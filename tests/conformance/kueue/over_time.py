"""Suites that run several cycles, with something changing in between, checked with the production deciders."""

from collections.abc import Callable
from typing import Any

from events.workload import WorkloadDeleted, WorkloadParked, WorkloadRequeued
from services.queue_manager.enqueue import decide_waiting
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up
from tests.conformance.kueue.scheduling import cycle, held
from tests.conformance.kueue.shown import all_shown, under_all_gates

Case = dict[str, Any]


def cycle_after_cycle(case: Case) -> str | None:
    """A cycle; some workloads go; another cycle."""
    return under_all_gates(case, _two_cycles)


def _two_cycles(case: Case) -> str | None:
    at, want = CaseWorld(case), case["want"]
    line_up(at)
    at.cycle()
    told = all_shown(at, want["workloads"])
    if told:
        return told
    for gone in (case.get("inputs") or {}).get("delete_workloads") or ():
        at.fold([WorkloadDeleted(workload=f"{gone['namespace']}/{gone['name']}")])
    line_up(at)
    at.cycle()
    evicted = {key for key, one in at.world.workloads.items() if one.evicted}
    return held(at, want["admissions_on_second_schedule"], without=evicted)


def scan_goes_on(case: Case) -> str | None:
    """Cycle after cycle the flavors of one whose pods have no room in the first one's topology, while quota changes."""
    at, want = CaseWorld(case), case["want"]
    (queue,) = case["objects"]["cluster_queues"]
    for number in range(case["config"]["cycles"]):
        line_up(at)
        at.cycle()
        if not case["inputs"]["no_churn"]:
            at.see("ClusterQueue", _with_second_flavor(queue, "4" if number % 2 else "5"))
    for name in ("pending", "blocker"):
        admission = at.world.workloads[f"default/{name}"].admission
        found = "" if admission is None else admission.assignments[0].flavors["cpu"]
        if found != want[f"{name}_flavor"]:
            return f"{name}: {found!r}, recorded {want[f'{name}_flavor']!r}"
    return None


def _with_second_flavor(queue: Case, quota: str) -> Case:
    (group,) = queue["spec"]["resourceGroups"]
    first, second = group["flavors"]
    changed = {**second, "resources": [{**second["resources"][0], "nominalQuota": quota}]}
    return {**queue, "spec": {**queue["spec"], "resourceGroups": [{**group, "flavors": [first, changed]}]}}


def backoff_over(case: Case) -> str | None:
    """Whether a workload has waited long enough after it was evicted."""
    at = CaseWorld(case)
    said = decide_waiting(at.world, at.submitted(case["inputs"]["workload_info"]["obj"]), at.now)
    found = not any(
        isinstance(one, WorkloadRequeued) or (isinstance(one, WorkloadParked) and one.reason == "Backoff")
        for one in said
    )
    return None if found is case["want"]["result"] else f"found {found}"


OVER_TIME_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestScheduleRecomputePreemptionTargets": cycle,
    "TestLastSchedulingContext": cycle_after_cycle,
    "TestBackoffWaitingTimeExpired": backoff_over,
    "TestScheduleForPreserveFlavorScanProgress": scan_goes_on,
}
