"""Pods that are placed by topology in a world of several clusters: how it gets nodes, and jobs that ask for places on them."""

import random
from typing import Any

from msgspec.structs import replace

from events.json_object import JsonObject
from tests.peers.worlds.clusters import MANAGER, PLACES, ClustersWorld, PlacedStep
from tests.peers.worlds.drawn import HOST, KUEUE, RACK, ready_node

_ASKED = "kueue.x-k8s.io/podset-{}-topology"


def with_topology(world: ClustersWorld) -> ClustersWorld:
    """Some worlds with a topology in each cluster, and nodes in the workers; the others as they are."""
    chance = world.chance("topology")
    if chance.random() < 0.6:
        return world
    levels = chance.choice(((RACK, HOST), (RACK, HOST), (HOST,)))
    spaces = {place for place in PLACES if place != MANAGER or chance.random() < 0.3}
    without = next(iter(sorted(spaces - {MANAGER}))) if chance.random() < 0.2 else ""
    objects = {
        place: those if place == without else _with_nodes(world, those, levels, chance, has_nodes=place in spaces)
        for place, those in world.objects.items()
    }
    steps = tuple(_asking(one, levels, chance) for one in world.steps)
    return replace(world, objects=objects, steps=steps)


def _with_nodes(
    world: ClustersWorld,
    objects: tuple[JsonObject, ...],
    levels: tuple[str, ...],
    chance: random.Random,
    *,
    has_nodes: bool,
) -> tuple[JsonObject, ...]:
    topology = f"{world.space}-t"
    spec = {"levels": [{"nodeLabel": one} for one in levels]}
    found: list[JsonObject] = [{"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": topology}, "spec": spec}]
    if has_nodes:
        found += [_node(f"{world.space}-h{number}", world.space, chance) for number in range(chance.choice((1, 2, 3)))]
    for one in objects:
        if one["kind"] == "ResourceFlavor":
            one = {**one, "spec": {"nodeLabels": {"pool": world.space}, "topologyName": topology}}
        found.append(one)
    return tuple(found)


def _node(name: str, pool: str, chance: random.Random) -> JsonObject:
    size = {"cpu": str(chance.choice((1, 2, 2, 4))), "memory": "4Gi", "pods": "10"}
    return ready_node(name, {"pool": pool, RACK: chance.choice("ab"), HOST: name}, size)


def _asking(placed: PlacedStep, levels: tuple[str, ...], chance: random.Random) -> PlacedStep:
    step = placed.step
    if step.verb != "create" or step.kind not in ("Job", "Workload") or chance.random() < 0.3:
        return placed
    how = chance.choice(("required", "preferred", "unconstrained"))
    level = "true" if how == "unconstrained" else chance.choice(levels)
    spec: dict[str, Any] = step.value["spec"]
    if step.kind == "Job":
        template = {**spec["template"], "metadata": {"annotations": {_ASKED.format(how): level}}}
        return replace(placed, step=replace(step, value={**step.value, "spec": {**spec, "template": template}}))
    asked = {how: True if how == "unconstrained" else level}
    pod_sets = [{**one, "topologyRequest": asked} for one in spec["podSets"]]
    return replace(placed, step=replace(step, value={**step.value, "spec": {**spec, "podSets": pod_sets}}))
