"""A history is not judged while something in its cluster has yet to come to its end, or somebody to come back."""

import asyncio

from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Store
from ops.sandbox.simulate.laws import unsettled
from ops.sandbox.simulate.platform import platform_of
from ops.sandbox.simulate.simulation import Simulation
from ops.sandbox.simulate.virtual_loop import VirtualLoop


def test_a_pod_that_was_told_to_end_is_waited_for() -> None:
    store = Store()
    resources = Resources(store, lambda: 0)
    pods = resources.kind("", "v1", "pods")
    pod = {
        "metadata": {"name": "slow", "finalizers": ["example.com/slow"]},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    resources.create(pods, "default", pod)
    assert not unsettled(store)
    resources.delete(pods, ("default", "slow"))
    assert unsettled(store) == ["pod default/slow never goes: it is being deleted"]


def test_who_is_struck_only_after_the_healing_is_back_at_once() -> None:
    """A process that was at rest is struck at its next steps, and these may come when the history is about to be judged."""
    loop = VirtualLoop("order")
    simulation = Simulation(loop, platform_of(1, 60_000), 1)

    async def struck() -> list[bool]:
        simulation.begin()
        simulation.heal()
        killed, paused = simulation.processes[:2]
        simulation.kill(killed, 120_000)
        simulation.pause(paused, 120_000)
        await asyncio.sleep(2)
        there = [one.up and not loop.is_held(one.instance) for one in (killed, paused)]
        await simulation.end()
        return there

    assert loop.run_until_complete(struck()) == [True, True]
    loop.close()
