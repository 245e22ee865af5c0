"""Pods without a job that run on other clusters, alone, in groups, and as they are made by what serves.

kuelog decides in the workers, too.

Rule: docs/rules/multikueue.md#pods
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pods import is_gated
from services.jobs.kinds.table import DEPLOYMENT, LEADER_WORKER_SET
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import Stage
from tests.stories.job_samples import definition
from tests.stories.test_multikueue import check_of, managing
from tests.stories.test_pod_groups import HALF, SMALL
from tests.stories.test_pods import PODS, Pods, member, pod
from tests.stories.test_serving import LEADER_SETS, SETS, Serving, grouped, served, stateful, template

ORIGIN, PREBUILT = "kueue.x-k8s.io/multikueue-origin", "kueue.x-k8s.io/prebuilt-workload-name"
SET_NAME = "leaderworkersets.leaderworkerset.x-k8s.io"
URGENT = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}


@asynccontextmanager
async def elsewhere(
    folder: Path, *names: str, prepare: Callable[[Stage], Awaitable[None]] | None = None
) -> AsyncGenerator[tuple[Stage, list[KuelogWorker]]]:
    """A manager and workers, all of them under kuelog."""
    async with asyncio.timeout(150), Stage(folder) as stage:
        if prepare is not None:
            await prepare(stage)
        workers = [KuelogWorker(name, folder, stage.clock, prepare=prepare) for name in names]
        async with managing(stage, workers):
            yield stage, workers


async def test_a_pod_runs_there_is_shown_here_and_leaves_nothing_there(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1") as (stage, (worker,)):
        here, there = Pods(stage), Pods(worker.stage)
        await stage.client.create(PODS, "default", pod("alone"))
        await stage.until(lambda: check_of(stage) == ("Ready", 'The workload was admitted on "w1"'))
        await stage.until(lambda: here.phase("alone") == "Running")
        assert is_gated(here.of("alone")) and "nodeName" not in here.of("alone")["spec"], "it does not run here"
        (name,) = here.workloads()
        await there.until(lambda: there.phase("alone") == "Running")
        labels = there.of("alone")["metadata"]["labels"]
        assert (labels[ORIGIN], labels[PREBUILT]) == ("multikueue", name)
        assert [one["name"] for one in there.workloads()[name]["metadata"]["ownerReferences"]] == ["alone"]
        await there.end("alone")
        await here.until(lambda: here.reason(name) == "Succeeded")
        assert here.phase("alone") == "Succeeded"
        await worker.stage.until(lambda: not worker.copies and not there.of("alone"))


async def test_a_group_runs_there_as_a_whole(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1") as (stage, (worker,)):
        here, there = Pods(stage), Pods(worker.stage)
        for name in ("g-0", "g-1"):
            await stage.client.create(PODS, "default", member(name, "gang", 2))
        await stage.until(lambda: here.phase("g-0") == here.phase("g-1") == "Running")
        assert is_gated(here.of("g-0")) and is_gated(here.of("g-1"))
        await there.until(lambda: len(there.workloads()["gang"]["metadata"].get("ownerReferences", ())) == 2)
        await there.end("g-0", "g-1")
        await here.until(lambda: here.reason("gang") == "Succeeded")
        await worker.stage.until(lambda: not worker.copies and not there.of("g-0") and not there.of("g-1"))


async def test_pods_that_have_to_make_room_there_wait_here_again_and_run_in_the_other_cluster(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1", "w2") as (stage, (w1, w2)):
        here = Pods(stage)
        blocking = pod("urgent", urgent=True, **URGENT)
        await w2.stage.client.create(PODS, "default", blocking)
        await Pods(w2.stage).until(lambda: Pods(w2.stage).phase("urgent") == "Running")
        await stage.client.create(PODS, "default", pod("patient"))
        await stage.until(lambda: here.phase("patient") == "Running")
        await w1.stage.client.create(PODS, "default", blocking)
        await stage.until(lambda: here.phase("patient") == "Pending")
        assert is_gated(here.of("patient"))
        await w2.stage.client.delete(PODS, "default", "urgent")
        await Pods(w2.stage).until(lambda: Pods(w2.stage).phase("patient") == "Running")
        await stage.until(lambda: here.phase("patient") == "Running")
        await w1.stage.until(lambda: not Pods(w1.stage).of("patient"))


async def test_a_pod_that_is_deleted_here_is_gone_there(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1") as (stage, (worker,)):
        here, there = Pods(stage), Pods(worker.stage)
        await stage.client.create(PODS, "default", pod("alone"))
        await stage.until(lambda: here.phase("alone") == "Running")
        await stage.client.delete(PODS, "default", "alone")
        await stage.until(lambda: not here.of("alone") and not here.workloads())
        await worker.stage.until(lambda: not worker.copies and not there.of("alone"))


async def test_a_stateful_set_runs_there_and_goes_with_the_one_here(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1") as (stage, (worker,)):
        here, there = Pods(stage), Pods(worker.stage)
        made = await served(stage, SETS, "s", stateful(2, **HALF))
        await made.pods(0)
        await stage.until(lambda: check_of(stage) == ("Ready", 'The workload was admitted on "w1"'))
        await worker.stage.until(lambda: bool(worker.stage.get("statefulsets.apps", "default", "s")))
        copy = worker.stage.get("statefulsets.apps", "default", "s")
        (name,) = here.workloads()
        uid = stage.get("statefulsets.apps", "default", "s")["metadata"]["uid"]
        assert copy["metadata"]["labels"][PREBUILT] == name
        assert copy["metadata"]["annotations"]["kueue.x-k8s.io/multikueue-origin-uid"] == uid
        await Serving(worker.stage, SETS, "s").pods(0, 1)
        await there.until(lambda: there.phase("s-0") == there.phase("s-1") == "Running")
        assert list(there.workloads()) == [name], "it runs in the copy"
        assert is_gated(here.of("s-0")) and here.phase("s-0") in ("", "Pending")
        await stage.client.delete(SETS, "default", "s")
        await made.drop("s-0")
        await worker.stage.until(lambda: not worker.copies and not worker.stage.of("statefulsets.apps"))


async def test_each_pod_of_a_deployment_runs_there(tmp_path: Path) -> None:
    async with elsewhere(tmp_path, "w1") as (stage, (worker,)):
        here, there = Pods(stage), Pods(worker.stage)
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "s"}}, "template": template(**HALF)}
        made = await served(stage, resource_of(DEPLOYMENT), "d", spec)
        await made.pods(0, 1)
        await stage.until(lambda: here.phase("d-0") == here.phase("d-1") == "Running")
        assert "ownerReferences" not in there.of("d-0")["metadata"]
        await made.drop("d-1")
        await worker.stage.until(lambda: not there.of("d-1") and len(worker.copies) == 1)
        assert here.phase("d-0") == there.phase("d-0") == "Running"


async def test_the_groups_of_a_leader_worker_set_run_in_one_cluster_together(tmp_path: Path) -> None:
    async def known(stage: Stage) -> None:
        await stage.add(definition(LEADER_WORKER_SET))

    async with elsewhere(tmp_path, "w1", "w2", prepare=known) as (stage, (w1, w2)):
        here = Pods(stage)
        both = {"leaderTemplate": template(**SMALL), "workerTemplate": template(**SMALL), "size": 2}
        made = await served(stage, LEADER_SETS, "l", {"replicas": 2, "leaderWorkerTemplate": both})
        await grouped(made, 0, "leader")
        await stage.until(lambda: check_of(stage)[0] == "Ready")
        await grouped(made, 1, "leader")
        await stage.until(lambda: len(ready(here)) == 2)
        (name,) = set(ready(here).values())
        chosen, other = (w1, w2) if name == "w1" else (w2, w1)
        await other.stage.until(lambda: not other.copies)
        await chosen.stage.until(lambda: len(chosen.copies) == 2 and bool(chosen.stage.of(SET_NAME)))
        copy = Serving(chosen.stage, LEADER_SETS, "l")
        there = Pods(chosen.stage)
        for index in (0, 1):
            await grouped(copy, index, "leader")
            await grouped(copy, index, "worker")
        await there.until(lambda: all(there.phase(one) == "Running" for one in ("l-0", "l-0-1", "l-1", "l-1-1")))
        assert set(there.workloads()) == set(here.workloads()), "they run in the copies"
        await stage.client.merge(LEADER_SETS, "default", "l", {"spec": {"replicas": 1}})
        await made.drop("l-1")
        await chosen.stage.until(lambda: len(chosen.copies) == 1)
        assert chosen.stage.of(SET_NAME), "the other group goes on"
        await stage.client.delete(LEADER_SETS, "default", "l")
        await made.drop("l-0")
        await chosen.stage.until(lambda: not chosen.copies and not chosen.stage.of(SET_NAME))


def ready(pods: Pods) -> dict[str, str]:
    """The clusters that were chosen, by workload."""
    found = {name: one.get("status", {}).get("clusterName", "") for name, one in pods.workloads().items()}
    return {name: cluster for name, cluster in found.items() if cluster}
