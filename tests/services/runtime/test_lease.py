"""Who holds a lease counts by the answers of the bus, and whoever waits for that is told, however late they come."""

import asyncio

import pytest

from services.runtime import lease as module
from services.runtime.lease import Lease
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
