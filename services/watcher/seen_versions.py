"""How far a watcher has seen the cluster: the version of each object, and of each kind."""

from collections.abc import Mapping

from events.json_object import JsonMapping
from events.object_version import ObjectVersion, object_place, version_number
from projections.object_versions import NODE_USAGE, KnownVersion
from services.jobs.kinds.table import LEADER_WORKER_SET, RAY_CLUSTER, STATEFUL_SET
from services.runtime.cluster_port import Listed
from services.watcher.fields.problems import is_named

DEPENDED_ON = frozenset(
    {
        *("PriorityClass", "WorkloadPriorityClass", "LocalQueue", "Namespace"),
        *("DeviceClass", "ResourceClaimTemplate", "ResourceSlice"),
    }
)
"""Kinds whose objects say what others mean."""
_CONTEXT = DEPENDED_ON | {RAY_CLUSTER.place}
"""These, and the clusters that say how many pods the jobs want that own them."""


_SERVING = (STATEFUL_SET.place, LEADER_WORKER_SET.place)


def namespace_meant(kind: str, value: JsonMapping) -> str:
    """The only namespace in which an object says what others mean; empty where it does in all."""
    meta = value["metadata"]
    return str(meta["name"] if kind == "Namespace" else meta.get("namespace", ""))


class SeenVersions:
    """The last version seen of each object, whether a fact was reported about it or not."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[str, int]] = {}
        """By place, the UID and the version."""
        self._kinds: dict[str, int] = {}
        self._counted = 0
        self.context = 0
        """How far the kinds were seen that others depend on."""

    def note(self, kind: str, value: JsonMapping) -> None:
        """Note up to which resource version an object was seen."""
        meta = value["metadata"]
        version, uid = version_number(meta.get("resourceVersion")), str(meta.get("uid", ""))
        place = place_in(kind, value)
        before = self._objects.get(place)
        self._objects[place] = before[0] if before is not None and before[0] == uid else uid, version
        self.reach(kind, version)

    def forget(self, kind: str, value: JsonMapping) -> None:
        """Forget an object that is gone; the version of its deletion counts for its kind."""
        self._objects.pop(place_in(kind, value), None)
        self.reach(kind, version_number(value["metadata"].get("resourceVersion")))

    def reach(self, kind: str, version: int) -> None:
        """A kind was seen as far as this."""
        self._kinds[kind] = max(self._kinds.get(kind, 0), version)
        if kind in _CONTEXT:
            self.context = max(self.context, version)

    @property
    def pods_counted(self) -> int:
        """How far what pods hold of nodes was counted."""
        return max(self._kinds.get("Pod", 0), self._counted)

    def count_pods(self, version: int) -> None:
        """All pods were counted as of this version, before anything else was looked at about them."""
        self._counted = version

    def version_of(self, place: str) -> int:
        """The version at which an object was last seen; 0 when it was not, or has none."""
        return self._objects.get(place, ("", 0))[1]

    def is_gone(self, about: ObjectVersion) -> bool:
        """Whether its kind was seen as far as this version of an object, and the object is not there."""
        return 0 < about.version <= self._kinds.get(about.kind, 0) and about.place not in self._objects

    def about(self, place: str, part: str = "", *, epoch: int = 0, gone: bool = False) -> ObjectVersion:
        """The version of an object as it was last seen."""
        kind, namespace, name = place.split("/", 2)
        uid, version = self._objects.get(place, ("", 0))
        if kind == "PodGroup" or part:
            # It is made of several pods: facts about it rest on all that was seen of them.
            version = self._kinds.get("Pod", 0)
        if kind == "PodGroup":
            # What serves with pods may be there, go and come again before it has any.
            version = max(version, *(self._kinds.get(one, 0) for one in _SERVING))
        if part == NODE_USAGE:
            version = self.pods_counted
        return ObjectVersion(
            kind=kind,
            namespace=namespace,
            name=name,
            part=part,
            uid=uid,
            version=version,
            context=0 if gone else self.context,
            gone=gone,
            epoch=epoch,
        )


def place_in(kind: str, value: JsonMapping) -> str:
    """Where an object is, as `kind/namespace/name`."""
    meta = value["metadata"]
    # As texts, whatever they are: nobody has looked yet.
    return object_place(kind, str(meta.get("namespace", "")), str(meta["name"]))


def contradiction(found: Listed, known: Mapping[str, KnownVersion], kind: str) -> int:
    """A reported version of a kind that a list of it is behind; 0 when it is behind none."""
    version = version_number(found.version)
    newest = max((one.version for one in known.values()), default=0)
    if version and newest > version:
        return newest
    for one in found.objects:
        if is_named(one):
            reported, seen = known.get(place_in(kind, one)), version_number(one["metadata"].get("resourceVersion"))
            if reported is not None and 0 < seen < reported.version:
                return reported.version
    return 0
