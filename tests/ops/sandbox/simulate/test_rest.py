"""A platform at rest costs next to nothing: nobody is asked again because somebody has looked."""

import asyncio

from ops.sandbox.simulate.history import rest
from ops.sandbox.simulate.platform import platform_of
from ops.sandbox.simulate.simulation import Simulation
from ops.sandbox.simulate.virtual_loop import VirtualLoop

_MINUTE_S = 60


def test_at_rest_no_decider_is_asked_every_second() -> None:
    loop = VirtualLoop("order")

    async def turns_of_a_minute() -> dict[str, int]:
        simulation = Simulation(loop, platform_of(1, 5000), 1)
        simulation.begin()
        for action in simulation.platform.actions:
            loop.call_at(action.at / 1000, simulation.do, action)
        await asyncio.sleep(5)
        simulation.heal()
        assert await rest(simulation) == []
        before = _turns(simulation)
        await asyncio.sleep(_MINUTE_S)
        after = _turns(simulation)
        await simulation.end()
        return {host: after[host] - before[host] for host in after}

    turns = loop.run_until_complete(turns_of_a_minute())
    loop.close()
    assert turns and max(turns.values()) < _MINUTE_S, turns


def _turns(simulation: Simulation) -> dict[str, int]:
    return {
        f"{process.instance} {name}": sum(sum(found.counts) for found in host.turns.took.values())
        for process in simulation.processes
        if process.running is not None
        for name, host in process.running.hosts.items()
    }
