"""Snapshots of partitions, in a folder and on the shelf of the bus: never trusted before they are checked.

A snapshot that is corrupt, of other rules, or that does not belong to the log as it stands is passed over with a word why,
and the fold begins at zero: a snapshot can only save time. One on the shelf was written by somebody else: it counts only if
a commit on the log names the hash of its bytes.
"""

import asyncio
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from events.codec import NotOurs, decode_commit
from events.event import Millis
from events.hash_chain import bytes_hash
from ops.files.reading import Unreadable, bytes_of, json_of
from ops.files.whole_file import write_pieces
from ops.production.log.sealed import is_whole, sealed
from ops.production.log.streams import streams_known
from projections.json_in_pieces import fields_as_json
from projections.partitions.lineage import forks_of
from projections.snapshot import tables_as_json, world_from_json
from projections.state_hash import state_hash
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Bus, Stream
from services.runtime.packed import Packed, packed
from services.runtime.partition.fold import PartitionFold
from services.runtime.shelf_port import Shelf, ShelfLabel

log = structlog.get_logger()

EVERY = 100
"""A snapshot is taken after so many commits and half as many as there are workloads: what it costs grows with them."""
_INPUTS = 10
"""So many inputs count as one commit: a partition that says nothing has to be saved as well, or its inputs could not be rolled."""
_NO_WORLD = (msgspec.MsgspecError, RecursionError, LookupError, TypeError, ValueError, AttributeError)
"""What laying out tables raises that don't belong together."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of the folder holds: the world behind a commit, where that is, and the rules under which it was folded."""

    partition: str = msgspec.field(name="lane")
    base: int
    prev_hash: str
    at: Millis
    settled: dict[str, int]
    rules: str
    state_hash: str
    tables: msgspec.Raw
    """`Tables`."""


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot on the shelf holds: the world behind a commit, and how far its inputs are folded in it."""

    settled: dict[str, int]
    tables: msgspec.Raw
    """`Tables`."""


class _Saved(NamedTuple):
    """A world that is to be brought to the shelf."""

    partition: str
    image: Packed
    upto: dict[str, int]
    forks: tuple[str, ...]
    """The forks of the partition to which trees have moved by then."""


class SnapshotUnusable(Exception):
    """A snapshot that must not be gone on from, and why."""

    def __init__(self, why: str, path: Path | None = None) -> None:
        named = f"snapshot {path}" if path is not None else "the snapshot"
        super().__init__(f"{named} can't be used: {why}. Without it the fold begins at the beginning of the log")
        self.why = why


class Snapshots:
    """The newest snapshots of each partition: our own in a folder, everybody's on the shelf. Either may be lacking."""

    def __init__(self, folder: Path | None, rules: str, shelf: Shelf | None = None, *, every: int = EVERY) -> None:
        self._folder, self._rules, self._shelf, self._every = folder, rules, shelf, every
        self._taken: dict[str, int] = {}
        """Per partition the commit at which the newest in the folder was taken."""
        self._marked: dict[str, tuple[int, int]] = {}
        """Per partition the last commit that named a hash, and how many inputs had come when we first saw it."""
        self._images: dict[str, Packed] = {}
        """Per partition the image whose hash we have named in a commit, until that commit stands on the log."""
        self._partitions: dict[str, Stream] = {}
        """The streams of the partitions that were begun here: they say which saved worlds count."""
        self._read: dict[str, tuple[Stream, ...]] = {}
        """Per partition that was begun here, the streams that a fold from zero reads."""
        self._on_the_way: asyncio.Queue[_Saved] = asyncio.Queue()
        self.problem = ""
        """Why the last one could not be written to the folder; empty when it was."""

    def mark(self, fold: PartitionFold) -> str:
        """The hash of the world for the commit that is about to be appended to name; empty when it is not yet time."""
        if self._shelf is None or not self._due(fold):
            return ""
        image = packed(image_of(fold))
        self._images[fold.partition] = image
        return image.sha256

    def _due(self, fold: PartitionFold) -> bool:
        """After so many commits; of a partition on which hardly anybody has anything to say, after ten times as many inputs.

        Of a fork the first one, too: until it has a saved world, its origin keeps those of before.
        """
        if not fold.base and fold.partition in fold.control.forks:
            return True
        came = sum({**fold.settled, **{run.stream: run.upto for run in fold.runs}}.values())
        marked, before = self._marked.get(fold.partition, (-1, came))
        if marked != fold.marked[0]:
            before = came
            self._marked[fold.partition] = (fold.marked[0], came)
        many = self._many(fold)
        return fold.base + 1 - fold.marked[0] >= many or came - before >= _INPUTS * many

    def _many(self, fold: PartitionFold) -> int:
        return self._every + len(fold.world.workloads) // 2

    def settled(self, fold: PartitionFold) -> None:
        """Called after each commit: take a snapshot when it is time."""
        image = self._images.get(fold.partition)
        if image is not None and fold.marked == (fold.base, image.sha256):
            del self._images[fold.partition]
            upto = {**fold.settled, fold.partition: fold.base}
            self._on_the_way.put_nowait(_Saved(fold.partition, image, upto, forks_of(fold.world.forks, fold.partition)))
        since = fold.base - self._taken.setdefault(fold.partition, 0)
        if self._folder is not None and since >= self._many(fold) and not fold.runs:
            self._taken[fold.partition] = fold.base
            try:
                self.take(fold)
            except OSError as problem:
                # It can only save time: the partition goes on without it.
                self.problem = f"no snapshot can be written in {self._folder}: {problem.strerror or problem}"
                log.warning("no snapshot", partition=fold.partition, problem=self.problem)
            else:
                self.problem = ""

    async def run(self) -> None:
        """Bring to the shelf what belongs there, until cancelled."""
        while self._shelf is not None:
            await self._bring(self._shelf, await self._on_the_way.get())

    async def share(self) -> None:
        """Bring to the shelf what belongs there by now."""
        while self._shelf is not None and not self._on_the_way.empty():
            await self._bring(self._shelf, self._on_the_way.get_nowait())

    async def _bring(self, shelf: Shelf, saved: _Saved) -> None:
        partition, upto = saved.partition, saved.upto
        try:
            if await self._is_overtaken(shelf, partition, upto[partition]):
                return
            if unsaved := [fork for fork in saved.forks if not await shelf.labels(fork)]:
                # What it has on the shelf is where these begin: in the world that is to replace it trees have left already.
                log.info("snapshot not shared yet", partition=partition, sequence=upto[partition], unsaved=unsaved)
                return
            await shelf.put(partition, saved.image, upto=upto, rules=self._rules)
            log.info("snapshot shared", partition=partition, sequence=upto[partition])
        except LogUnavailable as problem:
            # The next one will do; until then who starts anew has more to fold.
            log.warning("snapshot not shared", partition=partition, problem=str(problem))

    async def _is_overtaken(self, shelf: Shelf, partition: str, sequence: int) -> bool:
        """Whether one that counts goes as far already: an older one must not replace it, for the messages in between may be gone."""
        stream = self._partitions.get(partition)
        for label in await shelf.labels(partition):
            base = label.upto.get(partition, 0)
            if stream is not None and base >= sequence and await names_world(stream, label):
                return True
        return False

    def take(self, fold: PartitionFold) -> None:
        """Store the world as it is at the last commit in the folder; nothing may be folded ahead of it."""
        if self._folder is None:
            return
        snapshot = Snapshot(
            partition=fold.partition,
            base=fold.base,
            prev_hash=fold.prev_hash,
            at=fold.at,
            settled=dict(fold.settled),
            rules=self._rules,
            state_hash=state_hash(fold.world),
            tables=msgspec.Raw(),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        pieces = fields_as_json(snapshot, {"tables": tables_as_json(fold.world)})
        write_pieces(self._path(self._folder, fold.partition), sealed(pieces))
        self._taken[fold.partition] = fold.base
        log.info("snapshot taken", partition=fold.partition, sequence=fold.base)

    async def begin(self, bus: Bus, stream: Stream, control: Control) -> PartitionFold:
        """Where the fold of a partition begins on a log, knowing all that is read for it and what CONTROL says."""
        origins = [await bus.stream(one) for one in control.lineage(stream.name)[:-1]]
        inputs = [await bus.stream(one) for one in streams_known(control).inputs(stream.name)]
        fold = await self.load(stream, origins, inputs)
        fold.heed(control)
        return fold

    async def load(
        self, stream: Stream, origins: Sequence[Stream] = (), inputs: Sequence[Stream] = ()
    ) -> PartitionFold:
        """A fold that begins at the newest good snapshot of a partition if there is one, else at zero.

        `origins`: of a fork, the partitions in which its history begins, the first one first. Where it has no snapshot, it begins at one of
        theirs from before trees moved. `inputs`: what else it reads.
        """
        self._partitions[stream.name] = stream
        self._read[stream.name] = (stream, *origins, *inputs)
        own = await self._from_folder(stream)
        shared = await self._from_shelf(stream, own.base)
        fold = shared if shared is not None else own
        self._taken[stream.name] = fold.base
        lineage = (*origins, stream)
        for number in reversed(range(len(origins))):
            if fold.base:
                break
            heirs = tuple(one.name for one in lineage[number + 1 :])
            self._read[origins[number].name] = self._read[stream.name]
            fold = await self._from_shelf(origins[number], 0, heirs=heirs) or fold
        return fold

    async def _from_folder(self, stream: Stream) -> PartitionFold:
        fold = PartitionFold(stream.name)
        path = self._path(self._folder, stream.name) if self._folder is not None else None
        if path is None or not os.path.exists(path):  # noqa: PTH110 - a folder without rights has none either, and fails nobody
            return fold
        try:
            snapshot = read_snapshot(path, self._rules)
            return fold_from(snapshot, await _stored(stream, snapshot.base))
        except SnapshotUnusable as problem:
            return _passed_over(fold, problem.why)

    async def _from_shelf(self, stream: Stream, beyond: int, *, heirs: tuple[str, ...] = ()) -> PartitionFold | None:
        """The good one on the shelf that goes furthest, if that is further than what is known; from before trees moved to the first of the heirs."""
        if self._shelf is None:
            return None
        try:
            labels = await self._shelf.labels(stream.name)
            for label in sorted(labels, key=lambda one: one.upto.get(stream.name, 0), reverse=True):
                if label.upto.get(stream.name, 0) <= beyond:
                    break
                try:
                    fold = await self._shared(stream, label, self._shelf)
                    if heirs and heirs[0] in fold.world.forks:
                        raise SnapshotUnusable(f"trees had moved to {heirs[0]} by then")
                    fold.heirs = heirs
                    return fold
                except SnapshotUnusable as problem:
                    _passed_over(PartitionFold(stream.name), problem.why)
        except LogUnavailable as problem:
            log.warning("shelf unavailable", problem=str(problem))
        return None

    async def _shared(self, stream: Stream, label: ShelfLabel, shelf: Shelf) -> PartitionFold:
        """The fold that a shared snapshot leads to. Raises `SnapshotUnusable`."""
        base = label.upto[stream.name]
        if label.rules != self._rules:
            if not any([await _is_gone(one) for one in self._read[stream.name]]):
                raise SnapshotUnusable(f"it was folded under rules {label.rules}, these are {self._rules}")
            # The beginning of what is read is in the archive: who can't reach that goes on from what others have folded.
            log.warning("snapshot of other rules", partition=stream.name, rules=label.rules, sequence=base)
        stored, image = await _stored(stream, base), await shelf.take(label)
        if stored is None:
            raise SnapshotUnusable(f"the log does not reach its sequence {base}, or not back to it")
        return fold_from_image(stream.name, base, stored, image or b"")

    @staticmethod
    def _path(folder: Path, partition: str) -> Path:
        return folder / f"{partition}.json"


def image_of(fold: PartitionFold) -> Iterator[bytes]:
    """The `Image` of the world as it stands with all that is folded ahead, in pieces; the same bytes wherever it is folded."""
    settled = {**fold.settled, **{run.stream: run.upto for run in fold.runs}}
    return fields_as_json(Image(settled=settled, tables=msgspec.Raw()), {"tables": tables_as_json(fold.world)})


def image_hash(fold: PartitionFold) -> str:
    """The SHA-256 of that image, which commits name."""
    digest = hashlib.sha256()
    for piece in image_of(fold):
        digest.update(piece)
    return digest.hexdigest()


def fold_from_image(partition: str, base: int, stored: bytes, image: bytes) -> PartitionFold:
    """A fold that begins at an image, if the commit that stands at its sequence names it. Raises `SnapshotUnusable`."""
    try:
        commit = decode_commit(stored)
        if not commit.state_hash or commit.state_hash != hashlib.sha256(image).hexdigest():
            raise SnapshotUnusable(f"the commit at {base} does not name it")
        found = json_of(image, Image)
        world = world_from_json(found.tables)
    except (NotOurs, Unreadable, *_NO_WORLD) as problem:
        raise SnapshotUnusable(f"it can't be read: {problem}") from problem
    fold = PartitionFold(partition, world)
    fold.restore(base=base, prev_hash=bytes_hash(stored), at=commit.at, settled=found.settled)
    fold.marked = (base, commit.state_hash)
    return fold


def read_snapshot(path: Path, rules: str) -> Snapshot:
    """The snapshot in a file. Raises `SnapshotUnusable`."""
    try:
        data = bytes_of(path, at_most=None)
        snapshot = json_of(data, Snapshot)
    except Unreadable as problem:
        raise SnapshotUnusable(problem.what) from problem
    if not is_whole(data):
        raise SnapshotUnusable("it is not the one that was written: its file is damaged")
    if snapshot.rules != rules:
        raise SnapshotUnusable(f"it was folded under rules {snapshot.rules}, these are {rules}")
    return snapshot


def fold_from(snapshot: Snapshot, stored: bytes | None) -> PartitionFold:
    """A fold that begins at a snapshot, given what the log holds at its sequence. Raises `SnapshotUnusable`."""
    if stored is None:
        raise SnapshotUnusable(f"the log does not reach its sequence {snapshot.base}")
    if bytes_hash(stored) != snapshot.prev_hash:
        raise SnapshotUnusable("it does not belong to this log")
    try:
        world = world_from_json(snapshot.tables)
    except _NO_WORLD as problem:
        raise SnapshotUnusable(f"it can't be read: {problem}") from problem
    if state_hash(world) != snapshot.state_hash:
        raise SnapshotUnusable("its state hash does not match its content")
    fold = PartitionFold(snapshot.partition, world)
    fold.restore(base=snapshot.base, prev_hash=snapshot.prev_hash, at=snapshot.at, settled=snapshot.settled)
    return fold


async def names_world(partition: Stream, label: ShelfLabel) -> bool:
    """Whether the commit at which a world was saved names its hash. Raises `LogUnavailable`."""
    stored = await _stored(partition, label.upto.get(partition.name, 0))
    try:
        return stored is not None and decode_commit(stored).state_hash == label.sha256
    except NotOurs:
        return False


async def _stored(stream: Stream, sequence: int) -> bytes | None:
    try:
        return (await stream.get(sequence)).data
    except LogGap:
        return None


async def _is_gone(stream: Stream) -> bool:
    """Whether the beginning of a stream is on the bus no more."""
    try:
        return bool((await stream.last()).sequence) and await _stored(stream, 1) is None
    except LogGap:
        return True


def _passed_over(fold: PartitionFold, why: str) -> PartitionFold:
    log.warning("snapshot passed over", partition=fold.partition, why=why)
    return fold
