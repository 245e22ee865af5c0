"""Claims of worlds: pods that claim devices by templates, which may be missing, change, or ask for what can't be counted.

Kueue 0.17 counts exact numbers of devices by their class alone; later versions, whose rules kuelog has, count more (docs/rules/claims.md).
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from events.json_object import JsonObject
from tests.peers.worlds.drawn import CONFIGURED, Step, World, insert_step

CLAIM_FEATURES = ("DynamicResourceAllocation", "DRAExtendedResources")
"""The feature gates without which Kueue 0.17 counts no claims."""
LATER_NAMES: Mapping[str, str] = {
    "DynamicResourceAllocation": "KueueDRAIntegration",
    "DRAExtendedResources": "KueueDRAIntegrationExtendedResource",
}
"""How later versions call feature gates of Kueue 0.17."""
CLAIMED = "example.com/claimed"
"""The resource of quota as which devices count."""
COUNTED: JsonObject = {
    **CONFIGURED,
    "deviceClassMappings": [{"name": CLAIMED, "deviceClassNames": ["whole.example.com", "half.example.com"]}],
}
"""What the configuration says of resources where worlds have claims."""
TEMPLATE, CLASS = "ResourceClaimTemplate", "DeviceClass"


def with_claims(world: World, chance: random.Random) -> World:
    """The world with quota of devices, templates of claims, workloads whose pods claim, and templates that come and go.

    In some of them a class stands behind an extended resource that pods ask for.
    """
    extended = f"{world.space}.example.com/extended" if chance.random() < 0.4 else ""
    covered = (CLAIMED, *([extended] if extended else ())) if chance.random() < 0.85 else ()
    objects = [
        _with_quota(one, covered, chance) if covered and one["kind"] in ("ClusterQueue", "Cohort") else one
        for one in world.objects
    ]
    templates = [_template(world, number, chance) for number in range(chance.choice((1, 2, 3)))]
    names = [one["metadata"]["name"] for one in templates]
    steps = [_claiming(step, names, extended, chance) for step in world.steps]
    for one in [*templates, *([_class(world, extended)] if extended else ())]:
        name, space = one["metadata"]["name"], one["metadata"].get("namespace", "")
        if chance.random() < 0.75:
            objects.append(one)
        else:
            insert_step(steps, 1, Step(verb="create", kind=one["kind"], name=name, namespace=space, value=one), chance)
        if chance.random() < 0.2:
            insert_step(steps, 1, Step(verb="delete", kind=one["kind"], name=name, namespace=space), chance)
    return replace(world, objects=tuple(objects), steps=tuple(steps))


def _class(world: World, extended: str) -> JsonObject:
    """A class that is not mapped and stands behind an extended resource, which counts as itself."""
    meta = {"name": f"{world.space}-d"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": CLASS,
        "metadata": meta,
        "spec": {"extendedResourceName": extended},
    }


def _with_quota(value: JsonObject, covered: Sequence[str], chance: random.Random) -> JsonObject:
    """A queue or cohort whose first group of resources covers devices as well."""
    groups = [dict(one) for one in value["spec"].get("resourceGroups") or ()]
    if not groups:
        return value
    groups[0]["coveredResources"] = [*groups[0]["coveredResources"], *covered]
    groups[0]["flavors"] = [
        {
            **one,
            "resources": [
                *one["resources"],
                *({"name": name, "nominalQuota": str(chance.choice((0, 1, 2, 4, 4)))} for name in covered),
            ],
        }
        for one in groups[0]["flavors"]
    ]
    return {**value, "spec": {**value["spec"], "resourceGroups": groups}}


def _template(world: World, number: int, chance: random.Random) -> JsonObject:
    requests = [_request(index, chance) for index in range(chance.choice((1, 1, 1, 2)))]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": TEMPLATE,
        "metadata": {"name": f"t{number}", "namespace": world.space},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def _request(index: int, chance: random.Random) -> JsonObject:
    name = f"r{index}"
    kind = chance.random()
    device = chance.choice(("whole.example.com", "whole.example.com", "half.example.com"))
    if kind < 0.75:
        return {"name": name, "exactly": {"deviceClassName": device, "count": chance.choice((1, 1, 2))}}
    if kind < 0.85:
        return {"name": name, "exactly": {"deviceClassName": "unmapped.example.com"}}
    if kind < 0.95:
        return {"name": name, "exactly": {"deviceClassName": device, "allocationMode": "All"}}
    return {"name": name, "firstAvailable": [{"name": "a", "deviceClassName": device}]}


def _claiming(step: Step, templates: Sequence[str], extended: str, chance: random.Random) -> Step:
    """A workload of which some pod sets claim devices, one of them by name at times, or ask for an extended resource."""
    if step.kind != "Workload" or step.verb != "create":
        return step
    spec = step.value["spec"]
    pod_sets = [_with_claim(one, templates, chance) if chance.random() < 0.6 else one for one in spec["podSets"]]
    if extended:
        pod_sets = [_with_extended(one, extended, chance) if chance.random() < 0.4 else one for one in pod_sets]
    return replace(step, value={**step.value, "spec": {**spec, "podSets": pod_sets}})


def _with_extended(pod_set: JsonObject, extended: str, chance: random.Random) -> JsonObject:
    amount = str(chance.choice((1, 1, 2)))
    given = pod_set["template"]["spec"]["containers"][0].get("resources", {})
    return _asking(pod_set, {kind: {**given.get(kind, {}), extended: amount} for kind in ("requests", "limits")})


def _with_claim(pod_set: JsonObject, templates: Sequence[str], chance: random.Random) -> JsonObject:
    asked = chance.sample(templates, min(len(templates), chance.choice((1, 1, 1, 2))))
    claims = [{"name": f"c{number}", "resourceClaimTemplateName": one} for number, one in enumerate(asked)]
    if chance.random() < 0.05:
        claims.append({"name": "named", "resourceClaimName": "mine"})
    return _asking(pod_set, {"claims": [{"name": one["name"]} for one in claims]}, resourceClaims=claims)


def _asking(pod_set: JsonObject, resources: JsonObject, **more: Any) -> JsonObject:
    """A pod set whose first container has more resources, and its pods more fields."""
    pod = pod_set["template"]["spec"]
    first, *others = pod["containers"]
    asking = {**first, "resources": {**first.get("resources", {}), **resources}}
    spec = {**pod, **more, "containers": [asking, *others]}
    return {**pod_set, "template": {**pod_set["template"], "spec": spec}}
