"""Elastic jobs that run on other clusters under kuelog: they grow and shrink where they run.

Rule: docs/rules/multikueue.md#slices
"""

import asyncio
from pathlib import Path
from typing import Any

from events.json_path import look
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import JOBS, Stage
from tests.stories.test_elastic_jobs import elastic, runs, scale, slices
from tests.stories.test_multikueue import managing
from tests.stories.test_own_cards import alive, many_cards, wide


def sent(name: str, count: int) -> dict[str, Any]:
    """An elastic job that may run elsewhere; its pods go on until they are ended."""
    return tolerant({**elastic(name, count)}, managedBy=MULTIKUEUE_MANAGER)


def tolerant(job: dict[str, Any], **fields: Any) -> dict[str, Any]:
    template = job["spec"]["template"]
    template["metadata"]["annotations"]["kuelog.io/run-seconds"] = "36000"
    template["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {**job, "spec": {**job["spec"], **fields}}


def places(stage: Stage) -> list[str]:
    """The clusters in which the slices here run that are not over."""
    return [str(look(one, "status.clusterName") or "") for one in slices(stage, over=False)]


def ready(stage: Stage, name: str) -> int:
    """How many pods of a job are ready, as it shows here."""
    return int(look(stage.get("jobs.batch", "default", name), "status.ready") or 0)


def sizes(worker: KuelogWorker) -> list[int]:
    """How many pods the copies ask for that are not over."""
    return [one["spec"]["podSets"][0]["count"] for one in slices(worker.stage, over=False) if not _is_local(one)]


def _is_local(workload: dict[str, Any]) -> bool:
    return "kueue.x-k8s.io/multikueue-origin" not in workload["metadata"]["labels"]


async def test_a_job_grows_shrinks_and_waits_for_more_in_the_cluster_in_which_it_runs(tmp_path: Path) -> None:
    async with asyncio.timeout(200), Stage(tmp_path) as stage:
        workers = [KuelogWorker(name, tmp_path, stage.clock, prepare=many_cards) for name in ("w1", "w2")]
        await many_cards(stage)
        async with managing(stage, workers):
            await stage.add(sent("grow", 2))
            await stage.until(lambda: ready(stage, "grow") == 2 and places(stage) != [""])
            (place,) = places(stage)
            there, other = sorted(workers, key=lambda one: one.name != place)
            await there.stage.until(lambda: runs(there.stage, "grow", 2))
            first = {one["metadata"]["uid"] for one in alive(there.stage, "grow")}

            await scale(stage, "grow", 4)
            await there.stage.until(lambda: runs(there.stage, "grow", 4))
            await stage.until(lambda: ready(stage, "grow") == 4 and places(stage) == [place])
            assert first < {one["metadata"]["uid"] for one in alive(there.stage, "grow")}, "no pod began anew"
            assert not stage.of("pods") and not other.copies and not other.jobs

            await scale(stage, "grow", 1)
            await there.stage.until(lambda: runs(there.stage, "grow", 1) and sizes(there) == [1])
            await stage.until(lambda: ready(stage, "grow") == 1)
            assert len(slices(stage, over=False)) == 1 and places(stage) == [place], "in place"
            (kept,) = [one["metadata"]["uid"] for one in alive(there.stage, "grow")]

            await there.stage.add(tolerant(wide("local", 3)))
            await there.stage.until(lambda: runs(there.stage, "local", 3))
            await scale(stage, "grow", 4)
            await there.stage.until(lambda: sorted(sizes(there)) == [1, 4])
            assert runs(there.stage, "grow", 1), "it runs on while it waits for more"
            await stage.until(lambda: places(stage) == [place])
            await there.stage.client.delete(JOBS, "default", "local")
            await there.stage.until(lambda: runs(there.stage, "grow", 4))
            await stage.until(lambda: ready(stage, "grow") == 4)
            assert kept in {one["metadata"]["uid"] for one in alive(there.stage, "grow")}
            assert not other.copies and not other.jobs

            await there.stage.end_pods("grow")
            await stage.until(lambda: stage.complete("grow"))
            await there.stage.until(lambda: not there.copies and not there.jobs)
