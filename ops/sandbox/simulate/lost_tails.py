"""A bus that restarts without the last messages of its streams: what one does whose disk had not kept what it said it had.

All that one stream or several took in within the last moment is gone, acknowledged or not. How long that moment is, and which
streams it strikes, is drawn from the fault. What nobody who is at work has read is not lost, and who alone could give back what is
lost is neither killed nor paused before that: what is known to nobody comes back from a backup, or not at all.
"""

from ops.production.wiring import ROLLED
from ops.sandbox.simulate.fault_plan import Fault
from ops.sandbox.simulate.simulation import Simulation

_UNSYNCED_MS = (50, 500, 2000, 8000)
_MOST = 12
"""So many messages of a stream at most."""
_WHOLE_S = 3.0
"""So long after its return at most it takes those who have read what it has lost to give that back."""


async def lose_tails(simulation: Simulation, fault: Fault) -> None:
    """Lose what was stored last; when the bus is back everybody has lost the connection."""
    simulation.faults.cuts += 1
    simulation.whole_at = simulation.loop.time() + max(fault.lasts, 200) / 1000 + _WHOLE_S
    simulation.after(max(fault.lasts, 200) - 1, lambda: _come_back(simulation))
    since = simulation.clock.now() - _UNSYNCED_MS[fault.number % len(_UNSYNCED_MS)]
    struck = fault.number // 8 % (1 << len(ROLLED)) or (1 << len(ROLLED)) - 1
    for place, name in enumerate(ROLLED):
        stream = simulation.bus.memory(name)
        end = len(stream.entries)
        if struck & 1 << place and simulation.knows(name) >= end:
            simulation.lost[name] = max(end, simulation.lost.get(name, 0))
            fresh = sum(1 for entry in stream.entries[-_MOST:] if entry.stored >= since)
            await stream.lose(max(len(stream.entries) - fresh, stream.first - 1))


def _come_back(simulation: Simulation) -> None:
    """What was sent meanwhile went to nobody, and does not come later."""
    simulation.connections += 1
    simulation.faults.cuts += 1
