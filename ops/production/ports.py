"""The world outside, as services are handed it: the bus, the cluster, a clock, and who keeps the log short."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from ops.production.log.jetstream.capacity import StreamFill
from ops.production.log.site_copies import SiteCopies
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Connector, Reader, Watches, Writer
from services.runtime.lease_port import Leases
from services.runtime.log_port import Bus
from services.runtime.shelf_port import Shelf


class Archiving(Protocol):
    """Keeps the log short: it rolls and archives streams, where the witness is."""

    problem: str
    """Why the last look came to nothing; empty when all is well."""

    async def run(self, clock: Clock, signed: Callable[[], bool]) -> None:
        """Look every so often, until cancelled, as long as what is signed counts."""
        ...


class Reach(Protocol):
    """Looks whether the cluster can be reached from here."""

    away: bool
    """Whether it could not, the last times that it was asked."""

    async def run(self) -> None:
        """Ask every so often, until cancelled."""
        ...


class Ports(msgspec.Struct, kw_only=True):
    """The world outside, as services see it."""

    bus: Bus
    reader: Reader
    writer: Writer
    clock: Clock
    connector: Connector | None = None
    """Connects to worker clusters; None where nobody does."""
    shelf: Shelf | None = None
    """Where saved worlds are shared; they are not when there is none."""
    leases: Leases | None = None
    """Where replicas say who of them tries; None where there is one of each service."""
    filled: Callable[[Sequence[str]], Awaitable[list[StreamFill]]] | None = None
    """How full streams are; None where the bus can't say."""
    connections: Callable[[], int] = lambda: 0
    """How often the bus was connected to, where that is known."""
    watches: Watches = msgspec.field(default_factory=Watches)
    """How the watches of the reader go on, where that is known."""
    unreadable: Callable[[], list[str]] = list
    """Which streams of the bus can't be read for want of a right."""
    reach: Reach | None = None
    """Whether the cluster can be reached; None where nobody looks."""
    sites: SiteCopies = msgspec.field(default_factory=lambda: SiteCopies({}))
    """The copies of sites' logs that are looked at here."""
