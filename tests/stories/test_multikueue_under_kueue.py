"""Jobs that run on another cluster where the real manager of Kueue decides: kuelog sends them there from a real API server.

Kubelets are played, and so are the Job controller and the scheduler where the folder of the API server does not hold them.

Rule: docs/rules/multikueue.md
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from events.api.labels import ELASTIC_JOB, RUN_SECONDS
from events.job_kind import JobKind
from events.json_path import look, put
from ops.production.process.clock import ScaledClock
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER, managed_by_path
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pods import is_gated
from services.jobs.kinds.table import JOB_SET, LEADER_WORKER_SET, POD, RAY_CLUSTER, RAY_JOB, STATEFUL_SET, TRAIN_JOB
from services.jobs.kinds.training_runtime import RUNTIMES
from tests.conftest import ABSENT, ASSETS
from tests.stage.kueue_worker import KueueWorker
from tests.stage.played_kueue import Worker
from tests.stage.real import Real
from tests.stage.stage import JOBS, PODS, Stage, job
from tests.stories.job_samples import SAMPLED, definition, ended_well, manifest
from tests.stories.test_checks import conditions, workload
from tests.stories.test_elastic_jobs import scale, slices
from tests.stories.test_elastic_ray import Ray
from tests.stories.test_job_kinds import make_room, prepare
from tests.stories.test_multikueue import SETTINGS, active, check_of, delegated, managing
from tests.stories.test_multikueue_elastic import ready
from tests.stories.test_pods import Pods, member, pod
from tests.stories.test_serving import LEADER_SETS, Serving, grouped, served, stateful, template

pytestmark = pytest.mark.timeout(600)
EVICTED = "EvictedDueToDeactivatedDueToEvictedOnManagerCluster"
"""Kueue's word for a copy that its manager has told to stop."""
LIMITS = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 10000, "nvidia.com/gpucores": 30}
CONTAINED = {
    "restartPolicy": "Never",
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "containers": [{"name": "node", "image": "of-runtime", "env": [{"name": "A", "value": "1"}]}],
}
STEP = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
NODE = {"name": "node", "template": {"metadata": STEP, "spec": {"template": {"spec": CONTAINED}}}}
API = f"{TRAIN_JOB.group}/{TRAIN_JOB.versions[0]}"
TORCH = {
    "apiVersion": API,
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch"},
    "spec": {
        "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
        "template": {"spec": {"replicatedJobs": [NODE]}},
    },
}
TRAINER = {
    "image": "mine",
    "numNodes": 2,
    "resourcesPerNode": {"limits": LIMITS},
    "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
}
TRAINING = {
    "apiVersion": API,
    "kind": "TrainJob",
    "metadata": {"name": "patient", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {
        "managedBy": MULTIKUEUE_MANAGER,
        "runtimeRef": {"apiGroup": TRAIN_JOB.group, "kind": "ClusterTrainingRuntime", "name": "torch"},
        "trainer": TRAINER,
    },
}
BIG = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
SMALL = {"nvidia.com/gpumem": "5000", "nvidia.com/gpucores": "20"}
APART = ("TrainJob", "JAXJob")
"""The first has a story of its own; the webhook of Kueue 0.17 takes none of the second whose Workload was made before it."""
GATES = {"MultiKueueOrchestratedPreemption": True}
READY = ("Ready", 'The workload was admitted on "w1"')


@pytest.fixture
def worker(tmp_path: Path, clock: ScaledClock) -> KueueWorker:
    """Under Kueue's manager; not started yet."""
    return KueueWorker("w1", assets(), tmp_path, clock)


def assets() -> Path:
    """The folder with the programs of an API server; a test that needs it is skipped where there is none."""
    named = os.environ.get(ASSETS)
    if not named:
        pytest.skip(ABSENT)
    return Path(named)


def place(stage: Stage) -> str:
    """The cluster in which the only workload runs."""
    return str(workload(stage).get("status", {}).get("clusterName") or "")


def leaves_nothing(worker: KueueWorker) -> Callable[[], bool]:
    return lambda: not worker.copies and not worker.jobs and not worker.cluster.of("pods")


async def test_a_job_runs_under_kueue_is_shown_here_and_leaves_nothing_there(
    real: Real, worker: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: stage.running("patient"))
        assert check_of(stage) == READY and place(stage) == "w1"
        assert not stage.of("pods"), "no pod of it runs here"
        await worker.cluster.until(lambda: worker.running("patient"))
        (copy,), (there,) = worker.copies, worker.jobs
        assert [one["uid"] for one in copy["metadata"]["ownerReferences"]] == [there["metadata"]["uid"]]
        assert look(copy, "status.conditions[Admitted].status") == "True"
        await worker.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await worker.cluster.until(leaves_nothing(worker))


async def test_a_job_that_has_to_make_room_under_kueue_comes_back_and_runs_there_again_later(
    real: Real, worker: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: place(stage) == "w1" and stage.running("patient"))
        await worker.cluster.add(job("local", 3_600_000, urgent=True))
        await worker.cluster.until(lambda: worker.running("local"))
        await stage.until(lambda: not place(stage) and not stage.running("patient"))
        await stage.until(lambda: check_of(stage)[0] == "Pending")
        await worker.client.delete(JOBS, "default", "local")
        await stage.until(lambda: place(stage) == "w1" and stage.running("patient"))
        await worker.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))


async def test_a_job_that_is_preempted_here_stops_under_kueue_for_that_cause(
    real: Real, worker: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: stage.running("patient"))
        urgent = delegated("urgent", 3_600_000)
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
        await worker.cluster.until(lambda: bool(worker.copies))
        (copy,) = worker.copies
        await stage.add(urgent)
        await stage.until(lambda: stage.running("urgent") and not stage.running("patient"))
        await worker.cluster.until(lambda: worker.running("urgent"))
        assert [one["metadata"]["name"] for one in worker.jobs] == ["urgent"]
        told = [
            one["message"]
            for one in worker.cluster.of("events").values()
            if look(one, "involvedObject.name") == copy["metadata"]["name"] and one["reason"] == EVICTED
        ]
        assert any("Evicted on manager" in one for one in told), told


async def test_a_job_that_is_deleted_here_is_gone_under_kueue(
    real: Real, worker: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: stage.running("patient"))
        await stage.client.delete(JOBS, "default", "patient")
        await worker.cluster.until(leaves_nothing(worker))


async def test_what_runs_under_a_kueue_that_is_lost_for_too_long_runs_elsewhere_and_the_rest_goes_when_it_is_back(
    real: Real, worker: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    other = Worker("w2", tmp_path, clock, admits=False)
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker, other]):
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: place(stage) == "w1" and stage.running("patient"))
        other.admit()
        worker.server.kill_api()
        await stage.until(lambda: active(stage, "w1")[:2] == ("False", "ClientConnectionFailed"))
        await stage.until(lambda: place(stage) == "w2" and stage.running("patient"))
        await asyncio.to_thread(worker.server.start_api)
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        await worker.cluster.until(leaves_nothing(worker))
        assert len(other.jobs) == 1
        assert stage.running("patient")


async def test_a_train_job_is_under_kueue_what_its_runtime_here_says_of_it(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    runtimes = [
        JobKind(group=TRAIN_JOB.group, versions=("v1alpha1",), kind=one.kind, plural=one.plural)
        for one in RUNTIMES.values()
    ]
    defined = [definition(one) for one in (JOB_SET, TRAIN_JOB, *runtimes)]
    defined[-1]["spec"]["scope"] = "Cluster"
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=(TRAIN_JOB,), others=defined)
    trains, key = resource_of(TRAIN_JOB), "trainjobs.trainer.kubeflow.org"
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage:
        for value in (*defined, TORCH):
            await stage.add(value)
        async with managing(stage, [worker]):
            for value in (*defined, TORCH):
                await worker.cluster.add(value)
            await stage.add(TRAINING)
            await worker.cluster.until(
                lambda: look(worker.cluster.get(key, ("default", "patient")), "spec.suspend") is False
            )
            (copy,) = worker.copies
            assert [(one["name"], one["count"]) for one in copy["spec"]["podSets"]] == [("node", 2)]
            assert not look(copy, "status.conditions[Finished]"), "its pods are those that Kueue finds there by itself"
            over = ended_well(TRAIN_JOB)
            await worker.client.merge(trains, "default", "patient", over, subresource="status")
            await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
            await worker.cluster.until(lambda: not worker.copies and not worker.cluster.of(key))


async def test_pods_run_under_kueue_alone_and_in_groups_and_are_shown_here(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=(POD,))
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        here = Pods(stage)
        await stage.client.create(PODS, "default", pod("alone", seconds=3_600_000))
        for name in ("g-0", "g-1"):
            await stage.client.create(PODS, "default", member(name, "gang", 2, seconds=3_600_000, **SMALL))
        names = ("alone", "g-0", "g-1")
        await stage.until(lambda: all(here.phase(one) == "Running" for one in names))
        assert all(is_gated(here.of(one)) for one in names), "none of them runs here"
        assert len(worker.copies) == 2
        for one in names:
            await worker.client.merge(PODS, "default", one, {"metadata": {"annotations": {RUN_SECONDS: "0"}}})
        await here.until(lambda: sorted(map(here.reason, here.workloads())) == ["Succeeded", "Succeeded"])
        await worker.cluster.until(leaves_nothing(worker))


async def test_a_pod_that_has_to_make_room_under_kueue_waits_here_and_runs_there_again_later(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=(POD,))
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        here = Pods(stage)
        await stage.client.create(PODS, "default", pod("patient", seconds=3_600_000))
        await stage.until(lambda: here.phase("patient") == "Running")
        await worker.client.create(PODS, "default", pod("local", urgent=True, seconds=3_600_000, **BIG))
        await stage.until(lambda: here.phase("patient") == "Pending")
        assert is_gated(here.of("patient"))
        await worker.cluster.until(lambda: "local" in worker.running_pods())
        await worker.client.delete(PODS, "default", "local")
        await stage.until(lambda: here.phase("patient") == "Running")
        await stage.client.delete(PODS, "default", "patient")
        await worker.cluster.until(leaves_nothing(worker))


async def test_a_job_preempts_under_kueue_once_its_gate_is_opened(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    worker = KueueWorker("w1", assets(), tmp_path, clock, gates=GATES)
    settings = replace(SETTINGS, gates=GATES)
    async with (
        asyncio.timeout(300),
        Stage(tmp_path, real, clock) as stage,
        managing(stage, [worker], settings),
    ):
        await worker.cluster.add(job("local", 3_600_000))
        await worker.cluster.until(lambda: worker.running("local"))
        urgent = delegated("patient", 3_600_000)
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
        await stage.add(urgent)
        await stage.until(lambda: stage.running("patient"))
        assert not worker.running("local")
        copy = next(one for one in worker.copies if "multikueue" in str(one["metadata"]["labels"]))
        assert copy["spec"]["preemptionGates"] == [{"name": "kueue.x-k8s.io/multikueue"}]
        (gate,) = look(copy, "status.preemptionGates")
        assert gate["position"] == "Open"


async def test_a_stateful_set_runs_under_kueue_and_goes_with_the_one_here(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=(POD, STATEFUL_SET))
    if not worker.cluster.managed:
        pytest.skip(
            "nobody makes the pods of a StatefulSet: set KUBEBUILDER_ASSETS to a folder with kube-controller-manager"
        )
    sets = resource_of(STATEFUL_SET)
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    meta = {"name": "s", "namespace": "default", "labels": labels}
    value = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": stateful(2, **SMALL)}
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.client.create(sets, "default", value)
        await stage.until(lambda: check_of(stage) == READY)
        await worker.cluster.until(lambda: worker.running_pods() == {"s-0", "s-1"})
        assert len(worker.copies) == 1, "it runs in the copy"
        assert not any(one.get("status", {}).get("phase") == "Running" for one in stage.of("pods"))
        await stage.client.delete(sets, "default", "s")
        await worker.cluster.until(leaves_nothing(worker))


async def test_the_groups_of_a_leader_worker_set_run_under_kueue_and_go_with_the_one_here(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    defined = definition(LEADER_WORKER_SET)
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=(POD, LEADER_WORKER_SET), others=[defined])
    sets = f"{LEADER_WORKER_SET.plural}.{LEADER_WORKER_SET.group}"
    both = {"leaderTemplate": template(**SMALL), "workerTemplate": template(**SMALL), "size": 2}
    async with asyncio.timeout(500), Stage(tmp_path, real, clock) as stage:
        await stage.add(defined)
        async with managing(stage, [worker]):
            await worker.cluster.add(defined)
            here = Pods(stage)
            made = await served(stage, LEADER_SETS, "l", {"replicas": 2, "leaderWorkerTemplate": both})
            for index in (0, 1):
                await grouped(made, index, "leader")
            await worker.cluster.until(lambda: len(worker.copies) == 2 and bool(worker.cluster.of(sets)))
            there = Serving(worker, LEADER_SETS, "l")  # pyright: ignore[reportArgumentType] - its client is all that is asked for
            for index in (0, 1):
                await grouped(there, index, "leader")
                await grouped(there, index, "worker")
            await worker.cluster.until(lambda: worker.running_pods() == {"l-0", "l-0-1", "l-1", "l-1-1"})
            names = {one["metadata"]["name"] for one in worker.copies}
            assert names == set(here.workloads()), "they run in the copies"
            assert all(is_gated(here.of(one)) for one in ("l-0", "l-1")), "none of them runs here"
            await stage.client.delete(LEADER_SETS, "default", "l")
            await made.drop("l-0", "l-1")
            await worker.cluster.until(lambda: not worker.copies and not worker.cluster.of(sets))


async def test_a_job_of_any_kind_asks_for_what_kueue_finds_in_it_by_itself(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    kinds = [one for one in SAMPLED if managed_by_path(SETTINGS, one.group, one.kind) and one.kind not in APART]
    defined = [definition(one) for one in kinds]
    worker = KueueWorker("w1", assets(), tmp_path, clock, kinds=kinds, others=defined)
    async with asyncio.timeout(500), Stage(tmp_path, real, clock) as stage:
        await prepare(stage, *kinds)
        async with managing(stage, [worker]):
            await make_room(worker.client, worker.cluster.get("clusterqueues.kueue.x-k8s.io", ("", "team")) or {})
            for value in defined:
                await worker.cluster.add(value)
            found = {one.kind: await end_under_kueue(one, stage, worker) for one in kinds}
            assert found == dict.fromkeys(found, "")


async def end_under_kueue(kind: JobKind, stage: Stage, worker: KueueWorker) -> str:
    """Why the copy of a job of a kind has ended there as soon as the job came; empty where it is started."""
    resource, key = resource_of(kind), f"{kind.plural}.{kind.group}"
    path = tuple(managed_by_path(SETTINGS, kind.group, kind.kind).split("."))
    asked = put(manifest(kind, "patient"), path, MULTIKUEUE_MANAGER)
    if kind is RAY_JOB:
        asked = put(asked, ("spec", "submissionMode"), "K8sJobMode")  # As its own definition has it by default.
    await stage.client.create(resource, "default", asked)

    def ended() -> str:
        return "".join(str(look(one, "status.conditions[Finished].message") or "") for one in worker.copies)

    def started() -> bool:
        # Some of Kueue's kinds leave the field out rather than say that it is false.
        there = worker.cluster.get(key, ("default", "patient"))
        return there is not None and look(there, kind.suspend) is not True

    await worker.cluster.until(lambda: bool(ended()) or started())
    why = ended()
    await stage.client.delete(resource, "default", "patient")
    await worker.cluster.until(lambda: not worker.copies and not worker.cluster.of(key))
    return why


def _elastic(count: int) -> dict[str, Any]:
    found = delegated("patient", 3_600_000)
    found["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    limits = {"nvidia.com/gpu": "1", **SMALL}
    found["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}
    return {**found, "spec": {**found["spec"], "parallelism": count}}


async def test_an_elastic_job_grows_under_kueue_and_its_pods_run_on(
    real: Real, worker_of_slices: KueueWorker, tmp_path: Path, clock: ScaledClock
) -> None:
    worker = worker_of_slices
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage, managing(stage, [worker]):
        await stage.add(_elastic(2))
        await stage.until(lambda: ready(stage, "patient") == 2)
        await scale(stage, "patient", 1)
        await stage.until(lambda: ready(stage, "patient") == 1)
        await worker.cluster.until(lambda: [one["spec"]["podSets"][0]["count"] for one in worker.copies] == [1])
        await worker.cluster.until(lambda: len(worker.running_pods()) == 1)
        first = worker.running_pods()
        await scale(stage, "patient", 3)
        await stage.until(lambda: ready(stage, "patient") == 3)
        await worker.cluster.until(lambda: len(worker.running_pods()) == 3)
        assert first < worker.running_pods(), "no pod began anew"
        (ended,) = slices(stage, over=True)
        (there,) = [one for one in worker.copies if one["metadata"]["name"] == ended["metadata"]["name"]]
        assert look(there, "status.conditions[Finished].reason") == "WorkloadSliceReplaced"
        await scale(stage, "patient", 2)
        await worker.cluster.until(lambda: len(worker.running_pods()) == 2)
        await stage.until(lambda: ready(stage, "patient") == 2)
        assert len(slices(stage, over=False)) == 1, "in place"
        await stage.client.delete(JOBS, "default", "patient")
        await worker.cluster.until(leaves_nothing(worker))


@pytest.fixture
def worker_of_slices(tmp_path: Path, clock: ScaledClock) -> KueueWorker:
    """Under Kueue's manager, with elastic jobs on."""
    return KueueWorker("w1", assets(), tmp_path, clock, gates={"ElasticJobsViaWorkloadSlices": True})


async def test_an_elastic_ray_cluster_grows_and_shrinks_under_kueue(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    gates = {"ElasticJobsViaWorkloadSlices": True}
    worker = KueueWorker(
        "w1", assets(), tmp_path, clock, kinds=[RAY_CLUSTER], others=[definition(RAY_CLUSTER)], gates=gates
    )
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage:
        await prepare(stage, RAY_CLUSTER)
        async with managing(stage, [worker]):
            await make_room(worker.client, worker.cluster.get("clusterqueues.kueue.x-k8s.io", ("", "team")) or {})
            await worker.cluster.add(definition(RAY_CLUSTER))
            here = Ray(stage, RAY_CLUSTER)
            await here.ask(2, autoscaled=False, managed_by=MULTIKUEUE_MANAGER, card=False)

            def there() -> Any:
                return worker.cluster.get("rayclusters.ray.io", ("default", "ray")) or {}

            def counts(*, over: bool) -> list[int]:
                found = [
                    one for one in worker.copies if (look(one, "status.conditions[Finished].status") == "True") == over
                ]
                return sorted(one["spec"]["podSets"][1]["count"] for one in found)

            def wanted() -> Any:
                return look(there(), "spec.workerGroupSpecs")[0]["replicas"]

            await worker.cluster.until(lambda: there() != {} and look(there(), "spec.suspend") is not True)
            first = there()["metadata"]["uid"]
            await here.scale(4)
            await worker.cluster.until(lambda: wanted() == 4 and (counts(over=True), counts(over=False)) == ([2], [4]))
            await here.scale(3)
            await worker.cluster.until(lambda: wanted() == 3 and counts(over=False) == [3])
            assert there()["metadata"]["uid"] == first and look(there(), "spec.suspend") is not True
            await here.delete("ray")
            await worker.cluster.until(lambda: not worker.copies and not there())
