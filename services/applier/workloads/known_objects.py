"""A cache of Workload objects from the responses to our own writes: their version, what they ask for, and a digest of the decided status."""

import msgspec

from events.json_object import JsonObject
from projections.workloads.lifecycle import Workload
from services.applier.workloads.asked import asked_in, asked_of, rank_in, rank_of
from services.applier.workloads.status_parts import print_of
from services.runtime.cluster_port import Resource

WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
_MOST = 50_000


class KnownObject(msgspec.Struct, frozen=True):
    """An object as the API server last returned it."""

    version: str
    shows: str
    """The digest of what it showed of what was decided."""
    ranked: tuple[int, str]
    """Its priority, and the name of the class that this comes from."""
    asks: str | None
    """What else it asks for, as `asked_in` tells it; None of an object that others have made."""


class KnownObjects:
    """By workload; of too many those that were written longest ago are forgotten: they are written without a version."""

    def __init__(self) -> None:
        self._known: dict[str, KnownObject] = {}

    def of(self, workload: str) -> KnownObject | None:
        """The object as last returned; None when it is not cached."""
        return self._known.get(workload)

    def note(self, workload: str, found: JsonObject) -> KnownObject:
        """Keep version and status of an object that the API has answered with; the oldest is forgotten when there are too many."""
        self._known.pop(workload, None)
        known = KnownObject(
            version=found["metadata"]["resourceVersion"],
            shows=print_of(found.get("status") or {}),
            ranked=rank_in(found),
            asks=asked_in(found),
        )
        self._known[workload] = known
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        return known

    def restore(self, workload: str, known: KnownObject) -> None:
        """Go by an earlier answer again, so that what others have written since then is not written over."""
        self._known[workload] = known

    def note_asked(self, workload: str, found: JsonObject) -> None:
        """Keep what an object asks for that was only read.

        Its version stays that of our last write: what others have decided since then is not to be overwritten unseen.
        """
        known = self._known.get(workload)
        if known is not None:
            self._known[workload] = msgspec.structs.replace(known, ranked=rank_in(found), asks=asked_in(found))

    def asks_otherwise(self, workload: Workload) -> bool:
        """Whether an object may still ask for something else than its workload does: while that runs it can be its priority and class alone."""
        known = self._known.get(workload.key)
        if workload.owner is None and workload.spec.workload_class is None:
            return False
        if known is None or known.ranked != rank_of(workload):
            return True
        return not workload.admitted and not workload.finished and self.asks_for_others(workload)

    def asks_for_others(self, workload: Workload) -> bool:
        """Whether the object of a job, as it was answered last, asks for something else beside its priority."""
        known = self._known.get(workload.key)
        if workload.owner is None:
            return False
        return known is not None and known.asks is not None and known.asks != asked_of(workload)

    def names_another_class(self, workload: Workload) -> bool:
        """Whether the object of a job, as it was answered last, has its priority from another class, or from none."""
        known = self._known.get(workload.key)
        return workload.owner is not None and known is not None and known.ranked[1] != rank_of(workload)[1]

    def forget(self, workload: str) -> None:
        """Drop an object that is gone, or of which nothing more is written."""
        self._known.pop(workload, None)
