"""What operators of a simulated platform do: they enter prices, and have skipped what the services say halts them."""

import asyncio
import re
from contextlib import suppress

from events.billing import PriceListSet
from events.control import Quarantined
from events.subjects import CONTROL
from ops.queries.billing.entering import enter
from ops.queries.billing.problems import BillRefused
from ops.queries.quarantine import QuarantineRefused, refuse_if_folded
from ops.sandbox.simulate.simulation import Simulation

_AGAIN_S = 1.0
_LOOKS_S = 2.0
_LOOKS = 30
_HALTING = re.compile(r"(\w+) (?:is broken at )?sequence (\d+)")


async def enter_at_last(simulation: Simulation, event: PriceListSet | Quarantined) -> None:
    """Enter an event; when somebody else was faster, look again and try again."""
    while True:
        await simulation.reach_bus()
        with suppress(BillRefused):
            await enter(simulation.bus, event, simulation.clock.now(), simulation.bus.memory(CONTROL).entries)
            return
        await asyncio.sleep(_AGAIN_S)


async def skip_what_halts(simulation: Simulation) -> None:
    """For a while, look at which messages halt the services, and have these skipped; and again when all faults have ended.

    Whoever was paused, or did not reach the bus, is halted by a message only long after it was stored.
    """
    called_amid_faults = not simulation.faults.calm
    await _skip_for_a_while(simulation)
    if called_amid_faults:
        await simulation.faults.ended.wait()
        await _skip_for_a_while(simulation)


async def _skip_for_a_while(simulation: Simulation) -> None:
    for _ in range(_LOOKS):
        for stream, sequence in sorted(_halting_messages(simulation)):
            await _skip(simulation, stream, sequence)
        await asyncio.sleep(_LOOKS_S)


async def skip_what_is_named(simulation: Simulation, problem: str) -> None:
    """Have the message skipped that a command names as what it can't be read past."""
    if (found := _HALTING.search(problem)) is not None:
        await _skip(simulation, found.group(1), int(found.group(2)))


async def _skip(simulation: Simulation, stream: str, sequence: int) -> None:
    entries = {name: one.entries for name, one in simulation.bus.streams.items()}
    with suppress(QuarantineRefused):
        refuse_if_folded(entries, stream, sequence)
        reason = "stored by a stray script"
        await enter_at_last(simulation, Quarantined(stream=stream, sequence=sequence, reason=reason))


def _halting_messages(simulation: Simulation) -> set[tuple[str, int]]:
    """The messages that a running service reports as halting it, by stream and sequence."""
    return {
        (found.group(1), int(found.group(2)))
        for process in simulation.processes
        if process.up and process.running is not None
        for host in process.running.hosts.values()
        if (found := _HALTING.search(host.halted)) is not None
    }
