"""What is seen in other clusters, on its way to the log: to the partition that decides about its workload, or to all where none is known."""

import hashlib
from collections.abc import Callable

from events.commit import Sighting
from events.multikueue import RemoteQueuesObserved
from events.routing import RemoteFact
from services.runtime.clock_port import Clock
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Stream
from services.runtime.outbox import Outbox, OutboxMessage

AUTHOR = "remote-clusters"


class SeenElsewhere:
    """Facts about workloads in other clusters, under marks that are the same whoever tells them."""

    def __init__(self, facts: Stream, clock: Clock, home_of: Callable[[str], str]) -> None:
        """`home_of` names the partition that alone decides about the workloads of a namespace, empty where none is known."""
        self.outbox = Outbox(facts, clock)
        self._clock, self._home_of = clock, home_of

    async def tell(self, about: str, fact: RemoteFact, mark: str, cause: str = "") -> None:
        """Have a fact stored; every replica tells the same fact under the same mark."""
        await self._put(about, fact, mark, cause, self._home_of(about.partition("/")[0]))

    async def tell_of_cluster(self, cluster: str, fact: RemoteQueuesObserved, mark: str) -> None:
        """Have a fact stored that is about a cluster and not about a workload: it concerns all partitions."""
        await self._put(cluster, fact, mark, "", "")

    async def _put(self, about: str, fact: RemoteFact | RemoteQueuesObserved, mark: str, cause: str, to: str) -> None:
        digest = hashlib.sha256(f"{type(fact).__name__}:{about}:{mark}".encode()).hexdigest()[:24]
        sighting = Sighting(id=f"{AUTHOR}:{digest}", at=self._clock.now(), author=AUTHOR, cause=cause, fact=fact)
        await self.outbox.put([OutboxMessage(about, fact_message(sighting, to=to))])
