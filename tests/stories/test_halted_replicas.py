"""Two replicas of every service on a real bus, of which one halts: the other takes over where it can go on, and only there."""

import asyncio
from collections.abc import Callable

import pytest

from events.event import Millis
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from services.runtime.partition.halts import CLOCK, REGRESSED, STOPPED
from tests.stage.stage import SCALE, Stage
from tests.stories.test_leases import Replica, play, replay_is_right

A_DAY: Millis = 86_400_000


class WrongClock(ScaledClock):
    """A clock that can be set wrong."""

    def __init__(self, right: ScaledClock) -> None:
        super().__init__(SCALE, right.began)
        self.wrong_by: Millis = 0
        self._right = right

    def now(self) -> Millis:
        return self._right.now() + self.wrong_by


def stop(replica: Replica, kind: str) -> None:
    for host in replica.running.hosts.values():
        host.stop_deciding(f"{host.own.name} does not go on", kind)


def leases_of(replica: Replica) -> dict[str, bool]:
    return {one.name: one.held for one in replica.running.leases.all if one.name != "watcher"}


async def holds_what_partitions_need(replica: Replica) -> None:
    for one in replica.running.leases.all:
        if one.name != "watcher":
            await asyncio.wait_for(one.gained.wait(), 30)


@pytest.fixture(autouse=True)
def unshared(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lease moves because it is another's share."""
    monkeypatch.setattr("ops.production.own_leases.KEPT_AT_LEAST_S", 1e9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STOPPED, CLOCK])
async def test_another_replica_takes_over_from_one_that_alone_can_not_go_on(stage: Stage, kind: str) -> None:
    clock = WrongClock(stage.clock)
    halt: dict[str, Callable[[], object]] = {
        STOPPED: lambda: stop(first, STOPPED),
        CLOCK: lambda: setattr(clock, "wrong_by", A_DAY),
    }
    await stage.bus.leases.prepare()
    if kind == CLOCK:
        # A watcher whose clock is wrong says so of all that it sees, and is not what this is about.
        stage.serve("watcher")
    first = Replica(stage, "first", clock, [one for one in SERVICES if kind != CLOCK or one != "watcher"])
    await first.serves()
    second = Replica(stage, "second", services=first.running.services)
    await second.waits()
    await asyncio.wait_for(play(stage, "before"), 90)
    halt[kind]()
    await asyncio.wait_for(play(stage, "after"), 90)
    await holds_what_partitions_need(second)
    assert not any(leases_of(first).values())
    assert all(host.halts.kinds == [kind] for host in first.running.hosts.values())
    if kind == CLOCK:
        clock.wrong_by = 0
        await second.stop()
        await holds_what_partitions_need(first)
        await asyncio.wait_for(play(stage, "right-again"), 90)
        await first.stop()
    else:
        third = Replica(stage, "third")
        await third.waits()
        await second.stop()
        await holds_what_partitions_need(third)
        assert not any(leases_of(first).values()), "who can't go on takes nothing that is free"
        await first.stop()
        await third.stop()
    # What its applier reports while its clock is wrong stands on the log at a wrong time.
    await replay_is_right(stage, amiss=kind == CLOCK)


@pytest.mark.slow
async def test_where_the_log_itself_is_not_what_it_was_nobody_takes_over_until_a_replica_begins_anew(
    stage: Stage,
) -> None:
    await stage.bus.leases.prepare()
    first = Replica(stage, "first")
    await first.serves()
    second = Replica(stage, "second")
    await second.waits()
    await asyncio.wait_for(play(stage, "before"), 90)
    stop(first, REGRESSED)
    stop(second, REGRESSED)
    third = Replica(stage, "third")
    await third.waits()
    assert all(leases_of(first).values())
    grants = [one.grants for one in second.running.leases.all]
    await first.stop()
    await holds_what_partitions_need(third)
    await asyncio.wait_for(play(stage, "after"), 90)
    assert [one.grants for one in second.running.leases.all if one.name != "watcher"] == grants[1:] == [0, 0, 0]
    await second.stop()
    await third.stop()
    await replay_is_right(stage)
