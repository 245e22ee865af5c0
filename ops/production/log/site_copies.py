"""What a process knows of the copies of sites' logs at the hub: how each stands, looked at every ten seconds.

Rule: docs/rules/log.md#copies
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

from events.event import Millis
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.copies import SiteState, keep_copies, site_state
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogUnavailable, UnsafeStream
from services.runtime.own_task import stopped

_EVERY_MS: Millis = 10_000
_PATIENCE_S = 3.0


class SiteCopies:
    """The copies at a hub: by the name of each site, as whom and where its copy is read."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = dict(sorted(addresses.items()))
        self._open: dict[str, tuple[JetStreamBus, JetStreamBus]] = {}
        """By site the hub's account of it, and the site behind that."""
        self.states: dict[str, SiteState] = {}
        """By site, as it was last seen."""

    @property
    def worth_knowing(self) -> list[str]:
        """A line for each site that is not connected, can't be asked about, or has lost something; what lags for a moment is told by metrics."""
        return [f"site {one.describe()}" for one in self.states.values() if one.amiss or not (one.whole or one.behind)]

    @asynccontextmanager
    async def looked_at(self, clock: Clock) -> AsyncGenerator[None, None]:
        """While the block lasts they are looked at every so often."""
        looking = asyncio.create_task(self._run(clock))
        try:
            yield
        finally:
            await stopped(looking)
            await self.close()

    async def _run(self, clock: Clock) -> None:
        while self._addresses:
            await self.look()
            await clock.sleep(_EVERY_MS)

    async def look(self, *, copy: bool = False) -> None:
        """See how each copy stands; have what is not copied yet copied, where the address is that of who may."""
        states = await asyncio.gather(*(self._look_at(site, copy=copy) for site in self._addresses))
        self.states = {one.site: one for one in states}

    async def close(self) -> None:
        """Let go of the connections."""
        for pair in self._open.values():
            for bus in pair:
                await bus.close()
        self._open.clear()

    async def _look_at(self, site: str, *, copy: bool) -> SiteState:
        try:
            here, there = await self._reached(site)
            if copy:
                with suppress(LogUnavailable):  # While it is not connected; how it stands is told all the same.
                    await keep_copies(here, there)
            return await site_state(site, here, there)
        except LogUnavailable as problem:
            # Whatever is decided here is decided without the copies of others.
            return SiteState(site=site, problem=f"{problem.stream} {problem.what}: {problem.problem}")
        except UnsafeStream as problem:
            return SiteState(site=site, problem=str(problem))

    async def _reached(self, site: str) -> tuple[JetStreamBus, JetStreamBus]:
        if site not in self._open:
            here = await connect(self._addresses[site], patience=_PATIENCE_S)
            try:
                there = await connect(f"{self._addresses[site]}/{site}", patience=_PATIENCE_S)
            except LogUnavailable:
                await here.close()
                raise
            self._open[site] = (here, there)
        return self._open[site]
