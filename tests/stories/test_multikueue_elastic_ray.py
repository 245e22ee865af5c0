"""Elastic jobs of Ray's that run on other clusters under kuelog, with the test in the operator's place there.

Rule: docs/rules/multikueue.md#slices-of-ray
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from events.job_kind import JobKind
from events.json_object import JsonObject
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER
from services.jobs.kinds.table import RAY_CLUSTER, RAY_JOB
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import NODES, Stage
from tests.stories.job_samples import running
from tests.stories.test_elastic_jobs import slices
from tests.stories.test_elastic_ray import Ray
from tests.stories.test_job_kinds import prepare
from tests.stories.test_multikueue import check_of, managing
from tests.stories.test_multikueue_elastic import places
from tests.stories.test_own_cards import many_cards

pytestmark = pytest.mark.bare_server


class Sent(Ray):
    """An elastic job of Ray's that may run elsewhere."""

    def wanted(self) -> int:
        """How many workers it is written to have."""
        return int(self.spec["workerGroupSpecs"][0]["replicas"])


@asynccontextmanager
async def elsewhere(
    tmp_path: Path, kind: JobKind, workers: int, *, autoscaled: bool
) -> AsyncGenerator[tuple[Sent, Sent]]:
    """The job here, and the one that was made of it in the only worker."""

    async def prepared(stage: Stage) -> None:
        await many_cards(stage)
        await stage.client.merge(NODES, "", "n2", {"metadata": {"labels": {"own": "yes"}}})
        await prepare(stage, *dict.fromkeys((RAY_CLUSTER, kind)))

    async with Stage(tmp_path) as stage:
        await prepared(stage)
        worker = KuelogWorker("w1", tmp_path, stage.clock, prepare=prepared)
        async with managing(stage, [worker]):
            here = Sent(stage, kind)
            await here.ask(workers, autoscaled=autoscaled, managed_by=MULTIKUEUE_MANAGER)
            await here.until(lambda: check_of(stage) == ("Ready", 'The workload was admitted on "w1"'))
            there = Sent(worker.stage, kind)
            await there.started("ray")
            await there.show("ray", running(kind))
            yield here, there


def admitted(play: Sent) -> list[int]:
    """How many workers each slice has been given that is not over."""
    return sorted(one[0] for one in play.given() if one)


async def test_a_job_of_ray_grows_and_shrinks_where_it_runs_as_it_is_written_here(tmp_path: Path) -> None:
    async with asyncio.timeout(150), elsewhere(tmp_path, RAY_CLUSTER, 2, autoscaled=False) as (here, there):
        await there.add_pods(["h"], "head")
        await there.add_pods(["p1", "p2", "p3", "p4"])
        await there.until(lambda: there.waiting() == ["p3", "p4"])
        first = there.job("ray")["metadata"]["uid"]

        await here.scale(4)
        await there.until(lambda: there.wanted() == 4 and admitted(there) == [4] and not there.waiting())
        await here.until(lambda: places(here.stage) == ["w1"] and admitted(here) == [4])

        await here.scale(40)
        await here.until(lambda: len(slices(here.stage, over=False)) == 2)
        assert there.wanted() == 4 and admitted(there) == [4], "it runs on while it waits for more"

        await here.scale(1)
        await there.until(lambda: there.wanted() == 1 and admitted(there) == [1])
        await here.until(lambda: admitted(here) == [1])
        assert there.job("ray")["metadata"]["uid"] == first and not here.stage.of("pods")

        await here.delete("ray")
        await there.until(lambda: not there.job("ray") and not there.stage.of("workloads.kueue.x-k8s.io"))


async def test_what_rays_autoscaler_changes_there_is_what_the_job_wants_here(tmp_path: Path) -> None:
    async with asyncio.timeout(150), elsewhere(tmp_path, RAY_JOB, 1, autoscaled=True) as (here, there):
        await there.make_cluster()
        await there.add_pods(["p1", "p2", "p3"])
        await there.until(lambda: there.waiting() == ["p2", "p3"])

        await there.autoscale(3)
        await here.until(lambda: here.wanted() == 3 and admitted(here) == [3])
        await there.until(lambda: admitted(there) == [3] and not there.waiting())
        assert there.wanted() == 1, "its operator has made the cluster of it, and the autoscaler changes that alone"

        await there.autoscale(2)
        await here.until(lambda: here.wanted() == 2 and admitted(here) == [2])
        await there.until(lambda: admitted(there) == [2])
        assert cluster_of(there)["spec"]["workerGroupSpecs"][0]["replicas"] == 2


def cluster_of(play: Sent) -> JsonObject:
    return play.stage.get("rayclusters.ray.io", "default", "ray-x")
