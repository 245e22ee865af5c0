"""The TestValidate* suites: what the webhooks refuse, by type, field and named rule."""

from collections.abc import Callable
from typing import Any

from events.settings import SettingsObserved
from services.validation.kinds import cluster_queue, cohort, flavor, workload, workload_update
from services.validation.problem import Problem

Case = dict[str, Any]


def _settings(case: Case) -> SettingsObserved:
    return SettingsObserved(gates=case["gates_non_default"])


def _compare(case: Case, problems: list[Problem]) -> str | None:
    want = case["want"]
    if want["valid"] != (not problems):
        return f"valid: expected {want['valid']}, found {[(one.code, one.field, one.what) for one in problems]}"
    errors = want.get("err")
    if not isinstance(errors, list):
        return None
    expected = sorted((one["type_code"].removeprefix("FieldValue"), one["field"], one["origin"]) for one in errors)
    actual = sorted((one.code, one.field, one.origin) for one in problems)
    if expected != actual:
        return f"errors: expected {expected}, found {actual}"
    if "detail" in want and [one.what for one in problems] != [want["detail"]]:
        return f"detail: expected {want['detail']!r}, found {[one.what for one in problems]}"
    if "bad_value" in want and [one.value for one in problems] != [str(want["bad_value"])]:
        return f"value: expected {want['bad_value']!r}, found {[one.value for one in problems]}"
    return None


def new_cluster_queue(case: Case) -> str | None:
    """A ClusterQueue is created."""
    (value,) = case["objects"]["cluster_queues"]
    return _compare(case, cluster_queue.validate(value, _settings(case)))


def changed_cluster_queue(case: Case) -> str | None:
    """A ClusterQueue is changed."""
    old, new = case["inputs"]["old_cluster_queue"], case["inputs"]["new_cluster_queue"]
    return _compare(case, cluster_queue.validate_update(old, new, _settings(case)))


def any_cohort(case: Case) -> str | None:
    """A Cohort is created."""
    return _compare(case, cohort.validate(case["inputs"]["cohort"]))


def any_flavor(case: Case) -> str | None:
    """A ResourceFlavor is created."""
    return _compare(case, flavor.validate(case["inputs"]["rf"]))


def new_workload(case: Case) -> str | None:
    """A Workload is created."""
    return _compare(case, workload.validate(case["inputs"]["workload"], _settings(case)))


def changed_workload(case: Case) -> str | None:
    """A Workload is changed."""
    old, new = case["inputs"]["before"], case["inputs"]["after"]
    return _compare(case, workload_update.validate_update(old, new, _settings(case)))


VALIDATION_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestValidateClusterQueue": new_cluster_queue,
    "TestValidateClusterQueueLimits": new_cluster_queue,
    "TestValidateClusterQueueUpdate": changed_cluster_queue,
    "TestValidateCohort": any_cohort,
    "TestValidateResourceFlavor": any_flavor,
    "TestValidateWorkload": new_workload,
    "TestValidateWorkloadUpdate": changed_workload,
}
