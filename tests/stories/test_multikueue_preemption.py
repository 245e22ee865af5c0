"""Preemption and jobs that run elsewhere: in which cluster they preempt, and how they stop there when they are preempted here.

Rule: docs/rules/multikueue.md#preemption
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from events.codec import decode_commit
from events.event import Event
from events.preemption import PreemptionOrdered
from events.workload import EvictionOrdered
from ops.production.log.streams import PARTITION
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import Stage, job
from tests.stories.test_multikueue import SETTINGS, check_of, delegated, managing

T = TypeVar("T", bound=Event)
GATES = {"MultiKueueOrchestratedPreemption": True}


async def ordered(worker: KuelogWorker, kind: type[T]) -> list[T]:
    """What was decided of this kind on the worker's own log."""
    log = await worker.stage.bus.stream(PARTITION)
    commits = [decode_commit(entry.data) async for batch in log.read(0) for entry in batch]
    return [one for commit in commits for one in commit.events if isinstance(one, kind)]


async def test_a_job_that_has_to_preempt_everywhere_does_so_in_one_cluster_only(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage:
        workers = [KuelogWorker(name, tmp_path, stage.clock, gates=GATES) for name in ("w1", "w2")]
        async with managing(stage, workers, replace(SETTINGS, gates=GATES)):
            for stage_there in [one.stage for one in workers]:
                await stage_there.add(job("local", 5000))
                await stage_there.until(partial(stage_there.running, "local"))
            urgent = delegated("patient", 5000)
            urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
            await stage.add(urgent)
            await stage.until(lambda: check_of(stage)[0] == "Ready")
            await stage.until(lambda: stage.running("patient"))
            preempted = [len(await ordered(one, PreemptionOrdered)) for one in workers]
            assert sorted(preempted) == [0, 1]


async def test_a_job_that_is_preempted_here_stops_there_and_the_log_there_says_why(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage:
        worker = KuelogWorker("w1", tmp_path, stage.clock)
        async with managing(stage, [worker]):
            await stage.add(delegated("patient", 5000))
            await stage.until(lambda: stage.running("patient"))
            urgent = delegated("urgent", 20)
            urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
            await stage.add(urgent)
            await stage.until(lambda: stage.complete("urgent"))
            await stage.until(lambda: stage.running("patient"))
            (order,) = await ordered(worker, EvictionOrdered)
            assert (order.reason, order.cause) == ("Deactivated", "EvictedOnManagerCluster")
            assert order.message.startswith("The workload is deactivated due to Evicted on manager: Preempted to")
