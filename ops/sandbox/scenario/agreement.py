"""Whether log and cluster agree about every card: what the log believes to be held, against HAMi's own books."""

import asyncio

from ops.sandbox.embedded_cluster.nodes.hami import HamiNodes
from ops.sandbox.scenario.platform import ScenarioPlatform
from projections.devices.card_use import IDLE

_PATIENCE_S, _LOOK_S = 5.0, 0.05

Books = dict[str, tuple[int, int, int]]
"""By card: slots, MiB and cores that pods hold."""


async def agreement(on: ScenarioPlatform) -> bool:
    """Whether both come to agree; the log lags behind by as long as a sight takes to become a fact."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _PATIENCE_S
    while log_books(on) != cluster_books(on):
        if loop.time() > end:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


def log_books(on: ScenarioPlatform) -> Books:
    """What the accountant has folded."""
    found: Books = {}
    host = on.running.hosts.get(on.running.streams.pool)
    for card, row in host.fold.world.cards.stakes.items() if host is not None else ():
        held = IDLE
        for stake in row.values():
            held = held.plus(stake.held)
        if held.slots:
            found[card] = (held.slots, held.memory, held.cores)
    return found


def cluster_books(on: ScenarioPlatform) -> Books:
    """What HAMi reads from its annotations on the pods that exist."""
    hami = HamiNodes(on.cluster.store)
    return {
        card: taken for _, node in on.cluster.store.of("nodes") for card, taken in hami.taken(node).items() if taken[0]
    }
