"""Several topologies in one world, and slices of several layers: how a world gets them."""

import random

from msgspec.structs import replace

from events.json_object import JsonObject
from tests.peers.worlds.drawn import BLOCK, HOST, KUEUE, RACK, Step, World

ROW = "example.com/row"
"""A level that only some topologies have."""
_LEVELS = ((BLOCK, RACK, HOST), (RACK, HOST), (BLOCK, RACK), (ROW, HOST), (HOST,))
_MOST_LAYERS = 3


def with_topologies(world: World, chance: random.Random) -> World:
    """The world with a topology of its own for some flavors, over the same nodes or over others."""
    flavors = [one for one in world.objects if one["kind"] == "ResourceFlavor" and "topologyName" in one["spec"]]
    own: dict[str, tuple[str, str]] = {}
    made: list[JsonObject] = []
    nodes: list[JsonObject] = []
    for number, flavor in enumerate(flavors[1:], 1):
        if chance.random() < 0.2:
            continue
        name, pool = f"{world.space}-t{number}", world.space
        levels = [{"nodeLabel": one} for one in chance.choice(_LEVELS)]
        made.append({"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": name}, "spec": {"levels": levels}})
        if chance.random() < 0.6:
            pool = f"{world.space}-{number}"
            nodes += [_in_pool(one, pool, chance) for one in world.objects if one["kind"] == "Node"]
        own[flavor["metadata"]["name"]] = name, pool
    objects = [
        _of_topology(one, *own[one["metadata"]["name"]])
        if one["kind"] == "ResourceFlavor" and one["metadata"]["name"] in own
        else _in_row(one, chance)
        for one in world.objects
    ]
    first = next((number for number, one in enumerate(objects) if one["kind"] == "ResourceFlavor"), 1)
    objects[first:first] = [*made, *nodes]
    steps = [_at_other_level(step, chance) for step in world.steps] if made else world.steps
    return replace(world, objects=tuple(objects), steps=tuple(steps))


def _of_topology(flavor: JsonObject, topology: str, pool: str) -> JsonObject:
    return {**flavor, "spec": {**flavor["spec"], "topologyName": topology, "nodeLabels": {"pool": pool}}}


def _in_pool(node: JsonObject, pool: str, chance: random.Random) -> JsonObject:
    """A node like it of another pool."""
    name = f"{pool}-{node['metadata']['name'].rpartition('-')[2]}"
    labels = {**node["metadata"]["labels"], "pool": pool, HOST: name, ROW: chance.choice("ab")}
    return {**node, "metadata": {"name": name, "labels": labels}}


def _in_row(value: JsonObject, chance: random.Random) -> JsonObject:
    if value["kind"] != "Node":
        return value
    meta = value["metadata"]
    return {**value, "metadata": {**meta, "labels": {**meta["labels"], ROW: chance.choice("ab")}}}


def _at_other_level(step: Step, chance: random.Random) -> Step:
    """A workload some of whose pod sets want to be together at a level that one topology has and another one has not."""
    if step.verb != "create" or step.kind != "Workload":
        return step

    def moved(pod_set: JsonObject) -> JsonObject:
        wanted = pod_set.get("topologyRequest", {})
        how = next((one for one in ("required", "preferred") if one in wanted), "")
        if not how or "podSetSliceSize" in wanted or chance.random() < 0.6:
            return pod_set
        return {**pod_set, "topologyRequest": {**wanted, how: chance.choice((BLOCK, RACK, ROW, HOST))}}

    return _with_pod_sets(step, [moved(one) for one in step.value["spec"]["podSets"]])


def with_layers(world: World, chance: random.Random) -> World:
    """The world with workloads whose pods come in slices of slices."""
    levels = next((one["spec"]["levels"] for one in world.objects if one["kind"] == "Topology"), [])
    if not levels:
        return world
    names = [one["nodeLabel"] for one in levels]
    larger = {"ClusterQueue": _larger, "Node": lambda node: _sized(node, chance.choice((2, 4, 8)))}
    objects = [larger.get(one["kind"], lambda value: value)(one) for one in world.objects]
    steps = [
        _layered(step, names, chance)
        if step.verb == "create" and step.kind == "Workload" and chance.random() < 0.7
        else step
        for step in world.steps
    ]
    return replace(world, objects=tuple(objects), steps=tuple(steps))


def _larger(queue: JsonObject) -> JsonObject:
    """A queue with four times as much of everything that is counted in whole numbers."""
    groups = [
        {
            **group,
            "flavors": [
                {**flavor, "resources": [_more(one) for one in flavor["resources"]]} for flavor in group["flavors"]
            ],
        }
        for group in queue["spec"]["resourceGroups"]
    ]
    return {**queue, "spec": {**queue["spec"], "resourceGroups": groups}}


def _more(quota: JsonObject) -> JsonObject:
    amount = quota["nominalQuota"]
    return {**quota, "nominalQuota": str(4 * int(amount)) if amount.isdigit() else amount}


def _sized(node: JsonObject, size: int) -> JsonObject:
    status = node["status"]
    amounts = {name: {**status[name], "cpu": str(size)} for name in ("allocatable", "capacity")}
    return {**node, "status": {**status, **amounts}}


def _layered(step: Step, levels: list[str], chance: random.Random) -> Step:
    pod_sets = list(step.value["spec"]["podSets"])
    main = {key: one for key, one in pod_sets[0].items() if key != "minCount"}
    count = chance.choice((2, 4, 4, 6, 8))
    layers: list[JsonObject] = []
    size = chance.choice([one for one in range(1, count + 1) if count % one == 0 or chance.random() < 0.05])
    for level in sorted(chance.sample(levels, chance.randint(1, min(_MOST_LAYERS, len(levels)))), key=levels.index):
        layers.append({"topology": level, "size": size})
        size = chance.choice([one for one in range(1, size + 1) if size % one == 0])
    if chance.random() < 0.1:
        layers.reverse()
    widest = levels.index(layers[0]["topology"]) + 1 if chance.random() < 0.85 else len(levels)
    wanted: JsonObject = {chance.choice(("required", "preferred")): chance.choice(levels[:widest])}
    if chance.random() < 0.3:
        wanted = {"unconstrained": True}
    small = {"requests": {"cpu": "1"}}
    pods = main["template"]["spec"]
    containers = [{**one, "resources": small} for one in pods["containers"]]
    template = {**main["template"], "spec": {**pods, "containers": containers}}
    asked = {**wanted, "podsetSliceRequiredTopologyConstraints": layers}
    pod_sets[0] = {**main, "count": count, "template": template, "topologyRequest": asked}
    return _with_pod_sets(step, pod_sets)


def _with_pod_sets(step: Step, pod_sets: list[JsonObject]) -> Step:
    return replace(step, value={**step.value, "spec": {**step.value["spec"], "podSets": pod_sets}})
