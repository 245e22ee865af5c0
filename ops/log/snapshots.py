"""Snapshots of lanes in a folder: written whole or not at all, and never trusted before they are checked.

A snapshot that is corrupt, of other rules, or that does not belong to the log as it stands is passed over with a word why,
and the fold begins at zero: a snapshot can only save time.
"""

from pathlib import Path

import msgspec
import structlog

from events.commit import bytes_hash
from projections.snapshot import Snapshot, restored, tables_of
from projections.state_hash import state_hash
from services.lane_fold import LaneFold
from services.log_errors import LogGap
from services.log_port import Stream

log = structlog.get_logger()

EVERY = 500
"""A snapshot is taken after so many commits and half as many as there are workloads: what it costs grows with them."""


class SnapshotUnusable(Exception):
    """A snapshot that must not be gone on from, and why."""

    def __init__(self, why: str, path: Path | None = None) -> None:
        named = f"snapshot {path}" if path is not None else "the snapshot"
        super().__init__(f"{named} can't be used: {why}. Without it the fold begins at the beginning of the log")
        self.why = why


class Snapshots:
    """The newest snapshot of each lane."""

    def __init__(self, folder: Path, rules: str) -> None:
        self._folder, self._rules = folder, rules
        self._taken: dict[str, int] = {}
        """Per lane the commit at which the newest was taken."""
        folder.mkdir(parents=True, exist_ok=True)

    def settled(self, fold: LaneFold) -> None:
        """Told after each commit: take a snapshot when it is time."""
        since = fold.base - self._taken.setdefault(fold.lane, 0)
        if since >= EVERY + len(fold.world.workloads) // 2 and not fold.runs:
            self.take(fold)

    def take(self, fold: LaneFold) -> None:
        """Store the world as it is at the last commit; nothing may be folded ahead of it."""
        snapshot = Snapshot(
            lane=fold.lane,
            base=fold.base,
            prev_hash=fold.prev_hash,
            at=fold.at,
            settled=dict(fold.settled),
            rules=self._rules,
            state_hash=state_hash(fold.world),
            tables=tables_of(fold.world),
        )
        fresh = self._folder / f"{fold.lane}.new"
        fresh.write_bytes(msgspec.json.encode(snapshot, order="deterministic"))
        fresh.replace(self._path(fold.lane))
        self._taken[fold.lane] = fold.base
        log.info("snapshot taken", lane=fold.lane, sequence=fold.base)

    async def load(self, stream: Stream) -> LaneFold:
        """A fold that begins at the newest snapshot of a lane if there is a good one, else at zero."""
        fold = LaneFold(stream.name)
        path = self._path(stream.name)
        if not path.exists():
            return fold
        try:
            snapshot = read_snapshot(path, self._rules)
            fold = fold_from(snapshot, await _stored(stream, snapshot.base))
        except SnapshotUnusable as problem:
            return _passed_over(fold, problem.why)
        self._taken[stream.name] = fold.base
        return fold

    def _path(self, lane: str) -> Path:
        return self._folder / f"{lane}.json"


def read_snapshot(path: Path, rules: str) -> Snapshot:
    """The snapshot in a file. Raises `SnapshotUnusable`."""
    try:
        snapshot = msgspec.json.decode(path.read_bytes(), type=Snapshot)
    except (msgspec.MsgspecError, OSError) as problem:
        raise SnapshotUnusable(f"it can't be read: {problem}") from problem
    if snapshot.rules != rules:
        raise SnapshotUnusable(f"it was folded under rules {snapshot.rules}, these are {rules}")
    return snapshot


def fold_from(snapshot: Snapshot, stored: bytes | None) -> LaneFold:
    """A fold that begins at a snapshot, given what the log holds at its sequence. Raises `SnapshotUnusable`."""
    if stored is None:
        raise SnapshotUnusable(f"the log does not reach its sequence {snapshot.base}")
    if bytes_hash(stored) != snapshot.prev_hash:
        raise SnapshotUnusable("it does not belong to this log")
    world = restored(snapshot)
    if world is None:
        raise SnapshotUnusable("its state hash does not match its content")
    fold = LaneFold(snapshot.lane, world)
    fold.restore(base=snapshot.base, prev_hash=snapshot.prev_hash, at=snapshot.at, settled=snapshot.settled)
    return fold


async def _stored(stream: Stream, sequence: int) -> bytes | None:
    try:
        return (await stream.get(sequence)).data
    except LogGap:
        return None


def _passed_over(fold: LaneFold, why: str) -> LaneFold:
    log.warning("snapshot passed over", lane=fold.lane, why=why)
    return fold
