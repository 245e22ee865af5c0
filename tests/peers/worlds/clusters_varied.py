"""What a world of several clusters gets after it is drawn: topologies, cohorts, jobs that may be smaller, and changes by hand, here and there."""

import random
from typing import Any

from msgspec.structs import replace

from events.api.labels import ADMISSION_GATED_BY, JOB_MIN_PARALLELISM, MAX_EXEC_TIME_SECONDS, QUEUE_NAME
from events.json_object import JsonObject
from tests.peers.worlds.clusters import MANAGER, PLACES, WORKERS, ClustersWorld, PlacedStep
from tests.peers.worlds.clusters_topology import with_topology
from tests.peers.worlds.drawn import Step


def varied_clusters(world: ClustersWorld) -> ClustersWorld:
    """The world with all of that, each with a chance of its own."""
    return _with_changes(_with_partial_jobs(_with_cohorts(with_topology(world))))


def _with_cohorts(world: ClustersWorld) -> ClustersWorld:
    """In some places of some worlds all queues lend to one another."""
    chance = world.chance("cohorts")
    if chance.random() < 0.6:
        return world
    places = {place for place in PLACES if chance.random() < 0.5}
    objects = {
        place: tuple(_in_cohort(one, f"{world.space}-c", chance) if place in places else one for one in those)
        for place, those in world.objects.items()
    }
    return replace(world, objects=objects)


def _in_cohort(value: JsonObject, cohort: str, chance: random.Random) -> JsonObject:
    if value["kind"] != "ClusterQueue":
        return value
    spec: dict[str, Any] = value["spec"]
    reclaims = chance.choice(("Never", "LowerPriority", "Any", "Any"))
    preemption = {**spec["preemption"], "reclaimWithinCohort": reclaims}
    return {**value, "spec": {**spec, "cohortName": cohort, "preemption": preemption}}


def _with_partial_jobs(world: ClustersWorld) -> ClustersWorld:
    """In some worlds jobs are larger, and some of them may be smaller than they are."""
    chance = world.chance("partial")
    if chance.random() < 0.7:
        return world
    return replace(world, steps=tuple(_maybe_smaller(one, chance) for one in world.steps))


def _maybe_smaller(placed: PlacedStep, chance: random.Random) -> PlacedStep:
    step = placed.step
    if step.verb != "create" or step.kind != "Job" or chance.random() < 0.4:
        return placed
    count = chance.choice((2, 3, 4))
    meta = step.value["metadata"]
    notes = {**meta.get("annotations", {}), JOB_MIN_PARALLELISM: str(chance.randint(1, count - 1))}
    spec = {**step.value["spec"], "parallelism": count, "completions": count}
    value = {**step.value, "metadata": {**meta, "annotations": notes}, "spec": spec}
    return replace(placed, step=replace(step, value=value))


def _with_changes(world: ClustersWorld) -> ClustersWorld:
    """In some worlds people change jobs by hand, also in the cluster in which they run, and delete copies there."""
    chance = world.chance("changes")
    if chance.random() < 0.5:
        return world
    steps = list(world.steps)
    doors = [one["metadata"]["name"] for one in world.objects[MANAGER] if one["kind"] == "LocalQueue"]
    made = [one for one in world.steps if one.step.verb == "create" and one.step.kind == "Job"]
    for _ in range(chance.choice((1, 2, 3, 4))):
        job = chance.choice(made)
        after = steps.index(job) + 1
        steps.insert(chance.randint(after, len(steps)), _change(job, doors, chance))
    return replace(world, steps=tuple(steps))


def _change(made: PlacedStep, doors: list[str], chance: random.Random) -> PlacedStep:
    """What somebody does to a job, or to what stands for it elsewhere."""
    job = replace(made.step, verb="merge")
    if chance.random() < 0.3 and made.places == (MANAGER,):
        return PlacedStep(places=WORKERS, step=_change_there(job, chance))
    least = int(made.step.value["metadata"].get("annotations", {}).get(JOB_MIN_PARALLELISM, 0))
    values: tuple[JsonObject, ...] = (
        {"spec": {"parallelism": least + chance.choice((1, 2, 3))}},
        {"spec": {"suspend": False}},
        {"spec": {"suspend": True}},
        {"spec": {"template": {"metadata": {"labels": {"more": "x"}}}}},
        *({"spec": {"template": {"spec": {"nodeSelector": {"example.com/zone": one}}}}} for one in "ab"),
        {"metadata": {"annotations": {ADMISSION_GATED_BY: "a.io/x"}}},
        {"metadata": {"labels": {MAX_EXEC_TIME_SECONDS: "9000"}}},
        {"metadata": {"labels": {"team": "b"}}},
    )
    moved: JsonObject = {"metadata": {"labels": {QUEUE_NAME: chance.choice(doors)}}}
    step = (
        replace(job, verb="move", value=moved) if chance.random() < 0.1 else replace(job, value=chance.choice(values))
    )
    return PlacedStep(places=made.places, step=step)


def _change_there(job: Step, chance: random.Random) -> Step:
    match chance.choice(("delete", "reclaim", "suspend", "resume", "label")):
        case "delete":
            return replace(job, verb="delete", kind="Workload", value={})
        case "reclaim":
            return replace(job, verb="reclaim", value={})
        case "suspend":
            return replace(job, value={"spec": {"suspend": True}})
        case "resume":
            return replace(job, value={"spec": {"suspend": False}})
        case _:
            return replace(job, value={"metadata": {"labels": {"team": "c"}}})
