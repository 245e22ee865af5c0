"""Where a fold begins: at a snapshot that belongs to the log, or at the beginning of the log."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from ops.production.log.snapshots import SnapshotUnusable, fold_from, read_snapshot
from ops.production.wiring import RULES
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold

log = structlog.get_logger()


def begin(partition: str, entries: Mapping[str, Sequence[Entry]], folder: Path | None, *, asked: bool) -> PartitionFold:
    """The fold of a partition, from the newest snapshot in a folder if there is one that does not lie behind the point.

    One that can't be used is passed over with a word why, unless it was asked for. Raises `SnapshotUnusable`.
    """
    path = None if folder is None else folder if folder.is_file() else folder / f"{partition}.json"
    if path is None or not path.is_file():
        if asked and path is not None and not (folder is not None and folder.is_file()):
            raise SnapshotUnusable(f"there is no {path.name} in {path.parent}", path)
        return PartitionFold(partition)
    try:
        snapshot = read_snapshot(path, RULES)
        if snapshot.partition != partition:
            raise SnapshotUnusable(f"it is of {snapshot.partition}, not of {partition}")
        found = entries.get(partition, ())
        if not asked and (not found or found[-1].sequence < snapshot.base):
            return PartitionFold(partition)  # The point that is asked for lies before it.
        place = snapshot.base - found[0].sequence if found else -1
        stored = found[place].data if 0 <= place < len(found) else None
        return fold_from(snapshot, stored)
    except SnapshotUnusable as problem:
        if asked:
            raise SnapshotUnusable(problem.why, path) from problem
        log.warning("snapshot passed over", partition=partition, why=problem.why)
        return PartitionFold(partition)
