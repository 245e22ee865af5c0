"""The commits of a partition as they come, folded in their order; of a fork first those of the partitions in which its history begins.

Rule: docs/rules/log.md#moved
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from events.commit import InputRun
from events.subjects import FACTS
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.errors import InputsWrong
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.halts import MESSAGE, Halts
from services.runtime.partition.roles import Verifier
from services.runtime.partition.routed_facts import RoutedFacts


class CommitReading:
    """What was read of a partition and is not folded yet."""

    def __init__(
        self,
        origins: Sequence[Stream],
        inputs: Sequence[Stream],
        fold: PartitionFold,
        halts: Halts,
        *,
        routed: RoutedFacts | None,
        verifier: Verifier | None,
        folded: Callable[[], None],
        news: asyncio.Event,
    ) -> None:
        """`origins`: of a fork, those in whose history it begins; `folded` is called behind each commit of its own."""
        self._origins = {stream.name: stream for stream in origins}
        self._inputs, self._fold, self._halts, self._routed = inputs, fold, halts, routed
        self._verifier, self._folded, self._news = verifier, folded, news
        self._commits: list[Entry] = []
        self._became = asyncio.Event()

    async def end_of_origin(self) -> int:
        """Where the partition ends in whose history the fold is; 0 when it is in its own. Raises `LogUnavailable`."""
        stream = self._origins.get(self._fold.partition)
        return 0 if stream is None else (await stream.last()).sequence

    async def follow(self, own: Stream) -> None:
        """Read commits as they come. Raises `LogGap`, `LogRegressed`."""
        while self._fold.heirs:
            self._became.clear()
            reading, became = asyncio.ensure_future(self._read(own)), asyncio.ensure_future(self._became.wait())
            try:
                await asyncio.wait({reading, became}, return_when=asyncio.FIRST_COMPLETED)
                if not self._became.is_set():
                    await reading
            finally:
                reading.cancel()
                became.cancel()
        await self._read(own)

    async def _read(self, own: Stream) -> None:
        stream = self._origins.get(self._fold.partition, own)
        async for batch in stream.follow(self._fold.base):
            if stream is not self._origins.get(self._fold.partition, own):
                return  # It has become the fork meanwhile, and reads that by now.
            self._commits.extend(batch)
            self._news.set()

    async def fold(self) -> None:
        """Fold the commits that were read. Raises `MessageHalts`."""
        fold = self._fold
        while self._commits:
            entry = self._commits[0]
            if entry.sequence <= fold.base:
                self._commits.pop(0)
                continue
            commit = fold.decode(entry)
            if commit is None:
                fold.skip(entry)
            elif (missing := fold.missing_for(commit)) is not None:
                if missing.stream != FACTS or self._routed is None or not await self._routed.pass_over(missing.upto):
                    await self._await_input(entry, missing)
                continue
            elif fold.heirs:
                fold.fold_commit(entry, commit)
                if fold.partition != entry.stream:
                    # What was read behind it is the other's.
                    self._commits.clear()
                    self._became.set()
                    return
            else:
                (self._verifier or PartitionFold.fold_commit)(fold, entry, commit)
                self._folded()
            self._commits.pop(0)

    async def moved_on(self) -> None:
        """Return when a commit was read that is not folded."""
        while not any(entry.sequence > self._fold.base for entry in self._commits):
            await self._next_news()

    async def _await_input(self, entry: Entry, run: InputRun) -> None:
        """Wait for an input run; halt when it is not stored, for what a commit rests on was stored before the commit."""
        stream = next((one for one in self._inputs if one.name == run.stream), None)
        end = run.upto
        with suppress(LogGap, LogUnavailable):
            end = (await stream.last()).sequence if stream is not None else 0
        if stream is None or end < run.upto:
            there = "which it can't rest on" if stream is None else f"which ends at {end}"
            problem = f"rests on {run.stream} up to {run.upto}, {there}"
            self._halts.halt(MESSAGE, str(InputsWrong(stream=entry.stream, sequence=entry.sequence, problem=problem)))
        await self._next_news()

    async def _next_news(self) -> None:
        await self._news.wait()
        self._news.clear()
