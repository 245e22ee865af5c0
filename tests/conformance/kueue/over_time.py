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
}
