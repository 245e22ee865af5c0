"""Leases in memory, kept as the bus keeps them, and as one simulated process reaches them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from events.event import Millis
from ops.production.log.jetstream.leases import KEPT_FOR_S, STREAM
from ops.sandbox.simulate.active_faults import ActiveFaults
from ops.sandbox.simulate.bus_connection import passed
from ops.sandbox.simulate.fault_plan import FaultKind
from services.runtime.lease_port import Replica
from services.runtime.log_errors import LogUnavailable

_T = TypeVar("_T")
_THIEF = "somebody"
_NO_ANSWER_S = 2.0
"""So long a process waits for an answer that got lost."""


class MemoryLeases:
    """The leases of everybody who shares a log, by the bus's own clock."""

    def __init__(self, now: Callable[[], Millis]) -> None:
        self._now = now
        self.takeovers = 0
        """How often a lease came to another replica than had it last."""
        self._had: dict[str, str] = {}
        self._last = 0
        self._held: dict[str, tuple[int, str, Millis]] = {}
        """By lease the sequence of its message, who holds it (nobody when empty), and since when it stands there."""
        self._there: dict[str, tuple[Replica, Millis]] = {}

    def holder(self, name: str) -> str:
        """Who holds a lease."""
        return self._of(name)[1]

    def take(self, name: str, replica: str) -> int:
        """Its sequence; 0 when somebody holds it."""
        sequence, holder, _ = self._of(name)
        return 0 if holder else self.store(name, replica, sequence)

    def store(self, name: str, replica: str, expected: int) -> int:
        """Its sequence; 0 when another message is the last one."""
        if self._of(name)[0] != expected:
            return 0
        if replica and self._had.get(name) != replica:
            self._had[name] = replica
            self.takeovers += 1
        self._last += 1
        self._held[name] = (self._last, replica, self._now())
        return self._last

    def announce(self, replica: Replica) -> None:
        """Say that a replica is there."""
        self._there[replica.name] = (replica, self._now())

    def leave(self, replica: str) -> None:
        """Say that it is there no more."""
        self._there.pop(replica, None)

    def replicas(self) -> list[Replica]:
        """Those that are there."""
        return [one for _, (one, since) in sorted(self._there.items()) if self._is_kept(since)]

    def forget(self, number: int) -> None:
        """Lose one lease, though its holder has renewed it."""
        if self._held:
            del self._held[sorted(self._held)[number % len(self._held)]]

    def steal(self, number: int) -> None:
        """Have somebody who does not exist hold one, until it runs out."""
        if self._held:
            name = sorted(self._held)[number % len(self._held)]
            self.store(name, _THIEF, self._of(name)[0])

    def forget_all(self) -> None:
        """Begin empty, as after a restart: nothing of them is on disk."""
        self._held.clear()
        self._there.clear()

    def _of(self, name: str) -> tuple[int, str, Millis]:
        found = self._held.get(name)
        return found if found is not None and self._is_kept(found[2]) else (0, "", 0)

    def _is_kept(self, since: Millis) -> bool:
        return self._now() - since < KEPT_FOR_S * 1000


class ConnectedLeases:
    """The leases as a process reaches them."""

    def __init__(self, leases: MemoryLeases, process: str, faults: ActiveFaults) -> None:
        self._leases, self._process, self._faults = leases, process, faults

    async def prepare(self) -> None:
        """There is a place."""
        await self._asked(lambda: None)

    async def holder(self, name: str) -> str:
        """Who holds a lease."""
        return await self._asked(lambda: self._leases.holder(name))

    async def take(self, name: str, replica: str) -> int:
        """Take a lease that nobody holds."""
        return await self._asked(lambda: self._leases.take(name, replica))

    async def renew(self, name: str, replica: str, held: int) -> int:
        """Hold it for another while."""
        return await self._asked(lambda: self._leases.store(name, replica, held))

    async def give_back(self, name: str, held: int) -> None:
        """Let others have it at once."""
        await self._asked(lambda: self._leases.store(name, "", held))

    async def announce(self, replica: Replica) -> None:
        """Say that a replica is there."""
        await self._asked(lambda: self._leases.announce(replica))

    async def leave(self, replica: str) -> None:
        """Say that it is there no more."""
        await self._asked(lambda: self._leases.leave(replica))

    async def replicas(self) -> Sequence[Replica]:
        """Those that are there."""
        return await self._asked(self._leases.replicas)

    async def _asked(self, ask: Callable[[], _T]) -> _T:
        """What the bus answers, if the question and the answer get there."""
        await passed(self._faults, STREAM)
        if self._faults.lasts(self._process, FaultKind.LEASES_AWAY) is not None:
            raise LogUnavailable(stream=STREAM, problem="it is away")
        await self._faults.hold_up(self._faults.strikes(self._process, FaultKind.LEASE_LATE))
        found = ask()
        await self._faults.hold_up(self._faults.strikes(self._process, FaultKind.LEASE_ANSWERED_LATE))
        if self._faults.strikes(self._process, FaultKind.LEASE_UNANSWERED) is not None:
            await asyncio.sleep(_NO_ANSWER_S)
            raise LogUnavailable(stream=STREAM, problem="no answer")
        await self._faults.latency()
        return found
