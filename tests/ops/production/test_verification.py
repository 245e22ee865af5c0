"""The verifier decides again what the others have decided, as it comes, and tells what came out otherwise."""

import asyncio
from typing import Any, cast

from events.catalogue import Decision
from events.rules import RULES
from ops.production.fold_positions import fold_positions
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.metrics.endpoint import exposition
from ops.production.metrics.verifications import VerificationMetrics
from ops.production.process.clock import ScaledClock
from ops.production.served import VERIFIER
from ops.production.verification import RunningVerification
from ops.production.wiring import Ports, Running
from projections.log_position import LogPosition
from projections.world import World
from services.queue_manager.decide import QueueManager
from services.runtime.log_port import Bus
from services.runtime.partition.host import Decider, PartitionHost
from services.runtime.tracing import NoTracer
from tests.ops.production.metrics.test_alarms import DECIDERS
from tests.services.runtime.partition.test_host import NoCluster, admitted, stop, tell
from tests.stories.small_world import job, platform


class Forgetful:
    """A queue manager that puts one workload less on the log than it has queued."""

    name = "queue-manager"

    def __init__(self) -> None:
        self._sound = QueueManager()

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        return self._sound.decide(world, position)[:-1]


class Failing:
    """A queue manager that this version fails on."""

    name = "queue-manager"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        raise ValueError(f"{len(world.workloads)} workloads at {position.sequence}")


def on(bus: Bus, *services: str) -> Running:
    nobody = cast(Any, NoCluster())
    return Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), services)


async def ended_at(bus: Bus, running: Running) -> None:
    """Until the verifier has folded all that is on the log."""
    for host in list(running.hosts.values()):
        await asyncio.wait_for(host.caught_up.wait(), 30)
        end = (await (await bus.stream(host.own.name)).last()).sequence
        while host.fold.base < end:  # noqa: ASYNC110 - of several hosts
            await asyncio.sleep(0.01)


async def verified(bus: Bus) -> Running:
    """A verifier that has come to the end of the log."""
    running = on(bus, VERIFIER)
    task = asyncio.create_task(running.run())
    while len(running.hosts) < 2:  # noqa: ASYNC110 - they begin one by one
        await asyncio.sleep(0.01)
    await ended_at(bus, running)
    await stop(task)
    return running


async def decided_by(bus: Bus, decider: Decider, rules: str = RULES) -> None:
    """Have one decider alone decide about what is there."""
    host = PartitionHost(
        own=await bus.stream(PARTITION),
        inputs=[await bus.stream(DEVICE_PARTITION), await bus.stream("FACTS")],
        deciders=[decider],
        clock=ScaledClock(),
        tracer=NoTracer(),
        rules=rules,
        replica="a",
    )
    task = asyncio.create_task(host.run())
    await asyncio.wait_for(host.quiet.wait(), 30)
    await stop(task)


async def told(running: Running) -> list[str]:
    metrics, found = VerificationMetrics(running), await fold_positions(running)
    metrics.look(found)
    return exposition(lambda: None, (), metrics).decode().splitlines()


async def test_what_services_decide_comes_out_the_same_while_they_run_and_it_is_told_when_that_was_seen() -> None:
    bus = MemoryBus()
    await tell(bus, [*platform(nominal=9), job("a"), job("b")])
    services, verifier = on(bus, *DECIDERS), on(bus, VERIFIER)
    tasks = [asyncio.create_task(one.run()) for one in (services, verifier)]
    await asyncio.wait_for(admitted(bus, 2), 30)
    await tell(bus, [job("c")], begin=1000)
    await asyncio.wait_for(admitted(bus, 3), 30)
    await asyncio.wait_for(services.quiet(), 30)
    await ended_at(bus, verifier)
    commits = {name: (await (await bus.stream(name)).last()).sequence for name in (PARTITION, DEVICE_PARTITION)}
    assert {name: one.verified for name, one in verifier.verifications.items()} == commits
    assert all(commits.values())
    assert [(one.different, one.other_states) for one in verifier.verifications.values()] == [(0, 0), (0, 0)]
    lines = await told(verifier)
    assert f'kuelog_replay_verified_total{{partition="{PARTITION}"}} {float(commits[PARTITION])}' in lines
    assert f'kuelog_replay_differences{{partition="{DEVICE_PARTITION}",what="state"}} 0.0' in lines
    seen = [line for line in lines if line.startswith("kuelog_replay_verified_timestamp_seconds{")]
    assert len(seen) == 2
    assert all(float(line.split()[-1]) > 1_000_000 for line in seen), "the end of the log was seen just now"
    await stop(*tasks)


async def test_a_commit_that_comes_out_otherwise_is_counted_and_what_follows_is_still_verified() -> None:
    bus = MemoryBus()
    await tell(bus, [*platform(nominal=9), job("a"), job("b")])
    await decided_by(bus, Forgetful())
    await tell(bus, [job("c")], begin=1000)
    await decided_by(bus, QueueManager())
    running = await verified(bus)
    found = running.verifications[PARTITION]
    assert (found.verified, found.different) == (2, 1)
    assert f'kuelog_replay_differences{{partition="{PARTITION}",what="decision"}} 1.0' in await told(running)


async def test_a_decider_that_fails_on_what_it_once_decided_is_a_difference_and_ends_nothing() -> None:
    bus = MemoryBus()
    await tell(bus, [*platform(nominal=9), job("a")])
    await decided_by(bus, QueueManager())
    running = on(bus, VERIFIER)
    running.verifications[PARTITION] = RunningVerification(PARTITION, [Failing()])
    task = asyncio.create_task(running.run())
    while len(running.hosts) < 2:  # noqa: ASYNC110 - they begin one by one
        await asyncio.sleep(0.01)
    await ended_at(bus, running)
    assert (running.verifications[PARTITION].different, running.hosts[PARTITION].halted) == (1, "")
    await stop(task)


async def test_commits_of_other_rules_are_folded_and_no_difference() -> None:
    bus = MemoryBus()
    await tell(bus, [*platform(nominal=9), job("a"), job("b")])
    await decided_by(bus, Forgetful(), rules="0")
    running = await verified(bus)
    found = running.verifications[PARTITION]
    assert (found.verified, found.different, found.passed_over) == (0, 0, 1)
    assert running.hosts[PARTITION].fold.base == 1
    assert f'kuelog_replay_other_rules{{partition="{PARTITION}"}} 1.0' in await told(running)
