"""What others write into a Workload stays, whenever they write it; on kuelog's definitions and on Kueue's."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from events.amount import Requests
from events.api.labels import DECISION
from events.json_object import JsonObject
from events.pod_set import ContainerShape, PodSet, PodShape
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import (
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    GateState,
    Owner,
    PodSetAssignment,
    WorkloadSpec,
)
from ops.production.process.clock import ScaledClock
from projections.workloads.lifecycle import Admission, Workload
from services.applier.events.event_recorder import EventRecorder
from services.applier.plan import Application
from services.applier.workloads.status_parts import ADMISSION
from services.applier.workloads.workload_finalizers import WorkloadKeeper
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writing import WORKLOADS, ApplicationWriter
from services.runtime.cluster_port import ObjectConflict, ObjectMissing
from services.runtime.log_port import Stream
from tests.services.applier.in_process import InProcess
from tests.stage.definitions import BOTH, definitions_of

SINCE = "2026-01-01T00:00:00Z"
REQUESTS: Requests = {"cpu": 1000}
SHAPE = PodShape(containers=(ContainerShape(name="c", requests=REQUESTS),))
SPEC = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=SHAPE),))
ASSIGNED = PodSetAssignment(name="main", count=1, flavors={"cpu": "a"}, usage=REQUESTS)
FINISHED = {
    "type": "Finished",
    "status": "True",
    "reason": "ByTest",
    "message": "Finished",
    "lastTransitionTime": SINCE,
}


def true(*kinds: str) -> dict[str, Condition]:
    return {
        kind: Condition(type=kind, status=ConditionStatus.TRUE, reason=kind, message=kind, since=1000) for kind in kinds
    }


def application(name: str, sequence: int, *kinds: str, owner: Owner | None = None, applied: int = 0) -> Application:
    """A workload that holds quota and whose status has these conditions."""
    workload = Workload(
        key=f"default/{name}",
        uid=name,
        owner=owner,
        created_at=0,
        generation=1,
        spec=SPEC,
        conditions=true(*kinds),
        admission=Admission(cluster_queue="cq", assignments=(ASSIGNED,), reservation=1, reserved_at=1000),
        decided=sequence,
        applied=applied,
    )
    return Application(workload=workload.key, partition="LOG_0", sequence=sequence, of=workload, fresh=not applied)


def writer(cluster: InProcess) -> ApplicationWriter:
    return writing_by(cluster, None)


def writing_by(cluster: InProcess, decisions: Stream | None) -> ApplicationWriter:
    """Who writes to a cluster, and sees later decisions if the log is there."""
    clock = ScaledClock()
    spare = LowPriorityWrites(clock)
    keeper = WorkloadKeeper(cluster, clock, spare)
    return ApplicationWriter(cluster, EventRecorder(cluster, spare, clock), keeper, decisions=decisions)


async def apply_finished(cluster: InProcess, name: str) -> None:
    """As Kueue's own runner does."""
    value: JsonObject = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "status": {"conditions": [FINISHED]},
    }
    await cluster.apply(WORKLOADS, "default", value, manager="runner", subresource="status")


async def merge_finished(cluster: InProcess, name: str) -> None:
    """As a script does that reads, adds and writes on the version that it has read."""
    while True:
        found = await cluster.get(WORKLOADS, "default", name)
        conditions = [*(found.get("status", {}).get("conditions") or ()), FINISHED]
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        try:
            patch = {"metadata": version, "status": {"conditions": conditions}}
            await cluster.merge(WORKLOADS, "default", name, patch, subresource="status")
        except ObjectConflict:
            continue
        return


def workload(name: str) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {"metadata": {"name": name}, "spec": {"queueName": "lq", "podSets": [pods]}}


async def retried(writing: ApplicationWriter, wanted: Application) -> None:
    for _ in range(20):
        try:
            await writing.write(wanted)
        except ObjectConflict:
            continue
        return
    raise AssertionError("it comes to rest")


async def life(cluster: InProcess, writing: ApplicationWriter, name: str, finish: Any) -> None:
    """Quota is reserved, the workload is admitted, and somebody ends it at any moment of that."""
    await cluster.create(WORKLOADS, "default", workload(name))

    async def decided() -> None:
        await retried(writing, application(name, 1, "QuotaReserved"))
        await retried(writing, application(name, 2, "QuotaReserved", "Admitted", applied=1))

    await asyncio.gather(decided(), finish(cluster, name))


@pytest.mark.parametrize("whose", BOTH)
@pytest.mark.parametrize("finish", [apply_finished, merge_finished])
async def test_a_workload_that_others_finish_while_it_is_admitted_is_finished_and_admitted(
    whose: str, finish: Any
) -> None:
    cluster = InProcess(definitions_of(whose), seed=1)
    writing = writer(cluster)
    names = [f"w{number}" for number in range(400 if whose == "kuelog" else 150)]
    for start in range(0, len(names), 50):
        await asyncio.gather(*(life(cluster, writing, name, finish) for name in names[start : start + 50]))
    for name in names:
        status = cluster.resources.get(cluster.kind(WORKLOADS), ("default", name))["status"]
        assert {one["type"] for one in status["conditions"]} == {"QuotaReserved", "Admitted", "Finished"}, name
        assert status["admission"]["clusterQueue"] == "cq", name


@pytest.mark.parametrize("whose", BOTH)
async def test_a_decision_takes_one_write_and_nothing_is_read_for_it(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=2)
    await cluster.create(WORKLOADS, "default", workload("w"))
    writing = writer(cluster)
    cluster.asked.clear()
    await writing.write(application("w", 1, "QuotaReserved"))
    await writing.write(application("w", 2, "QuotaReserved", "Admitted", applied=1))
    assert cluster.asked == ["apply", "apply"]


def bearing(name: str, sequence: int, *, stopped_by: int = 0, applied: int = 0) -> Application:
    """A workload with two preemption gates, which are closed by what is known; an eviction may have closed them."""
    made = application(name, sequence, "QuotaReserved", applied=applied)
    gates = {one: GateState(name=one, since=1000) for one in ("a", "b")}
    spec = replace(SPEC, preemption_gates=("a", "b"))
    of = replace(made.of, spec=spec, gates=gates, stops=replace(made.of.stops, stopped_by=stopped_by))
    return Application(workload=made.workload, partition="LOG_0", sequence=sequence, of=of, fresh=not applied)


@pytest.mark.parametrize("whose", BOTH)
async def test_a_preemption_gate_that_others_have_opened_stays_open_until_an_eviction_closes_it(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=4)
    await cluster.create(WORKLOADS, "default", workload("w"))
    writing = writer(cluster)
    await writing.write(bearing("w", 1))
    opened = {"name": "b", "position": "Open", "lastTransitionTime": SINCE}
    (closed, _) = cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["status"]["preemptionGates"]
    await cluster.merge(
        WORKLOADS, "default", "w", {"status": {"preemptionGates": [closed, opened]}}, subresource="status"
    )

    async def shown(wanted: Application) -> dict[str, str]:
        await writing.write(wanted)
        found = cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["status"]
        return {one["name"]: one["position"] for one in found["preemptionGates"]}

    assert await shown(bearing("w", 2, applied=1)) == {"a": "Closed", "b": "Open"}
    assert await shown(bearing("w", 3, stopped_by=3, applied=2)) == {"a": "Closed", "b": "Closed"}


def reset(name: str, sequence: int) -> Application:
    """A workload that was given quota anew: its check waits again."""
    made = application(name, sequence, "QuotaReserved", applied=1)
    checks = {"c": CheckStatus(name="c", state=CheckState.PENDING, since=1000)}
    return replace(made, of=replace(made.of, checks=checks), checks={"c": sequence})


async def say_ready(cluster: InProcess, name: str) -> None:
    """What the controller of the check does as soon as there is quota."""

    def status() -> JsonObject:
        return cluster.resources.get(cluster.kind(WORKLOADS), ("default", name))["status"]

    while status()["conditions"][0]["status"] == "False":  # noqa: ASYNC110 - a store in this process tells nobody
        await asyncio.sleep(0)
    ready = {**status()["admissionChecks"][0], "state": "Ready"}
    await cluster.merge(WORKLOADS, "default", name, {"status": {"admissionChecks": [ready]}}, subresource="status")


@pytest.mark.parametrize("whose", BOTH)
async def test_a_check_that_was_reset_is_not_reset_again_once_its_controller_has_said_something(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=7)
    for name in (f"w{number}" for number in range(40)):
        waits = {**application(name, 1, "QuotaReserved").status["conditions"][0], "status": "False"}
        before = {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": SINCE}
        status = {"status": {"conditions": [waits], "admissionChecks": [before]}}
        await cluster.create(WORKLOADS, "default", workload(name))
        await cluster.merge(WORKLOADS, "default", name, status, subresource="status")
        await asyncio.gather(retried(writer(cluster), reset(name, 2)), say_ready(cluster, name))
        found = cluster.resources.get(cluster.kind(WORKLOADS), ("default", name))
        assert found["status"]["admissionChecks"][0]["state"] == "Ready", name
        assert found["metadata"]["annotations"][DECISION] == "LOG_0/2"


async def test_what_is_said_no_more_goes_and_what_was_only_ours_goes_with_it() -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=3)
    await cluster.create(WORKLOADS, "default", workload("w"))
    writing = writer(cluster)
    await writing.write(application("w", 1, "QuotaReserved", "DeactivationTarget"))
    lost = application("w", 2, "QuotaReserved", applied=1)
    lost = Application(
        workload=lost.workload, partition="LOG_0", sequence=2, of=_without_admission(lost.of), settings=lost.settings
    )
    await writing.write(lost)
    status = cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["status"]
    assert "admission" not in status
    assert [one["type"] for one in status["conditions"]] == ["QuotaReserved"]


async def test_an_admission_that_belongs_to_others_too_goes_when_it_holds_no_more() -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=4)
    await cluster.create(WORKLOADS, "default", workload("w"))
    by_hand = {"status": {"admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]}}}
    await cluster.merge(WORKLOADS, "default", "w", by_hand, subresource="status")
    waits = application("w", 1)
    await writer(cluster).write(
        Application(workload=waits.workload, partition="LOG_0", sequence=1, of=_without_admission(waits.of), fresh=True)
    )
    assert "admission" not in cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["status"]


async def test_whoever_comes_late_does_not_write_over_what_was_decided_since() -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=5)
    await cluster.create(WORKLOADS, "default", workload("w"))
    late, early = writer(cluster), writer(cluster)
    await late.write(application("w", 1, "QuotaReserved"))
    await early.write(application("w", 2, "QuotaReserved", "Evicted", applied=1))
    with pytest.raises(ObjectConflict):
        await late.write(application("w", 2, "QuotaReserved", "Admitted", applied=1))
    shown = cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["status"]["conditions"]
    assert {one["type"] for one in shown} == {"Evicted", "QuotaReserved"}


async def test_of_two_that_write_the_same_the_second_leaves_it_at_that() -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=6)
    await cluster.create(WORKLOADS, "default", workload("w"))
    one, other = writer(cluster), writer(cluster)
    await one.write(application("w", 1, "QuotaReserved"))
    await other.write(application("w", 1, "QuotaReserved"))
    await other.write(application("w", 2, "QuotaReserved", "Admitted", applied=1))
    version = cluster.resources.store.version
    await one.write(application("w", 2, "QuotaReserved", "Admitted", applied=1))
    assert cluster.resources.store.version == version


async def a_copy_that_was_made_anew(cluster: InProcess, writing: ApplicationWriter) -> None:
    await cluster.create(WORKLOADS, "default", workload("w"))
    await writing.write(copy(1, "QuotaReserved", "Admitted"))
    await cluster.merge(WORKLOADS, "default", "w", {"metadata": {"finalizers": None}})
    await cluster.delete(WORKLOADS, "default", "w")
    await cluster.create(WORKLOADS, "default", workload("w"))


def copy(sequence: int, *kinds: str, applied: int = 0) -> Application:
    """A Workload that another cluster has made, and whose job came after it."""
    made = application("w", sequence, *kinds, owner=Owner(kind="Job", name="w", uid="job"), applied=applied)
    of = replace(made.of, in_cluster=replace(made.of.in_cluster, prebuilt=True))
    return replace(made, of=of)


@pytest.mark.parametrize(("sequence", "kinds"), [(1, ("Finished",)), (2, ("Evicted",))])
async def test_how_the_job_of_one_copy_has_ended_is_not_said_of_the_next_by_its_name(
    sequence: int, kinds: tuple[str, ...]
) -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=8)
    writing = writer(cluster)
    await a_copy_that_was_made_anew(cluster, writing)
    with pytest.raises(ObjectMissing):
        for _ in range(2):  # The first of them finds that the object has changed.
            with suppress(ObjectConflict):
                await writing.show(copy(sequence, "QuotaReserved", "Admitted", *kinds, applied=1))
    assert "status" not in cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))


async def test_a_copy_that_is_given_up_is_not_deleted_once_it_is_another_by_its_name() -> None:
    cluster = InProcess(definitions_of("kuelog"), seed=8)
    writing = writer(cluster)
    await a_copy_that_was_made_anew(cluster, writing)
    await writing.write(replace(copy(2, "QuotaReserved", applied=1), discard=True))
    assert cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["metadata"]["uid"] == "w-anew"


@pytest.mark.parametrize("whose", BOTH)
async def test_fields_belong_to_those_whom_kueue_names(whose: str) -> None:
    cluster = InProcess(definitions_of(whose), seed=7)
    await cluster.create(WORKLOADS, "default", workload("w"))
    runs = application("w", 1, "QuotaReserved", "Admitted", "PodsReady")
    await writer(cluster).write(replace(runs, settings=SettingsObserved(pods_ready=PodsReadyRule(timeout=1))))
    await writer(cluster).write(application("w", 2, "QuotaReserved", "Admitted", "PodsReady", "Finished"))
    entries = cluster.resources.get(cluster.kind(WORKLOADS), ("default", "w"))["metadata"]["managedFields"]
    of = {
        one["manager"]: one["fieldsV1"]["f:status"]["f:conditions"] for one in entries if "f:status" in one["fieldsV1"]
    }
    types = {manager: sorted(word for word in words if word != ".") for manager, words in of.items()}
    assert types == {
        ADMISSION: ['k:{"type":"Admitted"}', 'k:{"type":"QuotaReserved"}'],
        "kueue-job-controller-Finished": ['k:{"type":"Finished"}'],
        "kueue-job-controller-PodsReady": ['k:{"type":"PodsReady"}'],
    }


def _without_admission(found: Workload) -> Workload:
    kept = {kind: one for kind, one in found.conditions.items() if kind != "DeactivationTarget"}
    return Workload(
        key=found.key,
        uid=found.uid,
        owner=None,
        created_at=0,
        generation=1,
        spec=SPEC,
        conditions=kept,
        decided=found.decided,
        applied=found.applied,
    )
