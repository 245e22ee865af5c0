"""Which function checks which recorded suite of Kueue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conformance.kueue.fairness import FAIRNESS_SUITES
from tests.conformance.kueue.flavors import FLAVOR_SUITES
from tests.conformance.kueue.making_room import MAKING_ROOM_SUITES
from tests.conformance.kueue.over_time import OVER_TIME_SUITES
from tests.conformance.kueue.queues import QUEUE_SUITES
from tests.conformance.kueue.reconciling import RECONCILE_SUITES
from tests.conformance.kueue.scheduling import SCHEDULING_SUITES
from tests.conformance.kueue.topology import TOPOLOGY_SUITES
from tests.conformance.kueue.validation import VALIDATION_SUITES
from tests.conformance.runner import Suite

Case = dict[str, Any]

CHECKS: dict[str, Callable[[Case], str | None]] = {
    **FAIRNESS_SUITES,
    **FLAVOR_SUITES,
    **MAKING_ROOM_SUITES,
    **OVER_TIME_SUITES,
    **QUEUE_SUITES,
    **RECONCILE_SUITES,
    **SCHEDULING_SUITES,
    **TOPOLOGY_SUITES,
    **VALIDATION_SUITES,
}


def kueue_suite(path: Path, document: list[Case]) -> Suite:
    """The suite in one file."""
    return Suite(
        name=path.stem,
        path=path,
        cases=[(str(case.get("id") or case["name"]), case) for case in document],
        check=CHECKS.get(path.stem),
        why_not=why_not,
    )


def why_not(case: Case) -> str | None:
    """Why a case is out of scope, or None."""
    inputs = case.get("inputs") or {}
    if case["suite"] == "TestAssignment_TotalRequestsFor" and "Replacement" in case["name"]:
        return "the slice that is replaced was not recorded"
    if inputs.get("admission_error") or inputs.get("patch_status_err"):
        return "a decision stands once it is on the log; a write that fails is tried again by the applier"
    return "it needs set-up that was not recorded" if (case.get("inputs") or {}).get("has_before_reconcile") else None
