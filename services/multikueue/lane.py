"""What one partition wants of its workloads in other clusters, for as long as it is written from here."""

from collections.abc import Callable, Sequence

from projections.checks.quota_automation import followed_local_queues, is_automatic
from projections.feature_gates import enabled
from projections.partitions.homes import knows_its_trees
from projections.workloads.slices import slices_beside
from services.jobs.kinds.managed_kinds import kinds_of
from services.multikueue.cluster_profile import GATE
from services.multikueue.plan import RemoteState, concerns, plan
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.seen import AUTHOR
from services.multikueue.writing import RemoteWriter
from services.runtime.clock_port import Clock
from services.runtime.lease import Lease
from services.runtime.partition.guard import error_summary
from services.runtime.wanted_writes import WantedWrites


class Lane:
    """Observes a partition while its lease is held, or always where there is none."""

    def __init__(
        self,
        partition: str,
        clock: Clock,
        writer: RemoteWriter,
        lease: Lease | None,
        changed: Callable[["Lane", set[str]], None],
    ) -> None:
        """`changed` is called with what was looked at when it has begun or ended, when other clusters are wanted, and after each turn."""
        self.partition = partition
        self.writes = WantedWrites(clock, writer.write)
        self.world: RemoteState | None = None
        """The world of its last turn; None while nothing is written from here."""
        self.local_queues: frozenset[str] | None = None
        """Keys of the local queues whose namesakes in other clusters have to be known; None where no quota follows any."""
        self.anew = False
        """Whether it has begun or ended, or other clusters are wanted, since the last call of `changed`."""
        self._writer, self._lease, self._changed = writer, lease, changed
        self._seen: tuple[object, ...] = ()
        self._wanted: set[str] = set()
        if lease is not None:
            lease.listeners.append(self._end_if_lost)

    def observe(self, world: RemoteState, touched: Sequence[str]) -> None:
        """Take up what has changed in what was decided; called after each turn of the partition."""
        if not knows_its_trees(world):
            return
        self._writer.removal.kinds = kinds_of(world.settings)
        keys = {*touched, *world.remote_work.take_all(AUTHOR)}
        if not is_automatic(world):
            self.local_queues = None
        elif world.automation_work.take_all(AUTHOR):
            self.local_queues = followed_local_queues(world)
        seen = (
            world.settings.multikueue,
            enabled(world.settings, GATE),
            self.local_queues,
            *sorted(world.multikueue_clusters.items()),
        )
        if self.world is None or seen != self._seen:
            self.world, self._seen, self.anew = world, seen, True
            keys |= {*world.dispatches, *world.remotes}
        for key in sorted({beside for one in keys for beside in slices_beside(world, one)}):
            self._look_at(world, key)
        self._changed(self, keys)

    def _look_at(self, world: RemoteState, key: str) -> None:
        if key not in world.dispatches:
            self._writer.forget(key)
        wanted = _planned(world, key) if concerns(world, key) else None
        if wanted is None or wanted.idle:
            self._wanted.discard(key)
            self.writes.let_go(key)
        else:
            self._wanted.add(key)
            self.writes.want(key, wanted)

    def _end_if_lost(self) -> None:
        """Another replica writes from now on: what is wanted here may be of the past."""
        if self.world is None or self._lease is None or self._lease.held:
            return
        for key in self._wanted:
            self.writes.let_go(key)
        self._wanted.clear()
        self._writer.removal.forget()
        self.world, self.anew = None, True
        self._changed(self, set())


def _planned(world: RemoteState, key: str) -> RemotePlan:
    try:
        return plan(world, key)
    except Exception as problem:  # noqa: BLE001 - whatever a workload holds, all others are served
        return RemotePlan(workload=key, origin="", broken=error_summary(problem))
