"""The port to leases: who of several replicas should try a piece of work. Nothing is safe by it, and nothing unsafe without it."""

from typing import Protocol


class Leases(Protocol):
    """Where leases are kept: each by its name, held by one replica until it gives it back or no longer renews it."""

    async def prepare(self) -> None:
        """Make sure that there is a place for them. Raises `LogUnavailable`."""
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
