"""What is changed at a fork: fields that are set, manifests that are applied, objects that are removed."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRefused, ObjectRemoved
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.workload import WorkloadDeleted, WorkloadSubmitted
from ops.files.manifests import Document, read_objects
from ops.files.reading import Unreadable, yaml_of
from ops.production.loaded_selectors import selectors_for
from ops.queries.settings_change import BadChange, changed_settings
from ops.queries.whatif.course import Happening
from ops.queries.whatif.hardware import Hardware
from ops.queries.whatif.manifest import manifest_of
from ops.queries.whatif.priority import Priorities, is_priority
from projections.explanation.about import KINDS, canonical, objects_of
from projections.world import World
from services.validation.conversion.convert import STORED, to_v1beta2
from services.validation.fields.unknown_fields import unknown_fields
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import SIMPLE
from services.watcher.view import View

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")
_OBJECTS = {
    "clusterqueue": "ClusterQueue",
    "cohort": "Cohort",
    "localqueue": "LocalQueue",
    "resourceflavor": "ResourceFlavor",
    "topology": "Topology",
    "node": "Node",
    "job": "Job",
    "workload": "Workload",
}
_OF_CLUSTER = ("DeviceClass", "ResourceSlice")
_PARTS = ("spec", "metadata")
_SETTABLE = ("clusterqueue", "cohort", "localqueue", "resourceflavor", "topology")


class ChangedField:
    """One `--set KIND/NAME:PATH=VALUE`. Raises `BadChange`."""

    def __init__(self, text: str) -> None:
        about, colon, rest = text.partition(":")
        path, equals, value = rest.partition("=")
        kind = KINDS.get(about.partition("/")[0].lower(), "")
        if not colon or not equals or kind not in _SETTABLE:
            raise BadChange(
                f"{text!r} is no change: write clusterqueue/NAME:spec.PATH=VALUE (or cohort/, localqueue/NS/, flavor/, topology/), "
                "or workload/NS/NAME:spec.priority=VALUE"
            )
        self.object, self.text, self.path = canonical(about), text, path
        try:
            self.value: Any = yaml_of(value) if value else ""
        except Unreadable as problem:
            raise BadChange(f"{text!r}: {value!r} is no value") from problem

    def apply(self, manifest: JsonObject) -> None:
        """Set the field. List items go by their name or their number. Raises `BadChange`."""
        steps = [name or item for name, item in _STEP.findall(self.path)]
        if not steps:
            raise BadChange(f"{self.text!r} names no field")
        if steps[0] not in _PARTS:
            raise BadChange(f"{self.text!r}: {steps[0]} can't be set; write {' or '.join(_PARTS)}")
        place: Any = manifest
        for step in steps[:-1]:
            place = _into(place, step, self.text)
        last = steps[-1]
        if isinstance(place, list):
            place[_index(place, last, self.text)] = self.value
        elif isinstance(place, dict):
            place[last] = self.value
        else:
            raise BadChange(f"{self.text!r}: there is nothing below {steps[-2]}")


class ForkChanges:
    """All that is changed at a fork."""

    def __init__(
        self,
        settings: Sequence[str] = (),
        files: Sequence[Path] = (),
        removed: Sequence[str] = (),
        rules: Sequence[str] = (),
        more: Sequence[str] = (),
    ) -> None:
        self._settings = [ChangedField(text) for text in settings if not is_priority(text)]
        self._priorities = Priorities([text for text in settings if is_priority(text)])
        named = [canonical(name) for name in removed]
        self._removed = [name for name in named if not name.startswith("card/")]
        self._hardware = Hardware(more, [name for name in named if name.startswith("card/")])
        for name in self._removed:
            if name.partition("/")[0] not in _OBJECTS:
                raise BadChange(
                    f"{name} can't be removed: write one of {', '.join(sorted(_OBJECTS))}/NAME, or card/UUID"
                )
        self._applied = [_fact_of(document) for document in read_objects(files)]
        self._rules = tuple(rules)
        self._used: set[str] = set()

    def at_fork(self, world: World) -> list[Fact]:
        """The facts that make a world what it would be with these changes."""
        found: list[Fact] = []
        tables = (world.topologies, world.flavors, world.cohorts, world.cluster_queues, world.local_queues)
        for table in tables:
            for fact in table.values():
                changed = self._changed(fact)
                if changed is not None and changed != fact:
                    found.append(changed)
        if self._rules:
            found.append(changed_settings(world.settings, self._rules))
        found.extend(self._applied)
        found.extend(self._hardware.at_fork(world))
        found.extend(self._priorities.at_fork(world))
        for name in self._removed:
            found.extend(self._removal(world, name))
        return found

    def of(self, happenings: Sequence[Happening], world: World) -> list[Happening]:
        """What is to come, with the changes: a changed object stays so when it is seen again."""
        kept: list[Happening] = []
        applied = {objects_of(fact)[0] for fact in self._applied}
        gone = set(self._removed)
        for one in happenings:
            objects = objects_of(one.fact)
            about = objects[0] if objects else ""
            # Jobs for a queue that is gone still arrive: they wait in a local queue that leads nowhere.
            lost = {each for each in objects if each in gone and (each == about or each.startswith("job/"))}
            if lost:
                self._used.update(lost)
                continue
            if about in applied:
                continue
            changed = self._changed(one.fact) or self._priorities.of(one.fact, world)
            kept.extend(self._hardware.of(one if changed is one.fact else Happening(one.at, changed, one.sequence)))
        return kept

    def check_used(self) -> None:
        """Every change was about something. Raises `BadChange` naming the first that was not."""
        asked = [name for name in (*(one.object for one in self._settings), *self._removed) if name not in self._used]
        unused = [*asked, *self._hardware.unused, *self._priorities.unused]
        if unused:
            raise BadChange(f"there is no {unused[0].replace('/', ' ', 1)} on the log from this point on")

    def _changed(self, fact: Fact) -> Fact | None:
        if isinstance(fact, SettingsObserved):
            return changed_settings(fact, self._rules) if self._rules else None
        objects = objects_of(fact)
        wanted = [one for one in self._settings if objects and one.object == objects[0]]
        manifest = manifest_of(fact) if wanted else None
        if manifest is None:
            return None
        label = ", ".join(one.text for one in wanted)
        before = _read(manifest, label)
        for one in wanted:
            one.apply(manifest)
            self._used.add(one.object)
            for unknown in unknown_fields(manifest):
                raise BadChange(f"{one.text!r}: {unknown.what}; write {unknown.instead}")
        after = _read(manifest, label)
        # What a manifest can't say exactly, and what nobody set, stays as it was recorded.
        names = [name for name in fact.__struct_fields__ if getattr(before, name) != getattr(after, name)]
        return replace(fact, **{name: getattr(after, name) for name in names})

    def _removal(self, world: World, name: str) -> list[Fact]:
        kind, _, rest = name.partition("/")
        keys = [rest] if kind == "workload" else []
        if kind == "job":
            space, _, job = rest.partition("/")
            found = (one for one in world.workloads.values() if one.owner is not None and one.namespace == space)
            keys = [one.key for one in found if one.owner is not None and one.owner.name == job]
        if kind in ("job", "workload"):
            there = [key for key in keys if key in world.workloads]
            self._used.update({name} if there else set())
            return [WorkloadDeleted(workload=key) for key in there]
        tables: dict[str, Mapping[str, object]] = {
            "clusterqueue": world.cluster_queues,
            "cohort": world.cohorts,
            "localqueue": world.local_queues,
            "resourceflavor": world.flavors,
            "topology": world.topologies,
            "node": world.nodes,
        }
        if rest not in tables[kind]:
            return []
        self._used.add(name)
        space, slash, own = rest.rpartition("/")
        return [ObjectRemoved(kind=_OBJECTS[kind], namespace=space if slash else "", name=own)]


def submissions(files: Sequence[Path], world: World, at: int) -> list[Fact]:
    """The jobs of these files as they would be seen now, counted by what devices are claimed by beside them. Raises `ManifestBroken`, `BadChange`."""
    counted = SettingsObserved(
        device_class_mappings=world.settings.device_class_mappings, gates=dict(world.settings.gates)
    )
    view = View(settings=counted, selectors=selectors_for(counted))
    for fact in (*world.priority_classes.values(), *world.local_queues.values()):
        view.fold(fact)
    documents = [(one, _in_namespace(one, number)) for number, one in enumerate(read_objects(files))]
    beside = [one for one in documents if view.claims.holds(one[1]["kind"])]
    for document, value in beside:
        _check_read(document, view.see(value["kind"], value))
    found: list[Fact] = []
    for document, value in documents:
        if not view.claims.holds(value["kind"]):
            found.extend(replace(one, created_at=at) for one in _submitted(document, view.see(value["kind"], value)))
    if not found:
        raise BadChange("no job is submitted: say -f job.yaml")
    return found


def _in_namespace(document: Document, number: int) -> JsonObject:
    """An object with all that the API server would give it."""
    meta = dict(document.value.get("metadata") or {})
    if document.value["kind"] not in _OF_CLUSTER:
        meta.setdefault("namespace", "default")
    meta.setdefault("name", f"{meta.get('generateName', 'job-')}{number}")
    meta.setdefault("uid", f"whatif-{number}")
    return {**document.value, "metadata": meta}


def _submitted(document: Document, facts: Sequence[Fact]) -> list[WorkloadSubmitted]:
    """The workloads of a job. Raises `ManifestBroken`."""
    _check_read(document, facts)
    found = [one for one in facts if isinstance(one, WorkloadSubmitted)]
    if not found:
        raise document.broken("it is no job that a queue manages: give it the label kueue.x-k8s.io/queue-name")
    for one in found:
        if one.spec.claims_refused:
            raise document.broken(
                f"what its pods claim can't be counted: {one.spec.claims_refused}. The log has no classes, templates and "
                "slices: give those that it needs with -f as well"
            )
    return found


def _check_read(document: Document, facts: Sequence[Fact]) -> None:
    for one in facts:
        if isinstance(one, ObjectRefused):
            raise document.broken("; ".join(f"{each.field}: {each.message}" for each in one.problems))


def _fact_of(document: Document) -> Fact:
    found = _read(document.value, document.label, document)
    # A field of an older version is unknown in an object that says it is of the newest.
    older = document.value.get("apiVersion") != STORED
    for unknown in unknown_fields(to_v1beta2(document.value).value if older else document.value):
        raise document.broken(f"{unknown.field}: {unknown.what}; write {unknown.instead}")
    return found


def _read(manifest: JsonObject, label: str, document: Document | None = None) -> Fact:
    kind = str(manifest.get("kind"))
    if kind not in SIMPLE:
        raise BadChange(f"{label}: a {kind} can't be changed here; --submit takes jobs")
    try:
        return SIMPLE[kind](to_v1beta2(manifest).value)
    except Refused as problem:
        if document is not None:
            raise document.broken(str(problem)) from problem
        raise BadChange(f"{label}: {problem}") from problem


def _into(place: Any, step: str, text: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, step, text)]
    if not isinstance(place, dict):
        raise BadChange(f"{text!r}: there is nothing below {step}")
    if step not in place or place[step] is None:
        place[step] = {}
    return place[step]


def _index(place: list[Any], step: str, text: str) -> int:
    names = [one.get("name") if isinstance(one, dict) else one for one in place]
    if step in names:
        return names.index(step)
    if step.isdigit() and int(step) < len(place):
        return int(step)
    known = ", ".join(str(name if name is not None else number) for number, name in enumerate(names))
    raise BadChange(f"{text!r}: there is no {step}; there are {known or 'none'}")
