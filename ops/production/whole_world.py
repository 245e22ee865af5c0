"""The world of all partitions that a process folds, composed anew when one of them has moved on and somebody asks."""

from collections.abc import Sequence

from projections.composed import composed
from projections.world import World
from services.runtime.partition.fold import PartitionFold


class WholeWorld:
    """Keeps the world that was composed last, and how far each partition was folded for it."""

    def __init__(self) -> None:
        self._known: tuple[object, World] | None = None

    def of(self, folds: Sequence[PartitionFold]) -> World | None:
        """The world of these partitions: that of a single one itself; None where none is folded."""
        if not folds[1:]:
            return folds[0].world if folds else None
        place = tuple((one.base, one.runs) for one in folds)
        if self._known is None or self._known[0] != place:
            self._known = place, composed([one.world for one in folds])
        return self._known[1]
