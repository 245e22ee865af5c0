"""Jobs that belong to other jobs: whose they are, and what a parent learns from its child."""

from collections.abc import Callable, Mapping

import msgspec

from events.api.meta import ObjectMeta, OwnerReference
from events.control import ObjectRefused
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject
from events.json_path import FieldBroken
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.ray import CLUSTER, autoscaled_cluster
from services.jobs.kinds.table import RAY_CLUSTER
from services.jobs.kinds.train_job import CHILD
from services.jobs.kinds.training_runtime import RUNTIMES, as_said_by_now, job_set_of, runs_elsewhere, runtime_place
from services.watcher.fields.problems import Refused, problem
from services.watcher.jobs.astray_jobs import AstrayJobs
from services.watcher.seen_versions import place_in

DEEPEST = 10
"""So many owners are looked up, one above the other, as by Kueue."""
NESTING_TOO_DEEP = "JobNestingTooDeep"


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
        self._watched = {one.place for one in kinds.watched}
        self._children: dict[str, JsonObject] = {}
        self._parents: dict[str, JsonObject] = {}
        """Jobs that say only through their child what they ask for, and those children; by the parent's place."""
        self._runtimes: dict[str, JsonObject] = {}
        """Runtimes of TrainJobs, by place."""
        self._listed: set[str] = set()
        """Kinds of runtimes of which all were seen."""
        self._scaled: dict[str, JsonObject] = {}
        """Elastic jobs of Ray's whose RayCluster says how many pods they want, by place."""
        self._clusters: dict[str, JsonObject] = {}
        """RayClusters that such jobs own, by place."""
        self._owners: dict[str, str] = {}
        """By the place of a job that another one owns, that one's place; empty for one that somebody else manages."""
        self._owned: dict[str, dict[str, None]] = {}
        """The same from above: by the place of an owner, the places of what it owns."""
        self._astray = AstrayJobs()
        self._told_astray: set[str] = set()

    def goes_with_owner(self, meta: ObjectMeta) -> bool:
        """Whether a job that is managed itself owns this one, directly or over others, and starts and stops it.

        Raises `Refused` where more jobs are above it than are looked up: whether one of them runs it can't be known.
        """
        managed = self._is_managed(self._owner_of(meta))
        if managed is not None:
            return managed
        what = f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}"
        raise Refused([problem("metadata.ownerReferences", what, "fewer jobs that own each other")], NESTING_TOO_DEEP)

    def _is_managed(self, place: str | None) -> bool | None:
        """Whether the job at a place is managed, or one above it; None where more are above it than are looked up."""
        for _ in range(DEEPEST):
            if place is None:
                return False
            if not place or place in self._managed or place in self._parents:
                return True
            place = self._owners.get(place)
        return False if place is None else None

    def withdrawn(self, place: str) -> list[str]:
        """The places of jobs that were reported before it was known that what owns them is managed: they go with the one at `place`.

        Rule: docs/rules/objects.md#owners
        """
        if place not in self._owned or not self._is_managed(place):
            return []
        return [one for one in self.below(place) if one in self._managed and one != place]

    def is_owned(self, place: str) -> bool:
        """Whether another job that may be managed here owns the one at a place."""
        return bool(self._owners.get(place))

    def below(self, place: str) -> dict[str, None]:
        """The places of jobs that the one at a place owns, directly or over others."""
        found, level = dict[str, None](), [place]
        for _ in range(DEEPEST):
            level = [one for above in level for one in self._owned.get(above, ()) if one not in found]
            found |= dict.fromkeys(level)
        return found

    def manager_of(self, place: str) -> str | None:
        """The managed job that stands highest above the one at a place."""
        found, above = None, self._owners.get(place)
        for _ in range(DEEPEST):
            if not above:
                break
            found = above if above in self._managed else found
            above = self._owners.get(above)
        return found

    def astray(self, place: str) -> list[ObjectRefused]:
        """That the job at a place runs while the managed one that owns it waits, if it does."""
        manager = self.manager_of(place)
        found = [] if manager is None else self._astray.refusals([place], manager)
        if found:
            self._told_astray.add(place)
        else:
            self._told_astray.discard(place)
        return found

    def astray_below(self, place: str) -> tuple[list[ObjectRefused], list[str]]:
        """The same of those below the one at a place, and which of those that were told of may run by now."""
        manager = self.manager_of(place) or place
        waits = manager in self._managed and self._astray.waits(manager)
        if place not in self._owned or not (waits or self._told_astray):
            return [], []
        below = self.below(place)
        found = self._astray.refusals(below, manager) if waits else []
        still = {f"{one.kind}/{one.namespace}/{one.name}" for one in found}
        back = sorted(one for one in self._told_astray - still if one in below)
        self._told_astray = (self._told_astray | still).difference(back)
        return found, back

    def _owner_of(self, meta: ObjectMeta) -> str | None:
        owner = _controller(meta)
        return None if owner is None else self._owning(meta.namespace, owner.api_version, owner.kind, owner.name)

    def _owning(self, namespace: str, api_version: str, kind: str, name: str) -> str | None:
        """The place of an owner, empty for one that somebody else manages; None for one that is no job."""
        if self._kinds.is_external(api_version, kind):
            return ""
        found = self._kinds.known_as(api_version, kind)
        return None if found is None else f"{found.place}/{namespace}/{name}"

    def owned_by_job(self, meta: ObjectMeta) -> bool:
        """Whether a job of a managed kind owns it, managed or not."""
        owner = _controller(meta)
        return owner is not None and self._kinds.owns_jobs(owner.api_version, owner.kind)

    def with_child(self, place: str, value: JsonObject) -> JsonObject:
        """A job with its child beside it, if its kind is one that needs it; it is noted whose it is."""
        self._note_owner(place, value)
        kind = self._kinds.by_place[place.partition("/")[0]]
        self._astray.note(place, kind, value, self)
        if kind.reader != "train job":
            return self._with_cluster(place, kind, value)
        self._parents[place] = value
        try:
            child = self._made_elsewhere(place, value) if runs_elsewhere(value) else self._made_here(place, value)
        except FieldBroken as broken:
            raise Refused([problem(broken.field, broken.message, broken.instead)]) from broken
        return value if child is None else {**value, CHILD: child}

    def _made_here(self, place: str, value: JsonObject) -> JsonObject | None:
        """What the trainer has made of a TrainJob, as the job says it by now; None where it is not seen yet. Raises `FieldBroken`."""
        child, runtime = self._children.get(place), self._runtimes.get(runtime_place(value))
        return child if child is None or runtime is None else as_said_by_now(child, value, runtime)

    def _made_elsewhere(self, place: str, value: JsonObject) -> JsonObject | None:
        """What a trainer in another cluster makes of a TrainJob; None where its runtime is not known. Raises `FieldBroken` and `Refused`."""
        runtime = self._runtimes.get(runtime_place(value))
        if runtime is not None:
            return job_set_of(value, runtime)
        kind, _, name = runtime_place(value).split("/", 2)
        if kind in self._listed and place not in self._managed:
            instead = "the name of one that is there, or create it: the job waits for it"
            raise Refused([problem("spec.runtimeRef.name", f"{kind} {name} doesn't exist", instead)])
        return None

    def expect(self, kind: str) -> None:
        """All objects of a kind are about to be seen."""
        self._astray.listing = True
        if kind in RUNTIMES:
            self._runtimes = {place: one for place, one in self._runtimes.items() if not place.startswith(f"{kind}/")}
            self._listed.add(kind)

    def settle(self, kind: str) -> list[ParentJob]:
        """The jobs that have to be looked at again because all objects of a kind were seen, and none is what they name."""
        self._astray.listing = False
        if kind not in RUNTIMES:
            return []
        return [one for one in self._naming(lambda place: place not in self._runtimes) if runs_elsewhere(one.value)]

    def learn(self, kind: str, value: JsonObject) -> list[ParentJob]:
        """The jobs that have to be looked at again because of an object: it is their child, or their runtime."""
        if kind in RUNTIMES:
            place = place_in(kind, value)
            self._runtimes[place] = value
            return self._naming(place.__eq__)
        if kind not in self._watched:
            return []
        if kind not in self._kinds.by_place:
            self._note_owner(place_in(kind, value), value)
        parent = self._parent_of(value)
        return [] if parent is None else [parent]

    def _naming(self, named: Callable[[str], bool]) -> list[ParentJob]:
        """The TrainJobs that name such a runtime."""
        return [
            ParentJob(place.partition("/")[0], value)
            for place, value in sorted(self._parents.items())
            if named(runtime_place(value))
        ]

    def _with_cluster(self, place: str, kind: JobKind, value: JsonObject) -> JsonObject:
        """A job of Ray's with the cluster beside it that says how many pods it wants, if there is one."""
        name = autoscaled_cluster(kind, value)
        if not name:
            self._scaled.pop(place, None)
            return value
        self._scaled[place] = value
        cluster = self._clusters.get(f"{RAY_CLUSTER.place}/{place.split('/')[1]}/{name}")
        return value if cluster is None else {**value, CLUSTER: cluster}

    def _parent_of(self, value: JsonObject) -> ParentJob | None:
        """The job that has to be looked at again because this one is its child."""
        meta: JsonMapping = value.get("metadata") or {}
        for owner in meta.get("ownerReferences") or ():
            kind = self._kinds.of(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
            if kind is not None and kind.reader == "train job" and owner.get("controller"):
                place = f"{kind.place}/{meta.get('namespace', '')}/{owner.get('name', '')}"
                self._children[place] = value
                parent = self._parents.get(place)
                return None if parent is None else ParentJob(kind.place, parent)
            if kind is not None and kind.reader in ("ray job", "ray service") and owner.get("controller"):
                place = f"{kind.place}/{meta.get('namespace', '')}/{owner.get('name', '')}"
                self._clusters[f"{RAY_CLUSTER.place}/{meta.get('namespace', '')}/{meta.get('name', '')}"] = value
                parent = self._scaled.get(place)
                return None if parent is None else ParentJob(kind.place, parent)
        return None

    def lose(self, place: str) -> None:
        """Forget a job that is gone, as a parent and as a child."""
        self._parents.pop(place, None)
        self._children.pop(place, None)
        self._belongs_to(place, None)
        self._astray.lose(place)
        self._told_astray.discard(place)
        self._runtimes.pop(place, None)
        self._scaled.pop(place, None)
        self._clusters.pop(place, None)

    def _note_owner(self, place: str, value: JsonMapping) -> None:
        meta: JsonMapping = value.get("metadata") or {}
        found = next((one for one in meta.get("ownerReferences") or () if one.get("controller")), None)
        words = () if found is None else (str(found.get(name, "")) for name in ("apiVersion", "kind", "name"))
        owner = None if found is None else self._owning(str(meta.get("namespace", "")), *words)
        self._belongs_to(place, owner)

    def _belongs_to(self, place: str, owner: str | None) -> None:
        before = self._owners.pop(place, None)
        if before is not None and before != owner:
            self._owned[before].pop(place)
            if not self._owned[before]:
                del self._owned[before]
        if owner is not None:
            self._owners[place] = owner
            self._owned.setdefault(owner, {})[place] = None


def _controller(meta: ObjectMeta) -> OwnerReference | None:
    return next((one for one in meta.owner_references or () if one.controller), None)
