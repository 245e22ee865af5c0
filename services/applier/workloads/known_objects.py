"""A cache of Workload objects from the responses to our own writes: their version, their priority, and a digest of the decided status."""

import msgspec

from events.json_object import JsonObject, object_at
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
            version=found["metadata"]["resourceVersion"], shows=print_of(found.get("status") or {}), ranked=_rank(found)
        )
        self._known[workload] = known
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        return known

    def restore(self, workload: str, known: KnownObject) -> None:
        """Go by an earlier answer again, so that what others have written since then is not written over."""
        self._known[workload] = known

    def note_rank(self, workload: str, found: JsonObject) -> None:
        """Keep the priority of an object that was only read.

        Its version stays that of our last write: what others have decided since then is not to be overwritten unseen.
        """
        known = self._known.get(workload)
        if known is not None:
            self._known[workload] = msgspec.structs.replace(known, ranked=_rank(found))

    def forget(self, workload: str) -> None:
        """Drop an object that is gone, or of which nothing more is written."""
        self._known.pop(workload, None)


def _rank(found: JsonObject) -> tuple[int, str]:
    spec = object_at(found, "spec")
    return spec.get("priority", 0), object_at(spec, "priorityClassRef").get("name", "")
