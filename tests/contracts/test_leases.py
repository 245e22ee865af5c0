"""Leases on a real server: one of several replicas has it, and another gets it when it is given back or no longer renewed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.leases import BusLeases
from services.runtime.lease import Lease, Readiness
from services.runtime.log_errors import LogUnavailable

SOON = 30


@asynccontextmanager
async def running(*leases: Lease) -> AsyncIterator[list["asyncio.Task[None]"]]:
    tasks = [asyncio.create_task(one.run()) for one in leases]
    try:
        yield tasks
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_has_it_and_it_is_renewed_only_by_who_has_it(bus: JetStreamBus) -> None:
    leases = bus.leases
    held = await leases.take("LOG_0.applier", "a")
    assert held and not await leases.take("LOG_0.applier", "b")
    again = await leases.renew("LOG_0.applier", "a", held)
    assert again > held
    assert not await leases.renew("LOG_0.applier", "a", held), "that was before it was renewed"
    assert await leases.take("watcher", "b"), "another lease is another's"
    assert await leases.holders() == {"LOG_0.applier": "a", "watcher": "b"}


async def test_what_is_given_back_is_had_by_the_next_at_once_and_by_nobody_twice(bus: JetStreamBus) -> None:
    leases = bus.leases
    held = await leases.take("watcher", "a")
    await leases.give_back("watcher", held)
    assert await leases.holders() == {}
    taken = await asyncio.gather(*(leases.take("watcher", name) for name in "bcd"))
    assert len([one for one in taken if one]) == 1
    await leases.give_back("watcher", held)
    assert len(await leases.holders()) == 1, "who has it no more can't give it back for another"


async def test_a_replica_that_ends_hands_over_and_one_that_falls_silent_is_replaced(bus: JetStreamBus) -> None:
    first, second, third = (Lease(bus.leases, "watcher", name) for name in "abc")
    async with running(first) as (task,):
        await asyncio.wait_for(first.gained.wait(), SOON)
        async with running(second):
            await asyncio.wait_for(second.known.wait(), SOON)
            assert (first.held, second.held) == (True, False)
            task.cancel()
            await asyncio.wait_for(second.gained.wait(), SOON)
            assert not first.held
    assert await bus.leases.take("watcher", "silent"), "it is never renewed"
    async with running(third):
        await asyncio.wait_for(third.known.wait(), SOON)
        assert not third.held
        await asyncio.wait_for(third.gained.wait(), SOON)


async def test_who_could_not_renew_it_in_time_stands_back_by_its_own_clock(
    bus: JetStreamBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = Lease(bus.leases, "watcher", "a")

    async def away(*_: object) -> int:
        raise LogUnavailable(stream="LEASES", problem="away")

    async with running(lease):
        await asyncio.wait_for(lease.gained.wait(), SOON)
        monkeypatch.setattr(bus.leases, "renew", away)
        await asyncio.wait_for(lease.lost.wait(), SOON)
        assert not lease.held


async def test_where_leases_can_not_be_asked_for_long_work_is_done_without_them(
    bus: JetStreamBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.runtime.lease.GOES_WITHOUT_AFTER_S", 0.0)

    class Away(BusLeases):
        async def take(self, name: str, replica: str) -> int:
            raise LogUnavailable(stream="LEASES", problem=f"{name} of {replica}: away")

    lease = Lease(Away(bus.client, replicas=1), "watcher", "a")
    async with running(lease):
        await asyncio.wait_for(lease.gained.wait(), SOON)
        assert lease.held


async def test_a_lease_that_the_log_says_another_has_taken_over_is_let_go(bus: JetStreamBus) -> None:
    lease = Lease(bus.leases, "watcher", "a")
    told: list[bool] = []
    lease.listeners.append(lambda: told.append(lease.held))
    async with running(lease):
        await asyncio.wait_for(lease.gained.wait(), SOON)
        lease.let_go()
        assert not lease.held
        await asyncio.wait_for(lease.gained.wait(), SOON)
    assert told[:2] == [True, False] and lease.grants == 2


async def test_who_can_not_go_on_gives_it_back_and_takes_it_again_only_when_it_can(bus: JetStreamBus) -> None:
    first, second, third = (Lease(bus.leases, "watcher", name) for name in "abc")
    async with running(first):
        await asyncio.wait_for(first.gained.wait(), SOON)
        first.readiness = lambda: Readiness.STANDS_BACK
        async with running(second):
            await asyncio.wait_for(second.gained.wait(), SOON)
            assert first.given_back == 1 and not first.held
        async with running(third):
            await asyncio.wait_for(third.gained.wait(), SOON)
            assert first.grants == 1, "it was free for a while, and not taken"
        first.readiness = lambda: Readiness.READY
        await asyncio.wait_for(first.gained.wait(), SOON)


async def test_where_nobody_should_go_on_it_stays_where_it_is_and_nobody_takes_it_who_should_not(
    bus: JetStreamBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals, often, renew = [0], asyncio.Event(), bus.leases.renew

    async def counted(name: str, replica: str, held: int) -> int:
        renewals[0] += 1
        if renewals[0] > 5:
            often.set()
        return await renew(name, replica, held)

    first, second, third = (Lease(bus.leases, "watcher", name) for name in "abc")
    async with running(second):
        second.readiness = lambda: Readiness.KEEPS
        async with running(first):
            await asyncio.wait_for(first.gained.wait(), SOON)
            first.readiness = lambda: Readiness.KEEPS
            monkeypatch.setattr(bus.leases, "renew", counted)
            await asyncio.wait_for(often.wait(), SOON)
            assert (first.held, first.given_back, second.grants) == (True, 0, 0)
        async with running(third):
            await asyncio.wait_for(third.gained.wait(), SOON)
            assert second.grants == 0
