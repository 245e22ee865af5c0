"""Serving objects that declare their number of pods (StatefulSets, LeaderWorkerSets), and which pod groups are theirs."""

from collections.abc import Iterable

import msgspec

from events.api.labels import MULTIKUEUE_ORIGIN_UID, POD_SUSPENDING_PARENT
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.whole_number import whole_number
from services.jobs.kinds import pods as rules
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.serving import SET_LABEL, group_named
from services.jobs.kinds.table import LEADER_WORKER_SET, STATEFUL_SET
from services.jobs.workload_name import workload_name
from services.watcher.workloads.reported_state import ReportedState


class GroupOwner(msgspec.Struct, frozen=True):
    """The object that a group of pods belongs to."""

    kind: str
    """Empty when there is none."""
    value: JsonObject | None
    """None when it is gone."""


class PodGroupOwners:
    """The objects that name a queue, by `kind/namespace/name`."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._there: dict[str, JsonObject] = {}
        self._by_place: dict[str, str] = {}
        """By the place of a group, the object that it belongs to."""
        self.listed: set[str] = set()
        """The kinds of which all objects were seen."""

    def see(self, kind: str, value: JsonObject) -> list[str]:
        """Record an object; the places of its groups."""
        meta = value["metadata"]
        key = f"{kind}/{meta.get('namespace', '')}/{meta['name']}"
        if key not in self._there and not self._kinds.takes_serving(rules.labels_of(value)):
            return []
        self._there[key] = value
        before = self._places(key)
        if kind != STATEFUL_SET.place:
            return before
        place = f"PodGroup/{meta.get('namespace', '')}/{group_named(value)}"
        for one in before:
            del self._by_place[one]
        self._by_place[place] = key
        return sorted({*before, place})

    def lose(self, kind: str, namespace: str, name: str) -> list[str]:
        """Forget one; the places of its groups."""
        key = f"{kind}/{namespace}/{name}"
        self._there.pop(key, None)
        return self._places(key)

    def keep_only(self, kind: str, objects: Iterable[JsonObject]) -> None:
        """Forget all of a kind but these: there are no others."""
        names = {f"{kind}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in objects}
        for key in [key for key in self._there if key.startswith(f"{kind}/") and key not in names]:
            del self._there[key]
        self.listed.add(kind)

    def see_pod(self, place: str, pod: JsonObject) -> None:
        """Record to which object a pod's group belongs."""
        maker = self._kinds.maker_named(str(rules.annotations_of(pod).get(POD_SUSPENDING_PARENT) or ""))
        kind = maker.place if maker is not None else ""
        if kind not in self._kinds.parents or not place.startswith("PodGroup/"):
            return
        meta = pod["metadata"]
        owners = (one.get("name", "") for one in meta.get("ownerReferences") or () if one.get("kind") == kind)
        name = next(owners, "") if kind == STATEFUL_SET.place else rules.labels_of(pod).get(SET_LABEL, "")
        if name:
            self._by_place[place] = f"{kind}/{meta.get('namespace', '')}/{name}"

    def find(self, place: str, reported: ReportedState | None) -> GroupOwner:
        """The object that a group belongs to."""
        key = self._by_place.get(place, "")
        kind = key.partition("/")[0] or (reported.job.parent if reported is not None else "")
        value = self._there.get(key)
        if value is not None and kind == STATEFUL_SET.place and group_named(value) != place.rpartition("/")[2]:
            value = None  # It is another one of that name, or its pods are another group by now.
        return GroupOwner(kind, value)

    def _places(self, key: str) -> list[str]:
        return [place for place, owner in sorted(self._by_place.items()) if owner == key]


def index_of(place: str) -> int:
    """Which of a LeaderWorkerSet's groups a place is."""
    return whole_number(place.rpartition("-")[2]) or 0


def key_of(kind: JobKind, parent: JsonObject, place: str, reported: tuple[str, ReportedState] | None) -> str:
    """The key of the workload of a place: that under which it was reported, or for a LeaderWorkerSet Kueue's name."""
    if kind is not LEADER_WORKER_SET:
        return place.removeprefix("PodGroup/")
    meta, index = parent["metadata"], index_of(place)
    if reported is not None and reported[1].uid == f"{meta.get('uid', '')}-{index}":
        return reported[0]
    # A copy from another cluster runs in the Workloads of what it is a copy of.
    uid = rules.annotations_of(parent).get(MULTIKUEUE_ORIGIN_UID) or meta.get("uid", "")
    name = workload_name(kind.kind, kind.group, f"{meta['name']}-{index}", str(uid))
    return f"{meta.get('namespace', '')}/{name}"
