"""Replicas of two versions of the rules on one partition: each folds the other, and every commit says whose it is."""

import asyncio

from events.rules import RULES
from ops.production.archive.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from services.runtime.partition.host import PartitionHost
from tests.services.runtime.partition.test_host import admitted, host, stop, tell, without_cards
from tests.stories.small_world import job


async def of_rules(bus: MemoryBus, rules: str, decider: QueueManager | Admitter) -> PartitionHost:
    one = await host(bus, decider, replica=f"{decider.name} {rules}")
    one._rules = rules  # pyright: ignore[reportPrivateUsage] - the version that this replica runs
    return one


async def test_replicas_of_two_versions_of_the_rules_work_side_by_side_and_replay_tells_them_apart() -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(nominal=40))
    hosts = [await of_rules(bus, "1", QueueManager()), await of_rules(bus, RULES, Admitter())]
    tasks = [asyncio.create_task(one.run()) for one in hosts]
    for number in range(40):
        await tell(bus, [job(f"j{number}")], begin=1000 + number)
    found = await asyncio.wait_for(admitted(bus, 40), 60)
    await stop(*tasks)
    assert len(set(found)) == len(found) == 40
    _, replayed = fold_partition(PARTITION, await read_everything(bus), verify=True)
    assert sorted(replayed.rules) == ["1", RULES]
    assert replayed.differences == ()
