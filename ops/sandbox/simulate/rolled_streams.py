"""Streams of a simulated log that roll: for a while nothing is taken in, and later what was rolled goes from the bus.

It stays where the laws read it, as in an archive; the services have only what is left.
"""

import asyncio

from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.production.log.beginnings import check_beginnings
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.streams import streams_known
from ops.sandbox.simulate.fault_plan import FaultKind
from ops.sandbox.simulate.simulation import Simulation
from services.runtime.control_log import Control
from services.runtime.partition.errors import MessageHalts
from services.watcher.log_reading import ReportedByAll
from services.watcher.saved_view import KEY, ViewSaver
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View

_LOOK_S = 3.0
_LOOKS = 60


async def roll(simulation: Simulation, name: str, shut: Millis) -> None:
    """Have a stream go on in a fresh one: it is shut for so long, and what it held goes when nobody needs it any more."""
    stream = simulation.bus.memory(name)
    simulation.faults.last(name, FaultKind.STREAM_ROLL, shut / 1000)
    await asyncio.sleep(shut / 1000)
    upto = len(stream.entries)
    if upto < stream.first:
        return
    for _ in range(_LOOKS):
        await asyncio.sleep(_LOOK_S)
        if len(stream.entries) > upto and await _lets_go(simulation, name, upto):
            stream.remove(upto)
            return


async def restart_stopped(simulation: Simulation) -> None:
    """Start anew, as an operator would, what decides nothing any more because messages it had not read are gone."""
    while True:
        await asyncio.sleep(_LOOK_S)
        for process in simulation.processes:
            hosts = process.running.hosts.values() if process.up and process.running is not None else ()
            if not all(host.halts.allow_deciding for host in hosts):
                simulation.kill(process, 0)


async def _lets_go(simulation: Simulation, name: str, upto: int) -> bool:
    try:
        if name == FACTS:
            await _save_view(simulation)
        control = Control(simulation.bus.memory(CONTROL).entries)
        keys = (*streams_known(control).partitions, *((KEY,) if name == FACTS else ()))
        await check_beginnings(simulation.bus, simulation.shelf, keys, name, upto, control)
    except (StillNeeded, MessageHalts):
        return False
    return True


async def _save_view(simulation: Simulation) -> None:
    """What a watcher does every five minutes, which no history lasts. Raises `MessageHalts`."""
    settings = simulation.platform.settings
    control = Control(simulation.bus.memory(CONTROL).entries)
    facts = simulation.bus.memory(FACTS)
    await ViewSaver(
        facts, simulation.shelf, settings, lambda: ReportedByAll(View(settings=settings), SeenVersions(), control)
    ).save()
