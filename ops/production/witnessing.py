"""The witness of a process takes note of the log every so often, and holds the log against it: on a mismatch nothing is decided any more."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from events.event import Millis
from ops.files.reading import Unreadable
from ops.production.archive.proof.witness import HeadWitness, WitnessKeyMissing
from ops.production.log.streams import LogStreams
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.log_port import Bus
from services.runtime.partition.halts import WITNESS
from services.runtime.partition.host import PartitionHost

log = structlog.get_logger()

_EVERY: Millis = 5_000
_LAST_NOTE_S = 2.0


class Witnessing:
    """What a witness has found of the log on a bus."""

    def __init__(self, folder: Path, bus: Bus, clock: Clock) -> None:
        self.regressed = ""
        """What is missing of the log that was witnessed; empty when nothing is."""
        self.problem = ""
        """Why it can take no note at the moment; empty when it can."""
        self.at: Millis = 0
        """When it last took note of all streams; 0 before the first time."""
        self._witness, self._bus, self._clock = HeadWitness(folder), bus, clock

    async def check(self, streams: LogStreams, bus: Bus) -> None:
        """Hold the log against what was noted before, as it is read over a bus. Raises `LogRegressed` and `WitnessKeyMissing`."""
        for name in streams.witnessed:
            await self._witness.check(await bus.stream(name))

    async def run(self, streams: LogStreams, hosts: Mapping[str, PartitionHost]) -> None:
        """Compare and take note until cancelled; the hosts decide for as long as the log is what was witnessed."""
        try:
            while True:
                try:
                    await self._take_note(streams)
                    self.problem = ""
                    self._go_on_deciding(hosts)
                except (OSError, Unreadable) as problem:
                    # A full disk, or another process that is frozen with the folder in its hands: it is tried again.
                    reason = problem.strerror if isinstance(problem, OSError) else ""
                    self.problem = f"the witness can take no note: {reason or problem}"
                    log.warning("no note taken", problem=self.problem)
                except (LogRegressed, LogGap, WitnessKeyMissing) as problem:
                    self.regressed = str(problem)
                    log.error("log regressed", problem=self.regressed)
                    for host in hosts.values():
                        host.stop_deciding(self.regressed, WITNESS)
                except LogUnavailable as problem:
                    log.warning("log unavailable", problem=str(problem))
                await self._clock.sleep(_EVERY)
        finally:
            # What was decided since the last time is worth a proof too; but an end must not wait for a bus that is gone.
            with suppress(LogRegressed, LogUnavailable, LogGap, OSError, Unreadable, WitnessKeyMissing):
                async with asyncio.timeout(_LAST_NOTE_S):
                    await self._take_note(streams)

    def _go_on_deciding(self, hosts: Mapping[str, PartitionHost]) -> None:
        """Decide again: what was lost is there again, given back by services that had read it or by a replica of the bus."""
        if self.regressed:
            log.warning("the log is again what was witnessed")
            self.regressed = ""
            for host in hosts.values():
                host.decide_again(WITNESS)

    async def _take_note(self, streams: LogStreams) -> None:
        unreadable: Unreadable | None = None
        for name in streams.witnessed:
            stream = await self._bus.stream(name)
            await self._witness.check(stream)
            try:
                await self._witness.witness(stream)
            except Unreadable as problem:
                # What is kept of one stream keeps no note from being taken of the others.
                unreadable = unreadable or problem
        if unreadable is not None:
            raise unreadable
        self.at = self._clock.now()
