"""What faults leave behind is mended by operators, who go on until it is."""

import asyncio

from ops.production.log.streams import SOLE
from ops.sandbox.simulate.fault_application import apply
from ops.sandbox.simulate.fault_plan import Fault, FaultKind
from ops.sandbox.simulate.history import play
from ops.sandbox.simulate.platform import platform_of
from ops.sandbox.simulate.simulation import BEGINS, Simulation
from ops.sandbox.simulate.virtual_loop import VirtualLoop

SPAN = 20_000
_FOREIGN = 41
"""Of a fault: a message in a partition that does not follow what is stored there."""


def test_messages_that_operators_skip_at_the_same_moment_are_all_skipped() -> None:
    beyond = 2 * SPAN
    stored = [
        Fault(index=index, at=5000 + index, kind=FaultKind.POISON_MESSAGE, number=1, lasts=beyond) for index in range(3)
    ]
    assert play(1, SPAN, stored).broken == ()


def test_a_message_that_halts_somebody_only_long_after_it_was_stored_is_skipped() -> None:
    span, paused = 100_000, 90_000
    processes = [Fault(index=one, at=4000, kind=FaultKind.PAUSE, process=one, lasts=paused) for one in range(20)]
    stored = Fault(index=20, at=8000, kind=FaultKind.POISON_MESSAGE, number=_FOREIGN)
    assert play(2, span, [*processes, stored]).broken == ()


def test_nobody_stores_anything_on_a_bus_that_is_down() -> None:
    loop = VirtualLoop("order")
    simulation = Simulation(loop, platform_of(1, SPAN), 1)
    down = 5000

    async def stored() -> list[int]:
        apply(simulation, Fault(index=0, at=0, kind=FaultKind.BUS_DOWN, lasts=down))
        apply(simulation, Fault(index=1, at=0, kind=FaultKind.POISON_MESSAGE, number=_FOREIGN))
        await asyncio.sleep(2 * down / 1000)
        await simulation.end()
        return [one.stored for name in SOLE.partitions for one in simulation.bus.memory(name).entries]

    (at,) = loop.run_until_complete(stored())
    loop.close()
    assert BEGINS + down <= at < BEGINS + down + 1000
