"""The worlds of past moments: each is folded on from the nearest one behind it that is at hand, and leaves some on its way."""

import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import structlog

from events.event import Millis
from ops.queries.replay import fold_up
from projections.snapshot import Tables, tables_of, world_of
from projections.world import World
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold

log = structlog.get_logger()

Entries = Mapping[str, Sequence[Entry]]
EVERY = 500
"""A world is left behind after so many commits and half as many as there are workloads: what it costs grows with them."""
MOST_LEFT = 32
"""Worlds of one partition on the disk; when there are more, every other one goes and the next ones stand twice as far apart."""
_HELD = 2
"""Worlds of one partition in memory: as many as one question compares."""
_FASTEST = 1


class _Left(msgspec.Struct, frozen=True, kw_only=True):
    """A world on the disk, and where its fold stood."""

    base: int
    prev_hash: str
    at: Millis
    settled: dict[str, int]
    file: Path


class _Held(msgspec.Struct, kw_only=True):
    """A fold that stands at a moment."""

    fold: PartitionFold
    moment: tuple[object, ...]
    asked: bool = True
    """By the question that is being answered: it may not move on."""


class PastWorlds:
    """Worlds of one log. A fold at hand is moved on where that is nearest, so that going forward costs what came in between."""

    def __init__(self, every: int = EVERY, most_left: int = MOST_LEFT) -> None:
        self._every, self._most_left = every, most_left
        self._held: dict[str, list[_Held]] = {}
        self._left: dict[str, list[_Left]] = {}
        self._apart: dict[str, int] = {}
        """By partition, how many times as far apart they are left by now."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    def close(self) -> None:
        """Take what was left from the disk."""
        if self._folder is not None:
            self._folder.cleanup()

    def left(self, partition: str) -> list[Path]:
        """The files of the worlds of a partition that were left."""
        return [one.file for one in self._left.get(partition, [])]

    def answered(self) -> None:
        """A question is answered: what it asked for may move on."""
        for held in self._held.values():
            for one in held:
                one.asked = False

    def forget(self) -> None:
        """Forget all of them: what is skipped of the log has changed."""
        self._held.clear()
        for left in self._left.values():
            for one in left:
                one.file.unlink(missing_ok=True)
        self._left.clear()
        self._apart.clear()

    def world(self, partition: str, entries: Entries, at: Millis) -> World:
        """The world of a partition with these entries folded, at a time. It is good until the question is answered."""
        moment = (at, *((name, len(found)) for name, found in sorted(entries.items())))
        held = self._held.setdefault(partition, [])
        for one in held:
            if one.moment == moment:
                held.remove(one)
                held.append(one)
                one.asked = True
                return one.fold.world
        start = self._nearest(partition, held, len(entries.get(partition, ())))
        if len(held) >= _HELD:
            held.remove(next(one for one in held if not one.asked))
        fold = fold_up(partition, entries, start=start, settled=self._leave)
        fold.world.advance(at)
        held.append(_Held(fold=fold, moment=moment))
        return fold.world

    def _nearest(self, partition: str, held: list[_Held], end: int) -> PartitionFold | None:
        """The nearest fold that stands no later than a commit: one at hand, which is taken from there, or one that was left."""
        # One without a commit spares nothing; that of a fork may have begun ahead of what its origin has fixed.
        free = [one for one in held if not one.asked and 0 < one.fold.base <= end]
        near = max(free, key=lambda one: one.fold.base, default=None)
        left = self._left.get(partition, [])
        place = bisect_right(left, end, key=lambda one: one.base)
        if near is not None and (not place or near.fold.base >= left[place - 1].base):
            held.remove(near)
            fold = near.fold
            fold.rewind()
            on = PartitionFold(partition, fold.world)
            on.restore(base=fold.base, prev_hash=fold.prev_hash, at=fold.at, settled=fold.settled)
            return on
        return _taken(partition, left[place - 1]) if place else None

    def _leave(self, fold: PartitionFold) -> None:
        """Leave the world on the disk when it is time; nothing is folded ahead of it then."""
        name = fold.partition
        left = self._left.setdefault(name, [])
        place = bisect_right(left, fold.base, key=lambda one: one.base)
        behind = left[place - 1].base if place else 0
        if fold.base - behind < (self._every + len(fold.world.workloads) // 2) * self._apart.get(name, 1):
            return
        try:
            file = self._written(name, zlib.compress(msgspec.msgpack.encode(tables_of(fold.world)), _FASTEST))
        except OSError as problem:
            # It can only save time: the next one is tried when its turn comes.
            log.warning("no world left on the disk", problem=problem.strerror or str(problem))
            return
        left.insert(
            place,
            _Left(base=fold.base, prev_hash=fold.prev_hash, at=fold.at, settled=dict(fold.settled), file=file),
        )
        if len(left) > self._most_left:
            self._apart[name] = 2 * self._apart.get(name, 1)
            for one in left[::2]:
                one.file.unlink()
            del left[::2]

    def _written(self, partition: str, image: bytes) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kuelog-worlds-")
        self._count += 1
        file = Path(self._folder.name) / f"{partition}-{self._count}"
        file.write_bytes(image)
        return file


def _taken(partition: str, left: _Left) -> PartitionFold:
    """A fold that goes on from a world that was left."""
    tables = msgspec.msgpack.decode(zlib.decompress(left.file.read_bytes()), type=Tables)
    fold = PartitionFold(partition, world_of(tables))
    fold.restore(base=left.base, prev_hash=left.prev_hash, at=left.at, settled=left.settled)
    return fold
