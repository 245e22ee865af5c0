"""Removes our finalizer from Workload objects that nothing needs any more; with low priority.

If a restart comes between the end of a job and the removal, the finalizer is removed once the object is deleted: the deletion
stays on the log until the object is gone.
"""

from events.json_object import JsonObject
from projections.workloads.state import WorkloadState
from projections.workloads.terminating import has_to_stop
from services.applier.manifests import finalizers_left
from services.applier.workloads.known_objects import WORKLOADS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer


class WorkloadKeeper:
    """Removes our finalizer from Workloads of finished jobs, and from deleted Workloads once their jobs are stopped."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer = writer
        self._letting_go = RetriedWrites("workload", "workload not let go", self._let_go, clock, turn=spare.turn)
        self._known: dict[str, JsonObject] = {}
        """The metadata of objects that are to be let go, where they are known, for the first try."""
        self._asked_for: dict[str, str] = {}
        """The UIDs of deleted objects whose finalizer may go, until the watcher reports that they are gone."""

    def observe(self, world: WorkloadState) -> None:
        """Take up the objects that may go; called after each turn of the partition."""
        free = {
            key: found.uid
            for key, found in world.terminating.items()
            if not has_to_stop(found, world.workloads.get(key))
        }
        for key, uid in free.items():
            if self._asked_for.get(key) != uid:
                self._known.pop(key, None)
                self._letting_go.offer(key, uid)
        self._asked_for = free

    def free(self, key: str, meta: JsonObject) -> None:
        """The job has ended, and the object says so: these are its metadata now."""
        if finalizers_left(meta) is not None:
            self._known[key] = meta
            self._letting_go.offer(key, str(meta["uid"]))

    async def run(self) -> None:
        """Take our finalizer off Workloads that are to go, until cancelled."""
        await self._letting_go.run()

    async def _let_go(self, key: str, uid: str) -> None:
        namespace, _, name = key.partition("/")
        meta = self._known.pop(key, None) or (await self._writer.get(WORKLOADS, namespace, name))["metadata"]
        left = finalizers_left(meta)
        if left is None or meta["uid"] != uid:
            return
        # Of that very version: nobody's finalizer is taken away that came meanwhile.
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
        await self._writer.merge(WORKLOADS, namespace, name, patch)
