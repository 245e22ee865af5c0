"""When a job that holds quota asks for other pods than it was let in with."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.admission import PodSetAssignment
from events.pod_set import PodSet, PodShape
from events.workload import Condition, ConditionStatus, Owner, WorkloadSpec
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.other_pods import asks_for_others

MAIN, REST = (PodSet(name=name, count=2, shape=PodShape()) for name in ("main", "rest"))
SPEC = WorkloadSpec(queue="lq", pod_sets=(MAIN, REST))
GIVEN = tuple(PodSetAssignment(name=one.name, count=one.count, flavors={}, usage={}) for one in SPEC.pod_sets)
RUNS = Workload(
    key="n/w",
    uid="u",
    owner=Owner(kind="Job", name="j", uid="j", api_version="batch/v1"),
    created_at=0,
    generation=1,
    spec=SPEC,
    admission=Admission(cluster_queue="cq", assignments=GIVEN, reservation=7, reserved_at=0),
)
MORE = replace(SPEC, pod_sets=(replace(MAIN, count=3), REST))


def test_who_asks_for_what_it_has_asks_for_no_others() -> None:
    assert asks_for_others(RUNS) == ""


@pytest.mark.parametrize("count", [1, 3])
def test_who_asks_for_more_or_for_fewer_is_told_which(count: int) -> None:
    asks = replace(SPEC, pod_sets=(MAIN, replace(REST, count=count)))
    assert (
        asks_for_others(replace(RUNS, spec=asks)) == f"The job asks for {count} pods for rest, which was let in with 2"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"admission": None},
        {"owner": None},
        {"owner": Owner(kind="Pod", name="p", uid="p", api_version="v1")},
        {"spec": replace(MORE, elastic=True)},
        {"spec": replace(SPEC, pod_sets=(replace(MAIN, count=3, minimum=1), REST))},
    ],
    ids=["waits", "has no job", "is a pod", "is elastic", "may have fewer"],
)
def test_others_may_ask_for_more_than_they_have(change: dict[str, Any]) -> None:
    assert asks_for_others(replace(RUNS, spec=MORE))
    assert asks_for_others(replace(RUNS, **{"spec": MORE, **change})) == ""


@pytest.mark.parametrize("done", [0, 2, 3])
def test_who_was_let_in_without_the_pods_that_were_done_asks_for_no_others(done: int) -> None:
    """More of them may be done by now, or pods that were are made again."""
    four = replace(SPEC, pod_sets=(replace(MAIN, count=4), REST))
    one = replace(SPEC, pod_sets=(replace(MAIN, count=1), REST))
    let_in = replace(RUNS, reclaimable={"main": done}, admission=replace(RUNS.admission, done_before={"main": 2}))
    assert asks_for_others(replace(let_in, spec=four)) == ""
    assert asks_for_others(replace(let_in, spec=four, admission=replace(RUNS.admission, done_before={"main": 1})))
    assert asks_for_others(replace(let_in, spec=one))


def test_one_that_may_have_fewer_pods_and_is_let_in_has_another_size_by_what_was_asked_for_and_not_by_what_it_was_given() -> (
    None
):
    had, rest = replace(MAIN, count=4, minimum=1), replace(REST, count=2)
    admitted = Condition(type="Admitted", status=ConditionStatus.TRUE, reason="Admitted", since=0)
    let_in = replace(RUNS, conditions={"Admitted": admitted}, spec=replace(SPEC, pod_sets=(had, rest)))
    assert asks_for_others(let_in) == "", "it was let in with 2 of 4"
    asks = replace(SPEC, pod_sets=(replace(had, count=5), rest))
    changed = replace(let_in, spec=asks, admission=replace(RUNS.admission, reserved_for=(had, rest)))
    assert asks_for_others(changed) == "The job asks for other pods for main than it was let in with"
