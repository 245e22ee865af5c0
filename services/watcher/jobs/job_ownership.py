"""Jobs that belong to other jobs: whose they are, and what a parent learns from its child."""

from collections.abc import Mapping

import msgspec

from events.api.meta import ObjectMeta, OwnerReference
from events.json_object import JsonMapping, JsonObject
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.train_job import CHILD


class ParentJob(msgspec.Struct, frozen=True):
    """A job that is made of other jobs."""

    kind: str
    """The word for its kind, as in its place."""
    value: JsonObject


class JobOwnership:
    """Which of the jobs that were seen owns which other."""

    def __init__(self, kinds: Kinds, managed: Mapping[str, str]) -> None:
        self._kinds, self._managed = kinds, managed
        """By place, the workload of each job that was reported."""
        self._children: dict[str, JsonObject] = {}
        self._parents: dict[str, JsonObject] = {}
        """Jobs that say only through their child what they ask for, and those children; by the parent's place."""

    def goes_with_owner(self, meta: ObjectMeta) -> bool:
        """Whether a job that is managed itself owns this one, and starts and stops it."""
        owner = _controller(meta)
        if owner is None or not self._kinds.owns_jobs(owner.api_version, owner.kind):
            return False
        place = self._place(meta.namespace, owner)
        return not place or place in self._managed or place in self._parents

    def owned_by_job(self, meta: ObjectMeta) -> bool:
        """Whether a job of a managed kind owns it, managed or not."""
        owner = _controller(meta)
        return owner is not None and self._kinds.owns_jobs(owner.api_version, owner.kind)

    def with_child(self, place: str, value: JsonObject) -> JsonObject:
        """A job with its child beside it, if its kind is one that needs it."""
        kind = self._kinds.by_place[place.partition("/")[0]]
        if kind.reader != "train job":
            return value
        self._parents[place] = value
        child = self._children.get(place)
        return value if child is None else {**value, CHILD: child}

    def parent_of(self, value: JsonObject) -> ParentJob | None:
        """The job that has to be looked at again because this one is its child."""
        meta: JsonMapping = value.get("metadata") or {}
        for owner in meta.get("ownerReferences") or ():
            kind = self._kinds.of(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
            if kind is not None and kind.reader == "train job" and owner.get("controller"):
                place = f"{kind.place}/{meta.get('namespace', '')}/{owner.get('name', '')}"
                self._children[place] = value
                parent = self._parents.get(place)
                return None if parent is None else ParentJob(kind.place, parent)
        return None

    def lose(self, place: str) -> None:
        """Forget a job that is gone, as a parent and as a child."""
        self._parents.pop(place, None)
        self._children.pop(place, None)

    def _place(self, namespace: str, owner: OwnerReference) -> str:
        kind = self._kinds.of(owner.api_version, owner.kind)
        return "" if kind is None else f"{kind.place}/{namespace}/{owner.name}"


def _controller(meta: ObjectMeta) -> OwnerReference | None:
    return next((one for one in meta.owner_references or () if one.controller), None)
