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
"""A snapshot is taken every so many commits."""


class Snapshots:
    """The newest snapshot of each lane."""

    def __init__(self, folder: Path, rules: str) -> None:
        self._folder, self._rules = folder, rules
        folder.mkdir(parents=True, exist_ok=True)

    def settled(self, fold: LaneFold) -> None:
        """Told after each commit: take a snapshot when it is time."""
        if fold.base and fold.base % EVERY == 0 and not fold.runs:
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
        log.info("snapshot taken", lane=fold.lane, sequence=fold.base)

    async def load(self, stream: Stream) -> LaneFold:
        """A fold that begins at the newest snapshot of a lane if there is a good one, else at zero."""
        fold = LaneFold(stream.name)
        path = self._path(stream.name)
        if not path.exists():
            return fold
        try:
            snapshot = msgspec.json.decode(path.read_bytes(), type=Snapshot)
        except (msgspec.MsgspecError, OSError) as problem:
            return _passed_over(fold, f"it can't be read: {problem}")
        if snapshot.rules != self._rules:
            return _passed_over(fold, f"it was folded under rules {snapshot.rules}, these are {self._rules}")
        try:
            entry = await stream.get(snapshot.base)
        except LogGap:
            return _passed_over(fold, f"the log does not reach its sequence {snapshot.base}")
        if bytes_hash(entry.data) != snapshot.prev_hash:
            return _passed_over(fold, "it does not belong to this log")
        world = restored(snapshot)
        if world is None:
            return _passed_over(fold, "its state hash does not match its content")
        fold = LaneFold(stream.name, world)
        fold.restore(base=snapshot.base, prev_hash=snapshot.prev_hash, at=snapshot.at, settled=snapshot.settled)
        return fold

    def _path(self, lane: str) -> Path:
        return self._folder / f"{lane}.json"


def _passed_over(fold: LaneFold, why: str) -> LaneFold:
    log.warning("snapshot passed over", lane=fold.lane, why=why)
    return fold
