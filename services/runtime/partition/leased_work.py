"""What one partition's host does only while it holds a lease: deciding, and writing what was decided to the cluster.

Takeovers are on record: who begins to decide says so on the partition, and who was deposed reads it there.
Rule: docs/rules/log.md#leases
"""

from collections.abc import Callable, Sequence

from events.control import EpochStarted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.lease import Lease, Readiness

_READER = "observers"


class LeasedWork:
    """The two leases of a host, each None where no other replica would do the work."""

    def __init__(
        self,
        world: World,
        deciding: Lease | None,
        writing: Lease | None,
        *,
        changed: Callable[[], None],
        readiness: Callable[[], Readiness],
    ) -> None:
        """`changed` is called when either is taken or lost; `readiness` says whether the host can go on."""
        self._world, self._deciding, self._writing = world, deciding, writing
        self._begun: dict[str, tuple[int, int]] = {}
        """By author, the grant of the lease in which it began here, and the epoch that it began."""
        self._taken_up = 0
        """The grant of the lease in which everything was looked at."""
        self._looked_on = writing is not None
        """Whether observers have missed what happened, because another replica wrote."""
        for lease in (deciding, writing):
            if lease is not None:
                lease.listeners.append(changed)
                lease.readiness = readiness

    @property
    def decides(self) -> bool:
        """Whether this replica should decide."""
        return self._deciding is None or self._deciding.held

    def take_up(self) -> None:
        """Look at everything once when this replica begins to decide, and stop when the log says that another has begun since.

        So it does when its lease comes back that had run out for a while: what has happened meanwhile nobody here has looked at.
        """
        lease = self._deciding
        if lease is None:
            return
        if self._is_deposed(lease):
            lease.let_go()
        elif not lease.held:
            self._taken_up = 0
        elif self._taken_up != lease.grants:
            self._taken_up = lease.grants
            self._world.review_all()

    def give_way(self) -> None:
        """Let another replica decide if there is one that waits for it: it takes over once the lease has expired."""
        if self._deciding is not None and self._deciding.held:
            self._deciding.let_go()

    def begin(self, author: str, place: LogPosition) -> Sequence[EpochStarted]:
        """The event with which an author begins here, folded; none where its epoch is on the log or folded already."""
        lease = self._deciding
        if lease is None:
            return ()
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

    def touched(self) -> Sequence[str] | None:
        """The workloads for observers to look at: all of them when their turn comes; None while another replica writes."""
        found = list(self._world.work.take(_READER))
        if self._writing is not None and not self._writing.held:
            self._looked_on = True
            return None
        if self._looked_on:
            self._looked_on = False
            return list(self._world.workloads)
        return found

    def _is_deposed(self, lease: Lease) -> bool:
        """Whether another has begun a later epoch than the one of this lease."""
        return any(
            grant == lease.grants and self._world.epochs.get(author, 0) > epoch
            for author, (grant, epoch) in self._begun.items()
        )
