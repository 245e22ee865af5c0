"""A Workload object asks for what its job asks for, until it shows that quota is reserved for it; nothing is read where nothing has changed."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.json_object import JsonObject
from events.workload import Owner, PriorityRef, WorkloadSpec
from projections.workloads.lifecycle import Admission
from services.applier.plan import Application
from services.applier.writing import WORKLOADS
from tests.services.applier.in_process import InProcess
from tests.services.applier.workloads.test_what_others_write import ASSIGNED, SPEC, application, writer
from tests.stage.definitions import BOTH, definitions_of

JOB = Owner(kind="Job", name="j", uid="j", api_version="batch/v1")
GATES = "kueue.x-k8s.io/admission-gated-by"
(PODS,) = SPEC.pod_sets
THREE = (replace(PODS, count=3),)


def waits(sequence: int, *, applied: int = 0, **asks: Any) -> Application:
    """A job that waits and asks for so much."""
    found = application("w", sequence, owner=JOB, applied=applied)
    return replace(found, of=replace(found.of, admission=None, spec=replace(SPEC, **asks)))


def holds(
    sequence: int, count: int, *kinds: str, asks: WorkloadSpec = replace(SPEC, pod_sets=THREE), since: int = 0
) -> Application:
    """A job that holds quota for so many pods, since this decision or an earlier one, and asks for this, or for three of them."""
    found = application("w", sequence, "QuotaReserved", *kinds, owner=JOB, applied=sequence - 1)
    admission = Admission(
        cluster_queue="cq",
        assignments=(replace(ASSIGNED, count=count),),
        reservation=since or sequence,
        reserved_at=1000,
    )
    return replace(found, of=replace(found.of, admission=admission, spec=asks))


def shown(cluster: InProcess) -> JsonObject:
    return cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))


@pytest.mark.parametrize("whose", BOTH)
async def test_one_that_waits_shows_what_its_job_asks_for_by_now(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1))
    await writing.write(waits(1, applied=1, pod_sets=THREE, max_execution=60_000))
    assert [one["count"] for one in shown(cluster)["spec"]["podSets"]] == [3]
    assert shown(cluster)["spec"]["maximumExecutionTimeSeconds"] == 60
    cluster.asked.clear()
    await writing.write(waits(1, applied=1, pod_sets=THREE, max_execution=60_000))
    assert "get" not in cluster.asked, "it is known what it asks for"
    await writing.write(waits(1, applied=1, pod_sets=THREE))
    assert "maximumExecutionTimeSeconds" not in shown(cluster)["spec"]


@pytest.mark.parametrize("whose", BOTH)
async def test_the_gates_of_a_job_are_on_its_object_as_long_as_the_job_has_them(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1, gated_by=("a.io/x", "a.io/y")))
    assert shown(cluster)["metadata"]["annotations"][GATES] == "a.io/x,a.io/y"
    await writing.write(waits(1, applied=1, gated_by=("a.io/y",)))
    assert shown(cluster)["metadata"]["annotations"][GATES] == "a.io/y"
    await writing.write(waits(1, applied=1))
    assert GATES not in shown(cluster)["metadata"]["annotations"]


@pytest.mark.parametrize("whose", BOTH)
async def test_a_gate_that_somebody_took_from_the_object_of_a_job_is_not_put_back(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1, gated_by=("a.io/x", "a.io/y")))
    await cluster.merge(WORKLOADS, "default", "w", {"metadata": {"annotations": {GATES: "a.io/y"}}})
    await writing.write(waits(2, applied=1, gated_by=("a.io/x", "a.io/y")))
    assert shown(cluster)["metadata"]["annotations"][GATES] == "a.io/y"


@pytest.mark.parametrize("whose", BOTH)
async def test_one_that_is_let_in_as_soon_as_it_asks_for_something_else_asks_for_that_first(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1))
    await writing.write(holds(2, 3))
    assert [one["count"] for one in shown(cluster)["spec"]["podSets"]] == [3]
    assert shown(cluster)["status"]["admission"]["podSetAssignments"][0]["count"] == 3


@pytest.mark.parametrize("whose", BOTH)
async def test_one_that_is_let_in_as_soon_as_it_gets_a_class_names_that_first(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1))
    ranked = replace(SPEC, priority=20, priority_class=PriorityRef(name="high", workload=True))
    await writing.write(holds(2, 1, asks=ranked))
    assert shown(cluster)["spec"]["priorityClassRef"]["name"] == "high"
    assert shown(cluster)["spec"]["priority"] == 20
    assert shown(cluster)["status"]["admission"]["clusterQueue"] == "cq"


@pytest.mark.parametrize("whose", BOTH)
async def test_what_is_shown_to_hold_quota_goes_on_asking_for_what_that_is_for(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1))
    await writing.write(holds(2, 1, asks=SPEC))
    await writing.write(holds(3, 1, "Admitted", since=2))
    assert [one["count"] for one in shown(cluster)["spec"]["podSets"]] == [1]


@pytest.mark.parametrize("whose", BOTH)
async def test_one_that_was_stopped_and_let_in_anew_before_that_was_shown_asks_for_what_it_got_then(whose: str) -> None:
    """Between both it held no quota: its object has to say so before it may ask for something else."""
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    await writing.write(waits(1))
    await writing.write(holds(2, 1, "Admitted", asks=SPEC))
    await writing.write(holds(5, 3))
    assert [one["count"] for one in shown(cluster)["spec"]["podSets"]] == [3]
    assert shown(cluster)["status"]["admission"]["podSetAssignments"][0]["count"] == 3
    told = {one["type"]: one["status"] for one in shown(cluster)["status"]["conditions"]}
    assert told["QuotaReserved"] == "True" and told.get("Admitted") != "True"
