"""The port to leases: who of several replicas should try a piece of work. Nothing is safe by it, and nothing unsafe without it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """What a replica says of itself, so that leases spread."""

    name: str
    wants: tuple[str, ...] = ()
    """The leases that it would take, by name, those included that it holds."""
    holds: tuple[str, ...] = ()


class Leases(Protocol):
    """Where leases are kept: each by its name, held by one replica until it gives it back or no longer renews it."""

    async def prepare(self) -> None:
        """Make sure that there is a place for them. Raises `LogUnavailable`."""
        ...

    async def holder(self, name: str) -> str:
        """The replica that holds a lease; empty when nobody does. Raises `LogUnavailable`."""
        ...

    async def take(self, name: str, replica: str) -> int:
        """Take a lease that nobody holds: what `renew` wants to know of it; 0 when another holds it. Raises `LogUnavailable`."""
        ...

    async def renew(self, name: str, replica: str, held: int) -> int:
        """Hold it for another while: what the next `renew` wants to know; 0 when it is lost. Raises `LogUnavailable`."""
        ...

    async def give_back(self, name: str, held: int) -> None:
        """Let others have it at once. Raises `LogUnavailable`."""
        ...

    async def announce(self, replica: Replica) -> None:
        """Say that a replica is there: it is forgotten as a lease is that is not renewed. Raises `LogUnavailable`."""
        ...

    async def leave(self, replica: str) -> None:
        """Say that a replica is there no more. Raises `LogUnavailable`."""
        ...

    async def replicas(self) -> Sequence[Replica]:
        """The replicas that are there, by name. Raises `LogUnavailable`."""
        ...
