"""The guards of the log, and how each is taken away.

`python -m tests.ops.sandbox.simulate.guards [A-B]` names for each the first seeds in which it is missed, and the laws that fall: where
worlds or decisions have changed, the table is made anew from that.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from events.codec import decode_commit, decode_sighting
from events.commit import Commit, InputRun
from events.object_version import ObjectVersion
from events.subjects import FACTS
from ops.production.log.given_back import GivingBack
from ops.production.log.memory import MemoryStream
from ops.production.log.retrying_bus import RetryingBus
from ops.production.process.telemetry import configure_logging
from ops.queries import replay
from ops.sandbox.simulate import rolled_streams
from ops.sandbox.simulate.fault_plan import Fault, FaultKind, schedule_of
from ops.sandbox.simulate.history import play
from projections.object_versions import ObjectVersions
from projections.world import World
from services.admitter import second_pass
from services.applier.plan import Application
from services.queue_manager import eviction, slices
from services.runtime.bus_time import BusTime
from services.runtime.control_log import Control
from services.runtime.log_errors import LogMovedOn, TailLost
from services.runtime.log_port import Bus, Entry
from services.runtime.partition import fold as partition_fold
from services.runtime.partition import stored_message
from services.runtime.partition.commit_reading import CommitReading
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.stored_message import Opened, Passed, open_message
from services.runtime.shelf_port import Shelf
from services.watcher import log_reading

SPAN = 20_000
Patch = pytest.MonkeyPatch
Guard = Callable[[Patch], None]
"""Takes one guard away; its docstring says what that guard holds."""


def expected_end(patch: Patch) -> None:
    """A decision is stored only behind what it was made on."""
    append = MemoryStream.append

    async def anywhere(
        stream: MemoryStream,
        subject: str,
        data: bytes,
        *,
        message_id: str,
        base: int,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        del base
        return await append(stream, subject, data, message_id=message_id, base=len(stream.entries), headers=headers)

    patch.setattr(MemoryStream, "append", anywhere)


def version_order(patch: Patch) -> None:
    """A fact about an older version of an object does not fold."""

    def never(versions: ObjectVersions, about: ObjectVersion) -> bool:
        del versions, about
        return False

    patch.setattr(ObjectVersions, "outdated", never)


def tombstones(patch: Patch) -> None:
    """What is gone is remembered."""
    take = ObjectVersions.take

    def forget(versions: ObjectVersions, about: ObjectVersion | None, fact: Any, at: int) -> bool:
        folds = take(versions, about, fact, at)
        if about is not None and about.gone:
            trail = versions._trail  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            trail.drop(versions.known, about.place)
        return folds

    patch.setattr(ObjectVersions, "take", forget)


def authors(patch: Patch) -> None:
    """What is not its author's to say does not count."""
    patch.setattr(stored_message, "why_not_commit", _nothing)
    patch.setattr(stored_message, "why_not_sighting", _nothing)


def bound_at_append(patch: Patch) -> None:
    """Whose clock is ahead of the bus's decides nothing."""

    async def never(bus: BusTime, at: int, control: Control) -> str:
        del bus, at, control
        return ""

    patch.setattr(BusTime, "ahead", never)


def bound_at_fold(patch: Patch) -> None:
    """The time of a message that is far ahead of the bus's is brought back."""

    def opened(entry: Entry, control: Control) -> Opened | Passed:
        found = open_message(entry, control)
        if isinstance(found, Opened) and found.hurried:
            return Opened(decode_sighting(entry.data) if entry.stream == FACTS else decode_commit(entry.data))
        return found

    _open_by(patch, opened)


def skipped_unread(patch: Patch) -> None:
    """What is skipped is not even decoded."""

    def opened(entry: Entry, control: Control) -> Opened | Passed:
        open_message(entry, Control())
        return open_message(entry, control)

    _open_by(patch, opened)


def monotone_time(patch: Patch) -> None:
    """The time of a partition never goes back."""

    def ignored(fold: PartitionFold, at: int) -> None:
        del fold, at

    patch.setattr(PartitionFold, "at", property(lambda _: 0, ignored), raising=False)


def inputs_exist(patch: Patch) -> None:
    """A commit that rests on what is not there halts its partition by name."""

    async def wait(reading: CommitReading, entry: Entry, run: InputRun) -> None:
        del entry, run
        await reading._next_news()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    patch.setattr(CommitReading, "_await_input", wait)


def chain(patch: Patch) -> None:
    """A commit that does not follow the one before it is not folded."""
    fold_commit = PartitionFold.fold_commit

    def anyhow(fold: PartitionFold, entry: Entry, commit: Commit) -> None:
        fold_commit(fold, entry, replace(commit, base=fold.base, prev_hash=fold.prev_hash))

    patch.setattr(PartitionFold, "fold_commit", anyhow)


def lost_race(patch: Patch) -> None:
    """What was decided and did not come to stand is taken back."""

    def keep(world: World, mark: int) -> None:
        del world, mark

    patch.setattr(World, "take_back", keep)


def mark_of_decision(patch: Patch) -> None:
    """A job that bears the mark of a later decision is left alone."""

    def none(application: Application, mark: str) -> int:
        del application, mark
        return 0

    patch.setattr(Application, "since", none)


def beginnings(patch: Patch) -> None:
    """What was rolled goes only when everybody can begin behind it."""

    async def anyhow(bus: Bus, shelf: Shelf, keys: Sequence[str], stream: str, upto: int, control: Control) -> None:
        del bus, shelf, keys, stream, upto, control

    patch.setattr(rolled_streams, "check_beginnings", anyhow)


def lost_tails_noticed(patch: Patch) -> None:
    """Who has read more of a stream than it holds notices, and gives that back."""
    truncate = MemoryStream.truncate

    def unnoticed(stream: MemoryStream, keep: int) -> None:
        truncate(stream, keep)
        stream._lost -= 1  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    async def nothing(giving: GivingBack, read: int = 0) -> None:
        del giving, read

    append = MemoryStream.append

    async def moved_on(
        stream: MemoryStream, subject: str, data: bytes, *, message_id: str, base: int, **more: Any
    ) -> int:
        try:
            return await append(stream, subject, data, message_id=message_id, base=base, **more)
        except TailLost:
            raise LogMovedOn(stream=stream.name, base=base) from None

    patch.setattr(MemoryStream, "truncate", unnoticed)
    patch.setattr(MemoryStream, "_check_end", _nothing)
    patch.setattr(MemoryStream, "append", moved_on)
    patch.setattr(GivingBack, "back", nothing)


def readers_first(patch: Patch) -> None:
    """Who has just connected stores nothing before those who have read what the bus has lost."""

    patch.setattr(RetryingBus, "connections", lambda _: 0)


def who_stays(patch: Patch) -> None:
    """Of an elastic job that has become smaller it is known who stays before a host of it is replaced."""

    def none(*_: object) -> frozenset[str]:
        return frozenset()

    def never(*_: object) -> bool:
        return False

    patch.setattr(slices, "lost_hosts", none)
    patch.setattr(eviction, "too_many_go_on", never)
    patch.setattr(second_pass, "holds_too_many", never)


class Missed(NamedTuple):
    """A guard, and where it is missed."""

    guard: Guard
    seeds: tuple[int, ...]
    """Seeds that break a law without it; each by itself may cease to when worlds change."""
    law: str
    """What is said of the law that falls."""
    faults: tuple[Fault, ...] | None = None
    """What strikes; the faults of the seed when nothing is said."""

    def strikes(self, seed: int) -> Sequence[Fault]:
        """The faults of a history."""
        return schedule_of(seed, SPAN) if self.faults is None else self.faults


ALL_TOLD_AGAIN = tuple(
    Fault(
        index=8 * second + process,
        at=500 + 1000 * second,
        kind=FaultKind.MESSAGE_DOUBLED,
        process=process,
        number=5,
        lasts=1500 + 500 * (second % 4),
    )
    for second in range(18)
    for process in range(8)
)
"""Most of what watchers tell is stored once more a while later."""
HOSTS_LOST = (
    *(
        Fault(index=2 * number, at=1500 + 1500 * number, kind=FaultKind.NODE, number=7919 * number, lasts=3000)
        for number in range(11)
    ),
    *(
        Fault(
            index=100 + number,
            at=500 + 2000 * number,
            kind=FaultKind.LATE_WATCHER,
            process=number,
            number=5,
            lasts=3000,
        )
        for number in range(9)
    ),
)
"""One host is lost after the other, and watchers see late which pods have ended."""


MISSED = (
    Missed(expected_end, (2, 3), "never ends"),
    Missed(lost_race, (9, 11, 14), "names another world than comes out in replay"),
    Missed(version_order, (36, 45), "held", ALL_TOLD_AGAIN),
    Missed(tombstones, (36, 41), "held", ALL_TOLD_AGAIN),
    Missed(authors, (6, 87), "which holds no quota"),
    Missed(bound_at_append, (54, 280), "was decided ahead of time"),
    Missed(bound_at_fold, (369, 321, 217), "ms from now"),
    Missed(monotone_time, (38, 47), "before the decision ahead of it"),
    Missed(skipped_unread, (15, 1), "can't be read"),
    Missed(inputs_exist, (26, 86), "never ends"),
    Missed(chain, (17, 57), "names another message as its predecessor"),
    Missed(mark_of_decision, (51,), "never ends"),
    Missed(lost_tails_noticed, (5, 10), "never ends"),
    Missed(readers_first, (5, 130, 190), "comes out otherwise in replay"),
    Missed(beginnings, (21, 35), "that starts now begins at"),
    Missed(who_stays, (8, 324), "and sends them to", HOSTS_LOST),
)


def broken_without(missed: Missed, seed: int) -> tuple[str, ...]:
    """The laws that a seed breaks when a guard is away."""
    with pytest.MonkeyPatch.context() as patch:
        missed.guard(patch)
        return play(seed, SPAN, missed.strikes(seed)).broken


def _nothing(*_: object) -> str:
    return ""


def _open_by(patch: Patch, opened: Callable[[Entry, Control], Opened | Passed]) -> None:
    for module in (partition_fold, replay, log_reading):
        patch.setattr(module, "open_message", opened)


def _search(first: int, last: int) -> None:
    """Tell for each guard the first seeds in which it is missed."""
    for one in MISSED:
        missed = 0
        for seed in range(first, last + 1):
            broken = broken_without(one, seed)
            for law in broken[:2]:
                print(f"{one.guard.__name__}: seed {seed}: {law[:160]}", flush=True)  # noqa: T201 - what it is for
            missed += bool(broken)
            if missed == _ENOUGH:
                break


_ENOUGH = 3

if __name__ == "__main__":
    configure_logging("critical")
    begin, _, end = (sys.argv[1] if len(sys.argv) > 1 else "1-60").partition("-")
    _search(int(begin), int(end))
