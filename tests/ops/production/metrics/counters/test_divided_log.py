"""On a divided log everything counts once, in whichever partition it is decided, also over the move of a tree."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from events.admission import WorkloadAdmitted
from events.codec import decode_commit, decode_sighting
from events.control import LogPartitioned
from events.partition_map import PartitionMapObserved, TreePlacement
from events.subjects import CONTROL, FACTS
from events.workload import PodsReady, WorkloadFinished, WorkloadSubmitted
from ops.production.log.control import say
from ops.production.metrics.counters.followers import CountersFollowers
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.wiring import Running
from services.runtime.own_task import stopped
from tests.services.runtime.partition.test_forks import BESIDE, ORDER, OTHERS, Day, begun
from tests.stories.small_world import job, platform

CREATED = "kueue_workload_creation_latency_seconds"


@asynccontextmanager
async def counted(running: Running) -> AsyncIterator[CountersFollowers]:
    found = CountersFollowers(running)
    task = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        await stopped(task)


def tally(day: Day) -> tuple[Counter[str], Counter[str], int]:
    """Of the log itself: admissions and ends by queue, and how many workloads there were."""
    admitted, ended, queues = Counter[str](), Counter[str](), dict[str, str]()
    for name, entries in day.entries.items():
        for entry in entries if name.startswith("LOG_") else ():
            for event in decode_commit(entry.data).events:
                if isinstance(event, WorkloadAdmitted):
                    admitted[event.cluster_queue] += 1
                    queues[event.workload] = event.cluster_queue
    facts = [decode_sighting(one.data).fact for one in day.entries[FACTS]]
    for fact in facts:
        if isinstance(fact, WorkloadFinished):
            ended[queues[fact.workload]] += 1
    return admitted, ended, sum(isinstance(fact, WorkloadSubmitted) for fact in facts)


def told(followers: CountersFollowers) -> tuple[Counter[str], Counter[str], int]:
    """The same as it is exported."""
    families = {family.name: family for family in CounterMetrics(followers).collect()}

    def by_queue(name: str) -> Counter[str]:
        samples = families[name].samples if name in families else ()
        return Counter({one.labels["cluster_queue"]: int(one.value) for one in samples if one.name == f"{name}_total"})

    created = families[CREATED].samples if CREATED in families else ()
    count = sum(int(one.value) for one in created if one.name.endswith("_count"))
    return by_queue("kueue_admitted_workloads"), by_queue("kueue_finished_workloads"), count


async def is_told(day: Day, followers: CountersFollowers) -> None:
    async with asyncio.timeout(60):
        while told(followers) != tally(day):  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.01)


async def test_what_every_partition_hears_counts_where_it_is_decided() -> None:
    day = Day()
    await say(await day.bus.stream(CONTROL), LogPartitioned(partitions=2), 1)
    placed = PartitionMapObserved(partitions=2, placements=(TreePlacement(tree="queue/b", partition=1),))
    await day.tell(placed, *platform(nominal=2), *BESIDE, job("a"), OTHERS, job("b"), job("c"))
    async with day.served() as running, counted(running) as followers:
        await day.decided(running, "LOG_0", "LOG_1")
        await day.tell(WorkloadFinished(workload="other/j", reason="Succeeded"))
        await day.tell(WorkloadFinished(workload="team/a", reason="Succeeded"))
        await day.decided(running, "LOG_0", "LOG_1")
        await is_told(day, followers)
        assert tally(day) == (Counter(cq=3, b=1), Counter(cq=1, b=1), 4)


async def test_a_tree_that_moves_is_counted_on_by_the_partition_that_it_moves_into() -> None:
    day = await begun()
    async with day.served() as running, counted(running) as followers:
        await day.decided(running, "LOG_0")
        await is_told(day, followers)
    await day.fork()
    await day.tell(ORDER)
    async with day.served() as running, counted(running) as followers:
        await day.decided(running, "LOG_0", "LOG_1")
        async with asyncio.timeout(60):
            while followers.behind:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.01)
        await day.tell(WorkloadFinished(workload="team/a", reason="Succeeded"), to="LOG_1")
        await day.tell(PodsReady(workload="team/b", ready=True), job("d"), to="LOG_1")
        await day.decided(running, "LOG_0", "LOG_1")
        await is_told(day, followers)
        assert tally(day)[:2] == (Counter(cq=3, b=1), Counter(cq=1))
