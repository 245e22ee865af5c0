"""Elastic Jobs in the place of Workloads: how a world gets them, how people resize them, and how their slices are told apart.

The first slice of a Job has its name, each later one that name and its number.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from events.api.labels import (
    ADMISSION_GATED_BY,
    ELASTIC_JOB,
    PRIORITY_CLASS,
    WORKLOAD_SLICE_REPLACEMENT_FOR,
)
from events.json_object import JsonObject, object_at
from events.json_path import look
from tests.peers.worlds.drawn import NUMBERED, Step, World, job_named
from tests.peers.worlds.jobs import annotated, class_of, insert_changes, job_labels, job_of, of_job, with_classes

_NEVER_FITS = 12


def with_elastic_jobs(world: World, chance: random.Random) -> World:
    """The world with elastic Jobs in the place of Workloads that have one set of pods: of most, or of half where it has others besides."""
    likely = 0.5 if "jobs" in world.features else 0.85
    names = {
        step.name
        for step in world.steps
        if step.verb == "create"
        and step.kind == "Workload"
        and len(step.value["spec"]["podSets"]) == 1
        and chance.random() < likely
    }
    classes: dict[int, str] = {}
    steps = [
        of_job(step, "Job", world, classes, chance, _job) if step.kind == "Workload" and step.name in names else step
        for step in world.steps
    ]
    for _ in range(2):
        insert_changes(steps, names, lambda made: _resized(world, made, chance), chance)
    insert_changes(steps, names, lambda made: _changed(world, made, classes, chance), chance)
    return with_classes(replace(world, steps=tuple(steps)), classes)


def _job(workload: JsonObject, priority_class: str, chance: random.Random) -> JsonObject:
    spec, meta = workload["spec"], workload["metadata"]
    # It is not let in with fewer pods than it asks for, and lies in no domain that it names.
    asked: JsonObject = {"unconstrained": True} if "topologyRequest" in spec["podSets"][0] else {}
    pod_set = {**spec["podSets"][0], "topologyRequest": asked}
    count = pod_set["count"]
    found: JsonObject = {"parallelism": count, "suspend": chance.random() < 0.8}
    match chance.choice(("all", "all", "all", "some", "each")):
        case "all":
            pass
        case "some":
            found["completions"] = count + 2
        case _:
            found |= {"completions": count, "completionMode": "Indexed"}
    drawn = bool(asked) or chance.random() < 0.5
    found["template"] = annotated(pod_set, meta["name"]) if drawn else pod_set["template"]
    notes = {**(meta.get("annotations") or {}), ELASTIC_JOB: "true"}
    labels = job_labels(workload, priority_class, chance)
    where = {"name": meta["name"], "namespace": meta["namespace"], "labels": labels, "annotations": notes}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": found}


def _resized(world: World, made: Step, chance: random.Random) -> Step:
    """Another size: larger or smaller, the first one again, or one that never fits."""
    spec = made.value["spec"]
    count = spec["parallelism"]
    wanted = chance.choice((count + 1, count + 1, count + 2, count + 3, count, max(count - 1, 1), 1, _NEVER_FITS))
    value = {"parallelism": wanted, **({"completions": wanted} if spec.get("completionMode") == "Indexed" else {})}
    return Step(verb="merge", kind="Job", name=made.name, namespace=world.space, value={"spec": value})


def _changed(world: World, made: Step, classes: dict[int, str], chance: random.Random) -> Step:
    """What else somebody does to it."""
    priority = chance.choice((0, 10, 20, 100))
    if chance.random() < 0.1:  # Kueue 0.17 takes no notice of it, and what comes later is not compared.
        value = {"metadata": {"labels": {PRIORITY_CLASS: class_of({"priority": priority}, world, classes)}}}
        return Step(verb="merge", kind="Job", name=made.name, namespace=world.space, value=value)
    selector = {"spec": {"template": {"spec": {"nodeSelector": {"example.com/zone": chance.choice(("a", "b"))}}}}}
    value = chance.choice(
        (
            {"spec": {"suspend": False}},
            {"spec": {"suspend": True}},
            {"metadata": {"labels": {"team": "c"}}},
            selector,
            {"metadata": {"annotations": {ADMISSION_GATED_BY: chance.choice(("a.io/x", None))}}},
            {"metadata": {"labels": {"team": "b"}}},
        )
    )
    return Step(verb="merge", kind="Job", name=made.name, namespace=world.space, value=value)


def is_elastic(value: JsonObject) -> bool:
    """Whether a Job, or its Workload, is elastic."""
    return object_at(value["metadata"], "annotations").get(ELASTIC_JOB) == "true"


def by_key(workloads: Mapping[tuple[str, str], JsonObject], space: str) -> dict[str, JsonObject]:
    """The Workloads of a namespace by how they are told apart: by their jobs, or else their own names."""
    found: dict[str, JsonObject] = {}
    for name, one in sorted(_in_order(workloads, space), key=lambda pair: pair[0]):
        key = job_of(one) or name
        if is_elastic(one):
            number = sum(job_named(other) == key for other in found)
            key = f"{key}{NUMBERED}{number}" if number else key
        found[key] = one
    return found


def _in_order(workloads: Mapping[tuple[str, str], JsonObject], space: str) -> Iterable[tuple[Any, JsonObject]]:
    mine = {name: one for (namespace, name), one in workloads.items() if namespace == space}
    slices = {name: one for name, one in mine.items() if is_elastic(one)}
    ordered = sorted(slices, key=lambda name: (_depth(slices, name), look(slices[name], "metadata.creationTimestamp")))
    yield from ((name, one) for name, one in mine.items() if name not in slices)
    yield from ((f"{number:06}", slices[name]) for number, name in enumerate(ordered))


def _depth(slices: Mapping[str, JsonObject], name: str) -> int:
    depth = 0
    while name in slices:
        replaced = object_at(slices[name]["metadata"], "annotations").get(WORKLOAD_SLICE_REPLACEMENT_FOR, "")
        name = replaced.partition("/")[2]
        depth += 1
    return depth


def newest_of(workloads: Iterable[JsonObject], job: str) -> JsonObject | None:
    """The Workload of a job, the last that is not over where it has several."""
    mine = {("", one["metadata"]["name"]): one for one in workloads if job_of(one) == job}
    ordered = [one for _, one in sorted(_in_order(mine, ""), key=lambda pair: pair[0])]
    living = [one for one in ordered if look(one, "status.conditions[Finished].status") != "True"]
    return next(reversed(living or ordered), None)
