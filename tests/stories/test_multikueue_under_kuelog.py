"""Jobs that run on other clusters where kuelog decides there, too: a manager and two workers, each with a log of its own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.api.labels import MULTIKUEUE_WORKER_POD
from events.catalogue import Decision
from events.codec import decode_commit, decode_sighting
from events.hash_chain import bytes_hash
from events.multikueue import (
    BY_ESTIMATE,
    ClusterChosen,
    ClustersNominated,
    EstimatesAsked,
    RemoteWorkloadObserved,
)
from events.settings import SettingsObserved
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from services.runtime.log_port import Entry
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import JOBS, Stage, job
from tests.stories.test_checks import conditions, workload
from tests.stories.test_multikueue import RULE, SETTINGS, delegated, managing


@asynccontextmanager
async def kuelogs(
    stage: Stage, folder: Path, *, settings: SettingsObserved = SETTINGS
) -> AsyncGenerator[list[KuelogWorker]]:
    """Two workers and a manager; in the end all that was decided on each log is decided again."""
    workers = [KuelogWorker(name, folder, stage.clock) for name in ("w1", "w2")]
    async with managing(stage, workers, settings):
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
        (pod,) = w2.stage.of("pods")
        assert pod["metadata"]["labels"][MULTIKUEUE_WORKER_POD] == "true"
        (local,) = w1.stage.of("pods")
        assert MULTIKUEUE_WORKER_POD not in local["metadata"]["labels"]
        (there,) = w2.copies
        assert [one["name"] for one in there["metadata"]["ownerReferences"]] == ["patient"]
        assert [one["metadata"]["name"] for one in w1.jobs] == ["local"], "the loser got no job"
        await w2.stage.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await w2.stage.until(lambda: not w2.copies and not w2.jobs)


async def test_the_choice_of_a_cluster_cites_the_commit_of_that_cluster_s_log_by_which_it_admitted_the_copy(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, kuelogs(stage, tmp_path) as (w1, w2):
        for one in (w1, w2):
            await one.stage.add(job("local", 36000))
            await one.stage.until(lambda one=one: one.stage.running("local"))
        await stage.add(delegated("patient", 36000))
        while not (waits := [one.cited for one in (await seen(stage)).values() if one.cited]):  # noqa: ASYNC110 - it comes over the log
            await asyncio.sleep(0.05)
        assert waits[0].place.startswith("LOG_0/"), "so does a cluster that has no room"
        await w2.stage.end_pods("local")
        await stage.until(lambda: place(stage) == "w2")
        await stage.until(lambda: stage.running("patient"))
        (chosen,) = [one for one in await decided(stage) if isinstance(one, ClusterChosen)]
        cited = chosen.cited
        assert cited is not None
        (stored,) = [one for one in await stored_in(w2.stage, cited.stream) if one.sequence == cited.sequence]
        assert cited.sha256 == bytes_hash(stored.data)
        admitted = [one for one in decode_commit(stored.data).events if isinstance(one, WorkloadAdmitted)]
        assert [one.workload for one in admitted] == [chosen.workload]


async def stored_in(stage: Stage, stream: str) -> list[Entry]:
    """All messages of a stream."""
    return (await read_everything(stage.bus))[stream]


async def decided(stage: Stage) -> list[Decision]:
    """All decisions of the manager."""
    return [event for entry in await stored_in(stage, PARTITION) for event in decode_commit(entry.data).events]


async def seen(stage: Stage) -> dict[str, RemoteWorkloadObserved]:
    """By cluster, the last that was seen of a copy there."""
    facts = [decode_sighting(entry.data).fact for entry in await stored_in(stage, FACTS)]
    return {one.cluster: one for one in facts if isinstance(one, RemoteWorkloadObserved)}


async def test_a_job_is_tried_where_it_would_start_at_once_by_what_each_cluster_answers_beforehand(
    tmp_path: Path,
) -> None:
    asking = replace(RULE, dispatcher=BY_ESTIMATE, estimate_timeout=3_600_000)
    settings = replace(SETTINGS, multikueue=asking)
    async with asyncio.timeout(150), Stage(tmp_path) as stage, kuelogs(stage, tmp_path, settings=settings) as (w1, w2):
        await w1.stage.add(job("local", 36000))
        await w1.stage.until(lambda: w1.stage.running("local"))
        await stage.add(delegated("patient", 36000))
        await stage.until(lambda: place(stage) == "w2" and stage.running("patient"))
        said = await decided(stage)
        assert [one.clusters for one in said if isinstance(one, EstimatesAsked)] == [("w1", "w2")]
        (sent,) = [one for one in said if isinstance(one, ClustersNominated)]
        assert (sent.clusters, sent.later) == (("w2",), ("w1",))
        assert sent.why == "w2 is preferred by EarliestStart: w1 would have it wait behind 0; w2 would start it now"
        await w1.stage.until(lambda: not w1.copies or [one["metadata"]["name"] for one in w1.jobs] == ["local"])
        assert not [
            one for one in await decided(w1.stage) if isinstance(one, QuotaReserved) and "patient" in one.workload
        ]


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
