"""Suites that run several cycles, with something changing in between, checked with the production deciders."""

from collections.abc import Callable
from typing import Any

from events.workload import ConditionStatus, WorkloadDeleted, WorkloadParked, WorkloadRequeued
from projections.workloads import QUOTA_RESERVED
from services.preemptor.decide import Preemptor
from services.queue_manager.lining_up import decide_waiting
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.scheduling import cycle, held, line_up

Case = dict[str, Any]


def cycle_after_cycle(case: Case) -> str | None:
    """A cycle; some workloads go; another cycle."""
    at, want = CaseWorld(case), case["want"]
    _run(at)
    told = _as_recorded(at, want)
    if told:
        return told
    for gone in (case.get("inputs") or {}).get("delete_workloads") or ():
        at.fold([WorkloadDeleted(workload=f"{gone['namespace']}/{gone['name']}")])
    _run(at)
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


def _run(at: CaseWorld) -> None:
    line_up(at)
    at.cycle()
    at.decided(Preemptor())


def _as_recorded(at: CaseWorld, want: Case) -> str | None:
    summary = want["summary"]
    evicted = sorted(key for key, one in at.world.workloads.items() if one.evicted)
    if evicted != sorted(one["workload"] for one in summary["evicted"]):
        return f"evicted {evicted}, recorded {summary['evicted']}"
    for key, recorded in summary["pending"].items():
        told = at.world.workloads[key].condition(QUOTA_RESERVED)
        found = None if told is None or told.status is ConditionStatus.TRUE else (told.reason, told.message)
        if found != (recorded["reason"], recorded["message"]):
            return f"{key}: {found}, recorded {recorded}"
    return None


OVER_TIME_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestScheduleRecomputePreemptionTargets": cycle,
    "TestLastSchedulingContext": cycle_after_cycle,
    "TestBackoffWaitingTimeExpired": backoff_over,
}
