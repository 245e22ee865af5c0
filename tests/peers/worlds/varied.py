"""Fields of the public API that a world gets after it is drawn, each feature with a chance of its own, so that no other one changes."""

import random
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from events.json_object import JsonObject
from tests.peers.worlds.claims import with_claims
from tests.peers.worlds.drawn import HOST, Step, World
from tests.peers.worlds.elastic import with_elastic_jobs
from tests.peers.worlds.job_kinds import with_job_kinds, with_train_jobs
from tests.peers.worlds.jobs import with_jobs
from tests.peers.worlds.pods import with_pods
from tests.peers.worlds.preemption_gates import with_preemption_gates
from tests.peers.worlds.provisioning import with_provisioning
from tests.peers.worlds.rays import with_elastic_rays
from tests.peers.worlds.serving import with_serving
from tests.peers.worlds.topologies import with_layers, with_topologies

ZONES = ("a", "b")
ZONE = "example.com/zone"
_GATE = "kueue.x-k8s.io/admission-gated-by"


def varied(world: World) -> World:
    """The world with what its features have beside what is drawn first."""
    for feature, vary in VARIED.items():
        if feature in world.features:
            world = vary(world, random.Random(f"{world.seed}/{feature}"))  # noqa: S311 - a world, not a secret
    return world


def _unlike(world: World, chance: random.Random) -> World:
    """Queues that have other flavors, in another order, and leave to the API server how they preempt and choose."""
    found: list[JsonObject] = []
    for one in world.objects:
        if one["kind"] != "ClusterQueue":
            found.append(one)
            continue
        spec = dict(one["spec"])
        groups = [dict(group) for group in spec["resourceGroups"]]
        for group in groups:
            flavors = chance.sample(group["flavors"], len(group["flavors"]))
            group["flavors"] = flavors[: chance.randint(1, len(flavors))] if chance.random() < 0.6 else flavors
        if len(groups) > 1 and chance.random() < 0.3:
            groups.pop(chance.randrange(len(groups)))
        spec["resourceGroups"] = groups
        for name, likely in (("preemption", 0.2), ("flavorFungibility", 0.3), ("queueingStrategy", 0.0)):
            if chance.random() < likely:
                spec.pop(name, None)
        if chance.random() < 0.2:
            spec["namespaceSelector"] = {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [world.space, "other"]},
                    {"key": "forbidden", "operator": "DoesNotExist"},
                ]
            }
        found.append({**one, "spec": spec})
    return replace(world, objects=tuple(found))


def _affinity(world: World, chance: random.Random) -> World:
    """Flavors with a zone and taints that also evict, and pods that require zones, or not, and tolerate as it may be written."""
    # Kueue 0.17 goes by the keys of all flavors of a group, later versions by those of each flavor: so all have this one, or none has.
    zoned = chance.random() < 0.7
    objects = [
        _set_apart(one, chance, zoned=zoned) if one["kind"] == "ResourceFlavor" else one for one in world.objects
    ]
    steps = _with_workloads(world.steps, lambda value: _choosy(value, chance))
    return replace(world, objects=tuple(objects), steps=steps)


def _set_apart(flavor: JsonObject, chance: random.Random, *, zoned: bool) -> JsonObject:
    spec = dict(flavor["spec"])
    if zoned and "topologyName" not in spec:
        spec["nodeLabels"] = {**spec.get("nodeLabels", {}), ZONE: chance.choice(ZONES)}
    if chance.random() < 0.3:
        effect = chance.choice(("NoExecute", "NoSchedule", "PreferNoSchedule"))
        spec["nodeTaints"] = [{"key": "spot", "value": chance.choice(("yes", "no")), "effect": effect}]
    return {**flavor, "spec": spec}


def _choosy(value: JsonObject, chance: random.Random) -> JsonObject:
    def choosy(template: JsonObject) -> JsonObject:
        found = dict(template)
        if chance.random() < 0.5:
            required = {"nodeSelectorTerms": [_term(chance) for _ in range(chance.choice((1, 1, 2)))]}
            found["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        if chance.random() < 0.2:
            found["nodeSelector"] = {**found.get("nodeSelector", {}), ZONE: chance.choice(ZONES)}
        if chance.random() < 0.4:
            found["tolerations"] = [
                chance.choice(
                    (
                        {"key": "spot", "operator": "Exists"},
                        {"operator": "Exists", "effect": "NoExecute"},
                        {"key": "spot", "value": "no"},
                        {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoExecute"},
                    )
                )
            ]
        return found

    return _with_templates(value, choosy)


def _term(chance: random.Random) -> JsonObject:
    expressions = [
        {"key": ZONE, "operator": "In", "values": chance.sample(ZONES, chance.randint(1, 2))},
        {"key": ZONE, "operator": "NotIn", "values": [chance.choice(ZONES)]},
        {"key": ZONE, "operator": chance.choice(("Exists", "DoesNotExist"))},
        {"key": "example.com/elsewhere", "operator": "In", "values": ["x"]},
    ]
    return {"matchExpressions": chance.sample(expressions, chance.choice((1, 1, 2)))}


def _begun(world: World, chance: random.Random) -> World:
    """What is stopped, inactive, gated or missing from the beginning, and taken up later."""
    objects, later = list(world.objects), list[Step]()
    for number, one in enumerate(objects):
        stops = {"LocalQueue": 0.3, "ClusterQueue": 0.2}.get(one["kind"], 0.0)
        missing = {"ResourceFlavor": 0.15, "AdmissionCheck": 0.2, "Cohort": 0.2}.get(one["kind"], 0.0)
        name, space = one["metadata"]["name"], one["metadata"].get("namespace", "")
        if chance.random() < stops:
            policy = chance.choice(("Hold", "HoldAndDrain"))
            objects[number] = {**one, "spec": {**one["spec"], "stopPolicy": policy}}
            goes_on = {"spec": {"stopPolicy": "None"}}
            later.append(Step(verb="merge", kind=one["kind"], name=name, namespace=space, value=goes_on))
        elif chance.random() < missing:
            objects[number] = {}
            later.append(Step(verb="create", kind=one["kind"], name=name, namespace=space, value=one))
    steps: list[Step] = []
    for step in world.steps:
        if step.kind == "Workload" and step.verb == "create" and chance.random() < 0.35:
            begun, goes_on = chance.choice(
                (
                    ({"spec": {"active": False}}, {"spec": {"active": True}}),
                    ({"metadata": {"annotations": {_GATE: "a.io/x"}}}, {"metadata": {"annotations": {_GATE: None}}}),
                    ({"spec": {"queueName": "l9"}}, {"spec": {"queueName": step.value["spec"]["queueName"]}}),
                )
            )
            value = {**step.value, **{key: {**step.value[key], **more} for key, more in begun.items()}}
            steps.append(replace(step, value=value))
            verb = "move" if "queueName" in goes_on.get("spec", {}) else "merge"
            later.append(Step(verb=verb, kind="Workload", name=step.name, namespace=step.namespace, value=goes_on))
        else:
            steps.append(step)
    for one in later:
        known = [number for number, step in enumerate(steps) if step.name == one.name and step.verb == "create"]
        first = known[0] + 1 if known and one.kind == "Workload" else 1
        steps.insert(chance.randint(min(first, len(steps)), len(steps)), one)
    return replace(world, objects=tuple(one for one in objects if one), steps=tuple(steps))


def _leaders(world: World, chance: random.Random) -> World:
    """Workloads of a leader and its workers, which lie together."""
    levels = next((one["spec"]["levels"] for one in world.objects if one["kind"] == "Topology"), [])
    if not levels:
        return world

    def led(value: JsonObject) -> JsonObject:
        if chance.random() < 0.4:
            return value
        workers = {key: one for key, one in value["spec"]["podSets"][0].items() if key != "minCount"}
        wanted = {chance.choice(("required", "preferred")): chance.choice(levels)["nodeLabel"], "podSetGroupName": "g"}
        leader = {**workers, "name": "leader", "count": 1, "topologyRequest": wanted}
        return {**value, "spec": {**value["spec"], "podSets": [leader, {**workers, "topologyRequest": wanted}]}}

    return replace(world, steps=_with_workloads(world.steps, led))


def _later(world: World, chance: random.Random) -> World:
    """Checks that say when to try again, and for how long, and what they have for the pods."""

    def said(step: Step) -> Step:
        if step.verb != "check":
            return step
        more: JsonObject = {}
        if step.value["state"] == "Rejected" or chance.random() < 0.3:
            more = {"state": "Retry", "requeueAfterSeconds": chance.choice((0, 1, 3))}
        elif step.value["state"] == "Ready" and chance.random() < 0.4:
            update = {"name": "main", "labels": {"by": "check"}, "nodeSelector": {HOST: chance.choice(ZONES)}}
            more = {"podSetUpdates": [update]}
        return replace(step, value={**step.value, **more})

    return replace(world, steps=tuple(said(step) for step in world.steps))


def _with_workloads(steps: Sequence[Step], change: Callable[[JsonObject], JsonObject]) -> tuple[Step, ...]:
    return tuple(
        replace(step, value=change(step.value)) if step.kind == "Workload" and step.verb == "create" else step
        for step in steps
    )


def _with_templates(value: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    pod_sets = [
        {**one, "template": {**one["template"], "spec": change(one["template"]["spec"])}}
        for one in value["spec"]["podSets"]
    ]
    return {**value, "spec": {**value["spec"], "podSets": pod_sets}}


VARIED: Mapping[str, Callable[[World, random.Random], World]] = {
    "unlike": _unlike,
    "affinity": _affinity,
    "begun": _begun,
    "leaders": _leaders,
    "later": _later,
    "topologies": with_topologies,
    "layers": with_layers,
    "provisioning": with_provisioning,
    "elastic": with_elastic_jobs,
    "jobs": with_jobs,
    "pods": with_pods,
    "kinds": with_job_kinds,
    "trainjobs": with_train_jobs,
    "serving": with_serving,
    "gates": with_preemption_gates,
    "claims": with_claims,
    "rays": with_elastic_rays,
}
"""By feature, what it does to a world that has it."""
