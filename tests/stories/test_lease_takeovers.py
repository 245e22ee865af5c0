"""Services as processes of their own: whoever holds the leases is killed, and the others take over within what the bus keeps a lease for."""

import asyncio
from contextlib import aclosing

import pytest

from events.codec import decode_commit
from events.control import EpochStarted
from ops.production.archive.history import read_everything
from ops.production.log.jetstream.generations import asked
from ops.production.log.jetstream.leases import KEPT_FOR_S, STREAM
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.own_leases import ANNOUNCED_EVERY_S
from ops.production.served import SERVICES
from ops.queries.replay import fold_partition
from services.runtime.lease import LEFT_TO_OTHERS_S, LOOKED_EVERY_S
from tests.stage.processes import ServiceProcess
from tests.stage.stage import Stage, job

TWICE = ("watcher", "admitter", "applier")
LEASES = {"watcher": "watcher", "admitter": f"{PARTITION}.admitter", "applier": f"{PARTITION}.applier"}
AIM_S = 5.0


async def started(stage: Stage, author: str, epoch: int) -> int:
    """When an author began an epoch, by the bus's own time: it is waited for."""
    stream = await stage.bus.stream(PARTITION)
    async with aclosing(stream.follow(0)) as batches:
        async for batch in batches:
            for entry in batch:
                for event in decode_commit(entry.data).events:
                    if isinstance(event, EpochStarted) and event.service == author and event.epoch >= epoch:
                        return entry.stored
    raise AssertionError("the log has no end")


async def holders(stage: Stage) -> dict[str, str]:
    """Who holds the leases of the services that there are two of, by service, once all are held."""
    while True:
        found = await stage.bus.leases.holders()
        if set(LEASES.values()) <= set(found):
            return {service: found[lease] for service, lease in LEASES.items()}
        await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_of_replicas_that_are_killed_the_others_take_over_as_soon_as_the_bus_forgets_their_leases(
    embedded_stage: Stage,
) -> None:
    stage = embedded_stage
    await stage.bus.leases.prepare()
    info = await asked(stage.bus.client, f"STREAM.INFO.{STREAM}", {})
    assert info["config"]["max_age"] == KEPT_FOR_S * 1_000_000_000
    assert KEPT_FOR_S + LOOKED_EVERY_S + LEFT_TO_OTHERS_S < AIM_S, "what a takeover takes at most, before it is decided"
    assert ANNOUNCED_EVERY_S < KEPT_FOR_S
    stage.serve(*(one for one in SERVICES if one not in TWICE), replica="others")
    twins: dict[str, ServiceProcess] = {}
    for service in (*TWICE, *TWICE):
        one = await stage.start_process(service)
        await one.serving()
        twins[one.replica] = one
    await stage.add(job("before", 1))
    await stage.until(lambda: stage.complete("before"))
    first = await started(stage, "admitter", 1)
    held = await holders(stage)
    killed_at = await (await stage.bus.stream(PARTITION)).now()
    await asyncio.gather(*(twins[replica].kill() for replica in held.values()))
    await stage.add(job("after", 1))
    taken = await started(stage, "admitter", 2)
    await stage.until(lambda: stage.complete("after"))
    assert first <= killed_at <= taken
    print(f"TAKEOVER decided {taken - killed_at} ms after the kill")
    heirs = await holders(stage)
    for service, replica in held.items():
        assert heirs[service] != replica and twins[heirs[service]].order.service == service
    log = await read_everything(stage.bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        _, replayed = fold_partition(partition, log, verify=True)
        assert not replayed.is_wrong
