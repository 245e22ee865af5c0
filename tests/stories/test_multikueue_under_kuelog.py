"""Jobs that run on other clusters where kuelog decides there, too: a manager and two workers, each with a log of its own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import JOBS, Stage, job
from tests.stories.test_checks import conditions, workload
from tests.stories.test_multikueue import delegated, managing


@asynccontextmanager
async def kuelogs(stage: Stage, folder: Path) -> AsyncGenerator[list[KuelogWorker]]:
    """Two workers and a manager; in the end all that was decided on each log is decided again."""
    workers = [KuelogWorker(name, folder, stage.clock) for name in ("w1", "w2")]
    async with managing(stage, workers):
        yield workers
        for one in workers:
            _, replayed = fold_partition(PARTITION, await read_everything(one.stage.bus), verify=True)
            assert not replayed.differences, f"every decision of {one.name}, decided again, is the same"


def place(stage: Stage) -> str:
    """The cluster in which the only workload runs."""
    return str(workload(stage).get("status", {}).get("clusterName") or "")


async def test_a_job_runs_in_the_cluster_that_has_room_and_nothing_of_it_stays_there(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, kuelogs(stage, tmp_path) as (w1, w2):
        await w1.stage.add(job("local", 36000))
        await w1.stage.until(lambda: w1.stage.running("local"))
        await stage.add(delegated("patient", 36000))
        await stage.until(lambda: place(stage) == "w2")
        await stage.until(lambda: stage.running("patient"))
        await w2.stage.until(lambda: w2.stage.running("patient"))
        assert not stage.of("pods"), "no pod of it runs here"
        (there,) = w2.copies
        assert [one["name"] for one in there["metadata"]["ownerReferences"]] == ["patient"]
        assert [one["metadata"]["name"] for one in w1.jobs] == ["local"], "the loser got no job"
        await w2.stage.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await w2.stage.until(lambda: not w2.copies and not w2.jobs)


async def test_a_job_that_has_to_make_room_there_comes_back_and_runs_in_the_other_cluster(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, kuelogs(stage, tmp_path) as (w1, w2):
        await w2.stage.add(job("local", 36000, urgent=True))
        await w2.stage.until(lambda: w2.stage.running("local"))
        await stage.add(delegated("patient", 36000))
        await stage.until(lambda: place(stage) == "w1" and stage.running("patient"))
        await w2.stage.client.delete(JOBS, "default", "local")
        await w1.stage.add(job("urgent", 36000, urgent=True))
        await w1.stage.until(lambda: w1.stage.running("urgent"))
        await stage.until(lambda: place(stage) == "w2" and stage.running("patient"))


async def test_a_job_that_is_deleted_here_is_gone_there(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, kuelogs(stage, tmp_path) as workers:
        await stage.add(delegated("patient", 36000))
        await stage.until(lambda: stage.running("patient"))
        await stage.client.delete(JOBS, "default", "patient")
        for one in workers:
            await one.stage.until(lambda one=one: not one.copies and not one.jobs)
