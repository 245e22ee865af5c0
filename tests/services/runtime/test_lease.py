"""Who holds a lease counts by the answers of the bus, and whoever waits for that is told, however late they come."""

import asyncio

import pytest

from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.runtime import lease as module
from services.runtime.lease import Lease, Readiness
from services.runtime.log_errors import LogUnavailable
from tests.services.multikueue.test_lanes import FreeLease

SOON = 30


class SlowToGive(FreeLease):
    """Leases of which the first answer comes when what it says counts no more."""

    async def take(self, name: str, replica: str) -> int:
        await asyncio.sleep(2 * module.COUNTS_FOR_S)
        return await super().take(name, replica)


async def test_who_was_given_it_so_late_that_it_counted_no_more_is_told_when_it_counts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "COUNTS_FOR_S", 0.1)
    monkeypatch.setattr(module, "RENEWED_EVERY_S", 0.01)
    lease, told, counts = Lease(SlowToGive(), "LOG_0.deciders", "a"), list[bool](), asyncio.Event()

    def look() -> None:
        told.append(lease.held)
        if lease.held:
            counts.set()

    lease.listeners.append(look)
    running = asyncio.create_task(lease.run())
    try:
        await asyncio.wait_for(counts.wait(), SOON)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert not told[0]
    assert lease.grants == 1, "it was never another's"


class Reached(FreeLease):
    """Leases that can be asked for as long as the bus is there."""

    def __init__(self, *, there: bool) -> None:
        self.there = there

    def _ask(self) -> None:
        if not self.there:
            raise LogUnavailable(stream="LEASES", problem="away")

    async def take(self, name: str, replica: str) -> int:
        self._ask()
        return await super().take(name, replica)

    async def renew(self, name: str, replica: str, held: int) -> int:
        self._ask()
        return await super().renew(name, replica, held)


def held_at(lease: Lease, *times: float) -> list[bool]:
    """Whether it is held so many seconds after it was first looked at."""

    async def looked() -> list[bool]:
        loop, running = asyncio.get_running_loop(), asyncio.create_task(lease.run())
        found: list[bool] = []
        for at in times:
            await asyncio.sleep(at - loop.time())
            found.append(lease.held)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return found

    loop = VirtualLoop("leases")
    try:
        return loop.run_until_complete(looked())
    finally:
        loop.close()


def test_a_lease_that_could_not_be_renewed_for_two_seconds_counts_no_more() -> None:
    leases = Reached(there=True)
    lease = Lease(leases, "watcher", "a")

    def goes_away() -> None:
        leases.there = False

    lease.listeners.append(goes_away)
    assert held_at(lease, 0.1, 1.9, 2.1) == [True, True, False]


def test_where_leases_can_not_be_asked_for_ten_seconds_work_is_done_without() -> None:
    assert held_at(Lease(Reached(there=False), "watcher", "a"), 9.9, 10.1) == [False, True]


def test_a_lease_that_is_free_is_left_for_a_second_to_the_replica_whose_share_it_is() -> None:
    async def takes(_: str) -> bool:
        return own

    for own, expected in ((False, [False, False, True]), (True, [True, True, True])):
        assert held_at(Lease(Reached(there=True), "watcher", "a", takes=takes), 0.1, 0.9, 1.1) == expected, own


@pytest.mark.parametrize(
    ("readiness", "stays"),
    [(Readiness.STANDS_BACK, False), (Readiness.KEEPS, True)],
    ids=["another could", "nobody should"],
)
def test_who_can_not_go_on_takes_no_lease_and_keeps_what_he_has_where_nobody_should_go_on(
    readiness: Readiness, *, stays: bool
) -> None:
    def halt() -> None:
        lease.readiness = lambda: readiness

    lease = Lease(Reached(there=True), "watcher", "a")
    lease.listeners.append(halt)
    assert held_at(lease, 0.1, 5.0) == [True, stays]
    lease = Lease(Reached(there=True), "watcher", "a")
    halt()
    assert held_at(lease, 0.1, 5.0) == [False, False]
