"""Whether this process should do a piece of work that one of several replicas does.

It says who tries, so that replicas do not write twice what one has written. Who may is said by the log alone: a replica that tries without
a lease, or with one that it has lost without knowing, does no harm (docs/rules/log.md#leases).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum, auto

import structlog

from services.runtime.lease_port import Leases
from services.runtime.log_errors import LogUnavailable

log = structlog.get_logger()

RENEWED_EVERY_S = 0.75
LOOKED_EVERY_S = 0.5
"""How often a replica that waits looks whether it is free."""
COUNTS_FOR_S = 2.0
"""So long after it was last renewed a lease counts here: less than the bus keeps it for, by this process's own clock alone."""
GOES_WITHOUT_AFTER_S = 10.0
"""Where leases can't be asked for so long, work is done without them."""
LEFT_TO_OTHERS_S = 1.0
"""So long a lease that nobody holds is left to the replica whose share it is."""
_GIVEN_BACK_WITHIN_S = 1.0


class Readiness(Enum):
    """What becomes of a lease while its work can, or can't, go on here (docs/rules/log.md#halted)."""

    READY = auto()
    """It is taken, and held."""
    STANDS_BACK = auto()
    """Another replica could go on: what is held is given back, and nothing is taken."""
    KEEPS = auto()
    """No replica should go on: what is held stays, so that nobody takes it, and nothing is taken."""


class LeaseLost(Exception):
    """Another replica has taken over, or may have."""


class Lease:
    """One lease, taken and renewed for as long as `run` runs."""

    def __init__(
        self, leases: Leases, name: str, replica: str, *, takes: Callable[[str], Awaitable[bool]] | None = None
    ) -> None:
        self.name = name
        self.grants = 0
        """How often it was taken here, the times included in which leases could not be asked."""
        self.given_back = 0
        """How often it was given back here: it was another replica's share, or the work could not go on here."""
        self.readiness: Callable[[], Readiness] = lambda: Readiness.READY
        """Asked whenever the lease is looked at: whether its work can go on here."""
        self.reaches: Callable[[], bool] = lambda: True
        """Asked with it: whether what the work is done on can be reached from here."""
        self.standbys: Callable[[], int] = lambda: 0
        """How many other replicas would take it."""
        self.listeners: list[Callable[[], None]] = []
        """Called whenever it is taken or lost, and when it counts again that had run out."""
        self.gained = asyncio.Event()
        """Set while it is held here."""
        self.known = asyncio.Event()
        """Set once it is known whether it is held here."""
        self.lost = asyncio.Event()
        """Set while it is not held here."""
        self._leases, self._replica, self._takes = leases, replica, takes
        self._held, self._until, self._since = 0, 0.0, 0.0
        self._free_since: float | None = None
        self._to_be_given_back = False
        self._answered: float | None = None
        self._without = False
        self.lost.set()

    @property
    def held(self) -> bool:
        """Whether this process should try."""
        return self.gained.is_set() and (self._without or asyncio.get_running_loop().time() < self._until)

    @property
    def held_since(self) -> float | None:
        """Since when the bus has had it here, on the loop's clock; None when it has not."""
        return self._since if self._held else None

    def ready(self) -> Readiness:
        """What becomes of it now: who does not reach what the work is done on leaves it to another that would take it."""
        found = self.readiness()
        leaves = found is Readiness.READY and not self.reaches() and self.standbys() > 0
        return Readiness.STANDS_BACK if leaves else found

    def hand_over(self) -> None:
        """Give it back when it is looked at next, for it is another replica's share."""
        self._to_be_given_back = bool(self._held)

    async def run(self) -> None:
        """Hold it whenever it can be had, until cancelled; then others may have it at once."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(RENEWED_EVERY_S if self._held else LOOKED_EVERY_S)
        finally:
            with suppress(LogUnavailable, TimeoutError):
                async with asyncio.timeout(_GIVEN_BACK_WITHIN_S):
                    await self._give_back()

    async def turn(self, *, otherwise: Callable[[], None]) -> None:
        """Return once it is held; `otherwise` is called first if another replica holds it."""
        await self.known.wait()
        if not self.gained.is_set():
            otherwise()
            await self.gained.wait()

    async def keep(self) -> None:
        """Wait for as long as it is held. Raises `LeaseLost` then."""
        await self.lost.wait()
        raise LeaseLost(self.name)

    def let_go(self) -> None:
        """The log says that another has taken over: it counts no more here until it is taken anew."""
        self._held, self._to_be_given_back = 0, False
        self._lose()

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        self._answered = now if self._answered is None else self._answered
        try:
            readiness = self.ready()
            if self._to_be_given_back or (self._held and readiness is Readiness.STANDS_BACK):
                self.given_back += 1
                await self._give_back()
                return
            if not self._held and readiness is not Readiness.READY:
                self._answered, self._without = now, False
                self._lose()
                return
            if self._held:
                self._held = await self._leases.renew(self.name, self._replica, self._held)
            elif await self._leaves_it(now):
                self._answered, self._without = now, False
                if self.gained.is_set():
                    self._lose()
                return
            else:
                self._held = await self._leases.take(self.name, self._replica)
                self._since = now
        except LogUnavailable as problem:
            if now - self._answered >= GOES_WITHOUT_AFTER_S and not self._without:
                log.warning("goes on without leases", lease=self.name, problem=str(problem))
                self._without = True
                self._gain()
        else:
            counted = self.held
            self._answered, self._without, self._until = now, False, now + COUNTS_FOR_S
            self._gain(again=not counted) if self._held else self._lose()
        if not self._without and now >= self._until:
            self._lose()

    async def _leaves_it(self, now: float) -> bool:
        """Whether nobody holds it, and another replica should take it. Raises `LogUnavailable`."""
        if self._takes is None or await self._leases.holder(self.name):
            self._free_since = None
            return False
        self._free_since = now if self._free_since is None else self._free_since
        if now - self._free_since < LEFT_TO_OTHERS_S and not await self._takes(self.name):
            return True
        self._free_since = None
        return False

    async def _give_back(self) -> None:
        """Stop, and let another have it. Raises `LogUnavailable`; then it runs out."""
        held, self._held, self._to_be_given_back = self._held, 0, False
        self._lose()
        if held:
            await self._leases.give_back(self.name, held)

    def _gain(self, *, again: bool = False) -> None:
        """`again` says that it did not count for a while: who looked meanwhile has stood back, and has to look once more."""
        self.known.set()
        if not self.gained.is_set():
            self.grants += 1
            log.info("lease taken", lease=self.name)
            self.gained.set()
            self.lost.clear()
            self._tell()
        elif again:
            self._tell()

    def _lose(self) -> None:
        self.known.set()
        if self.gained.is_set():
            log.info("lease lost", lease=self.name)
            self.gained.clear()
            self.lost.set()
            self._tell()

    def _tell(self) -> None:
        for listener in self.listeners:
            listener()
