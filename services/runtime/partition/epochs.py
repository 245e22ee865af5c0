"""Takeovers on record: who begins to decide says so on the partition, and who was deposed reads it there.

Rule: docs/rules/log.md#leases
"""

from collections.abc import Sequence

from events.control import EpochStarted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.lease import Lease


class Epochs:
    """The epochs that were begun here, by author."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: dict[str, tuple[int, int]] = {}
        """The grant of the lease in which an author began here, and the epoch that it began."""

    def begin(self, author: str, lease: Lease, place: LogPosition) -> Sequence[EpochStarted]:
        """The event with which an author begins here, folded; none where its epoch is on the log or folded already."""
        on_log = self._world.epochs.get(author, 0)
        grant, epoch = self._begun.get(author, (0, 0))
        if grant == lease.grants and on_log >= epoch:
            return ()
        if grant != lease.grants:
            epoch = on_log + 1
            self._begun[author] = (lease.grants, epoch)
        event = EpochStarted(service=author, epoch=epoch)
        evolve(self._world, event, place)
        return (event,)

    def is_deposed(self, lease: Lease) -> bool:
        """Whether another has begun a later epoch than the one of this lease."""
        return any(
            grant == lease.grants and self._world.epochs.get(author, 0) > epoch
            for author, (grant, epoch) in self._begun.items()
        )
