"""A bus that restarts without the last messages of its streams, as when its disk has not kept what it acknowledged.

All that one stream or several took in within the last moment is gone, acknowledged or not. How long that moment is, and which
streams it strikes, is drawn from the fault. Only what a running process has read is lost, and the only process that could give
it back is neither killed nor paused before it has: what nobody knows comes back from a backup, or not at all.
"""

from events.subjects import FACTS
from ops.sandbox.simulate.fault_plan import Fault
from ops.sandbox.simulate.simulation import Simulation

_UNSYNCED_MS = (50, 500, 2000, 8000)
_MOST = 12
"""How many messages of a stream are lost at most."""
_WHOLE_S = 3.0
"""How long after its return the bus is given back what it has lost, at most."""


async def lose_tails(simulation: Simulation, fault: Fault) -> None:
    """Lose what was stored last, and with it every connection to the bus."""
    simulation.faults.cuts += 1
    simulation.whole_at = simulation.loop.time() + max(fault.lasts, 200) / 1000 + _WHOLE_S
    simulation.after(max(fault.lasts, 200) - 1, lambda: _come_back(simulation))
    since = simulation.clock.now() - _UNSYNCED_MS[fault.number % len(_UNSYNCED_MS)]
    streams = (*simulation.partitions(), FACTS)
    struck = fault.number // 8 % (1 << len(streams)) or (1 << len(streams)) - 1
    for place, name in enumerate(streams):
        stream = simulation.bus.memory(name)
        end = len(stream.entries)
        if struck & 1 << place and simulation.knows(name) >= end:
            simulation.lost[name] = max(end, simulation.lost.get(name, 0))
            fresh = sum(1 for entry in stream.entries[-_MOST:] if entry.stored >= since)
            await stream.lose(max(len(stream.entries) - fresh, stream.first - 1))


def _come_back(simulation: Simulation) -> None:
    """What was sent meanwhile is lost, and does not come later."""
    simulation.connections += 1
    simulation.faults.cuts += 1
