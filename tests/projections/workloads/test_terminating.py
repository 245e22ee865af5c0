"""When a job has to be stopped before its Workload object, which somebody has deleted, may go."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.pod_set import PodSet, PodShape
from events.workload import Condition, ConditionStatus, Owner, WorkloadSpec
from events.workload_object import WorkloadTerminating
from projections.workloads.lifecycle import FINISHED, Admission, Workload
from projections.workloads.terminating import Terminating, has_to_stop, terminating

SPEC = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=PodShape()),))
RUNS = Workload(
    key="n/w",
    uid="u",
    owner=Owner(kind="Job", name="j", uid="j"),
    created_at=0,
    generation=1,
    spec=SPEC,
    admission=Admission(cluster_queue="cq", assignments=(), reservation=7, reserved_at=0),
)
ENDED = Condition(type=FINISHED, status=ConditionStatus.TRUE, reason="Succeeded")
DELETED = WorkloadTerminating(namespace="n", name="w", uid="o")


def test_who_holds_quota_stops_first() -> None:
    assert terminating(DELETED, RUNS) == Terminating("o", 7)
    assert has_to_stop(Terminating("o", 7), RUNS)
    assert not has_to_stop(None, RUNS)


@pytest.mark.parametrize(
    "change",
    [
        {"admission": None},
        {"spec": replace(SPEC, leaving=True)},
        {"conditions": {FINISHED: ENDED}},
        {"owner": Owner(kind="Pod", name="p", uid="p", api_version="v1")},
        {"owner": None},
    ],
    ids=["waits", "its job is deleted", "has ended", "is a pod", "has no job"],
)
def test_who_need_not_stop_lets_the_object_go(change: dict[str, Any]) -> None:
    assert not has_to_stop(Terminating("o", 7), replace(RUNS, **change))
    assert not has_to_stop(Terminating("o", 7), None)


def test_what_was_reserved_since_is_not_what_the_deleted_object_showed() -> None:
    assert not has_to_stop(terminating(DELETED, replace(RUNS, admission=None)), RUNS)
    assert not has_to_stop(Terminating("o", 6), RUNS)
