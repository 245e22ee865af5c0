"""What befalls the clusters of a history: lines that are cut, services that die, logs that are restored from before."""

import random

import msgspec

from events.event import Millis
from ops.sandbox.simulate.cluster_objects import WORKERS

MANAGER = "manager"
LOST_AFTER: Millis = 20_000
"""How long a manager waits for a cluster that is out of reach."""


class ClustersFault(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is cut, services that die, or a log that is restored from before, for so long."""

    at: Millis
    lasts: Millis
    what: str
    """`cut`, `kill` or `restore`."""
    cluster: str
    back: Millis = 0
    """How much of the log is lost."""

    def __str__(self) -> str:
        """As it is printed: when, what, where, for how long."""
        lost = f", without its last {self.back} ms" if self.back else ""
        return f"{self.at} ms: {self.what} {self.cluster} for {self.lasts} ms{lost}"


def faults_of(chance: random.Random, seed: int, span: Millis) -> list[ClustersFault]:
    """What befalls the clusters of a history, in the order of time."""
    found: list[ClustersFault] = []
    for name in WORKERS:
        for _ in range(chance.randrange(4)):
            lasts = chance.choice((500, 3_000, LOST_AFTER, LOST_AFTER + 10_000, 4 * LOST_AFTER))
            found.append(ClustersFault(at=chance.randrange(span), lasts=lasts, what="cut", cluster=name))
    for name in (*WORKERS, MANAGER):
        if chance.random() < 0.4:  # noqa: PLR2004
            at, lasts = chance.randrange(span), chance.choice((1_000, 15_000))
            found.append(ClustersFault(at=at, lasts=lasts, what="kill", cluster=name))
    return sorted([*found, *_restores(seed, span)], key=lambda one: one.at)


def _restores(seed: int, span: Millis) -> list[ClustersFault]:
    """In every second history logs are restored, that of the manager most often; nobody else's services die along with it."""
    chance = random.Random(f"{seed}/restores")  # noqa: S311 - a world, not a secret
    if chance.random() < 0.5:  # noqa: PLR2004
        return []
    return [
        ClustersFault(
            at=chance.randrange(span // 4, span),
            lasts=chance.choice((500, 5_000)),
            what="restore",
            cluster=chance.choice((MANAGER, MANAGER, *WORKERS)),
            back=chance.choice((1_000, 5_000, 20_000, span)),
        )
        for _ in range(chance.randrange(1, 3))
    ]
