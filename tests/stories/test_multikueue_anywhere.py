"""One manager, on any API server, and two workers: under somebody else's Kueue, which is played, and under kuelog.

Rule: docs/rules/multikueue.md#status
"""

import asyncio
from pathlib import Path

import pytest

from services.jobs.kinds.pods import is_gated
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.played_kueue import Worker
from tests.stage.stage import PODS, Stage
from tests.stories.test_checks import conditions, workload
from tests.stories.test_multikueue import delegated, managing
from tests.stories.test_pods import Pods, pod


@pytest.mark.any_cluster
async def test_a_job_is_evicted_in_one_worker_and_ends_in_the_other(stage: Stage, tmp_path: Path) -> None:
    kueue, ours = Worker("w1", tmp_path, stage.clock), KuelogWorker("w2", tmp_path, stage.clock)
    async with asyncio.timeout(200), managing(stage, [kueue, ours]):
        await ours.stage.client.create(PODS, "default", pod("local", urgent=True, **{"nvidia.com/gpucores": "90"}))
        await ours.stage.until(lambda: Pods(ours.stage).phase("local") == "Running")
        await stage.add(delegated("patient", UNTIL_ENDED_S))
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w1")
        await stage.until(lambda: stage.running("patient"))
        kueue.admits = False
        kueue.evict()
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") is None)
        await ours.stage.client.delete(PODS, "default", "local")
        await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
        await ours.stage.until(lambda: ours.stage.running("patient"))
        await ours.stage.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await ours.stage.until(lambda: not ours.jobs)


@pytest.mark.any_cluster
async def test_a_pod_that_has_to_make_room_there_waits_here_as_if_it_had_never_run(
    stage: Stage, tmp_path: Path
) -> None:
    worker = KuelogWorker("w1", tmp_path, stage.clock)
    async with asyncio.timeout(200), managing(stage, [worker]):
        here, there = Pods(stage), Pods(worker.stage)
        big = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
        await stage.client.create(PODS, "default", pod("patient"))
        await stage.until(lambda: here.phase("patient") == "Running")
        await worker.stage.client.create(PODS, "default", pod("local", urgent=True, **big))
        await stage.until(lambda: here.phase("patient") == "Pending")
        assert is_gated(here.of("patient")) and not here.of("patient")["status"].get("containerStatuses")
        await there.until(lambda: there.phase("local") == "Running")
        await worker.stage.client.delete(PODS, "default", "local")
        await there.until(lambda: there.phase("patient") == "Running")
        await there.end("patient")
        await stage.until(lambda: here.phase("patient") == "Succeeded")
        (name,) = here.workloads()
        await here.until(lambda: here.reason(name) == "Succeeded")
        await worker.stage.until(lambda: not worker.copies and not there.of("patient"))
