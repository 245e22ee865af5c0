"""A configuration file that is changed, and changed back, holds each time a process begins with it."""

import asyncio

from events.codec import decode_sighting
from events.settings import SettingsObserved
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.watcher.shell import Watcher
from tests.services.watcher.scripted_cluster import Gate, Objects

BEFORE, AFTER = SettingsObserved(), SettingsObserved(gates={"TASFailedNodeReplacementFailFast": False})


async def test_a_configuration_that_is_taken_back_at_once_is_in_force_again() -> None:
    """The bus stores no message twice under one id for two minutes: what is told again needs an id of its own."""
    stream, objects = MemoryStream(FACTS), Objects()
    for settings in (BEFORE, AFTER, BEFORE, AFTER, AFTER, BEFORE):
        watcher = Watcher(Gate(objects), stream, ScaledClock(500), settings=settings)
        task = asyncio.create_task(watcher.run())
        await watcher.listed.wait()
        await watcher.outbox.stored()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    told = [decode_sighting(one.data).fact for one in stream.entries]
    assert [one for one in told if isinstance(one, SettingsObserved)] == [BEFORE, AFTER, BEFORE, AFTER, BEFORE]
