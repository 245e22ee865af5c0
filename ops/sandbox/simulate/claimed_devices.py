"""In some seeds, jobs whose pods claim devices: classes, slices whose devices come and go, templates that come late or change."""

import random

from msgspec.structs import replace

from events.claims import DeviceClassMapping
from events.event import Millis
from events.json_object import JsonObject, object_at
from ops.sandbox.simulate.platform import SeedPlatform, kueue_object
from ops.sandbox.simulate.users import NAMESPACE, UserAction

DRIVER = "gpu.example.com"
RESOURCE, EXTENDED = "example.com/gpus", "example.com/gpu"
PUBLISH, WITHDRAW = "publish", "withdraw"
"""What is done to objects of resource.k8s.io: made, or made anew, and taken away."""
_GROUP = "resource.k8s.io/v1"
_PODS = 3
"""The most that a queue's job may have (`SeedPlatform`)."""
_MOST = 2
"""Devices of one pod: every node has as many, so that there is a place for each when the others have ended."""


def has_claims(seed: int) -> bool:
    """Whether jobs claim devices in a seed, where none is placed by topology."""
    return random.Random(f"{seed}/claims").random() < 0.3  # noqa: S311, PLR2004 - a world, not a secret


def with_claims(platform: SeedPlatform, seed: int, span: Millis) -> None:
    """Give a platform devices, quota of them, and jobs that claim them beside what they ask for."""
    chance = random.Random(f"{seed}/claimed devices")  # noqa: S311 - a world, not a secret
    spaces = sorted({NAMESPACE, *platform.namespaces.values()})
    mapping = DeviceClassMapping(resource=RESOURCE, classes=("gpu", "ext"))
    platform.settings = replace(platform.settings, device_class_mappings=(mapping,))
    slices = {node: _slice(node, chance.choice((2, 3, 4))) for node in platform.nodes}
    fewer = _MOST
    if platform.settings.pods_ready is not None:
        # Whose pods are not all ready in time is stopped, and tried again, here as in Kueue: where pods wait for one another's
        # devices that goes on for ever. So every node has as many as there is quota of together (docs/claims.md#not-done).
        fewer = _MOST * _PODS * len(platform.queues)
        slices = {node: _slice(node, fewer) for node in platform.nodes}
    platform.objects = [
        *(_with_quota(one, chance) for one in platform.objects),
        kueue_object("ResourceFlavor", "claimed", {}),
        _class("gpu"),
        _class("ext", extended=EXTENDED),
        *slices.values(),
        *(_template(name, space, **says) for space in spaces for name, says in _TEMPLATES.items() if name != "late"),
    ]
    actions = _claiming(platform.actions, chance)
    late = chance.randrange(span * 2 // 3)
    actions += [_act(late, PUBLISH, _template("late", space)) for space in spaces]
    if chance.random() < 0.5:  # noqa: PLR2004
        changed = chance.randrange(span)
        actions += [_act(changed, PUBLISH, _template("grows", space, count=_MOST)) for space in spaces]
    for value in slices.values():
        actions += _comings_and_goings(value, fewer, chance, span)
    platform.actions = sorted(actions, key=lambda one: one.at)


_TEMPLATES: dict[str, JsonObject] = {
    "one": {},
    "two": {"count": 2},
    "late": {},
    "grows": {},
    "picky": {"count": 2, "cel": f"device.attributes['{DRIVER}'].size >= 1"},
}
"""By name, what pods claim by them."""
_ASKED = (("one",), ("two",), ("late",), ("grows",), ("picky",), ("one", "late"))
"""By which templates a pod claims, two devices at most by all of them together; what it asks for by the name of an extended resource has none."""


def _claiming(actions: list[UserAction], chance: random.Random) -> list[UserAction]:
    """The actions with some jobs claiming devices; one that is made anew under its name claims as it did before."""
    choices = ((), (), (EXTENDED,), *_ASKED)
    asked: dict[str, tuple[str, ...]] = {}
    found: list[UserAction] = []
    for one in actions:
        names = asked.setdefault(one.job, chance.choice(choices))
        creates = one.verb == "create" and one.object.get("kind") == "Job"
        found.append(replace(one, object=_with_claims(one.object, names)) if creates and names else one)
    return found


def _with_claims(job: JsonObject, names: tuple[str, ...]) -> JsonObject:
    """A job whose pods claim by these templates, or ask for the extended resource of that name."""
    spec = object_at(job, "spec")
    template = object_at(spec, "template")
    pods = object_at(template, "spec")
    container: JsonObject = pods["containers"][0]
    resources = object_at(container, "resources")
    if names == (EXTENDED,):
        resources = {**resources, "limits": {**object_at(resources, "limits"), EXTENDED: "1"}}
    else:
        claims = [{"name": f"c{index}", "resourceClaimTemplateName": one} for index, one in enumerate(names)]
        resources = {**resources, "claims": [{"name": one["name"]} for one in claims]}
        pods = {**pods, "resourceClaims": claims}
    pods = {**pods, "containers": [{**container, "resources": resources}]}
    return {**job, "spec": {**spec, "template": {**template, "spec": pods}}}


def _comings_and_goings(value: JsonObject, least: int, chance: random.Random, span: Millis) -> list[UserAction]:
    """The devices of a node vanish for a while, or some of them for good, down to so many."""
    found: list[UserAction] = []
    for _ in range(chance.choice((0, 0, 1, 2))):
        at = chance.randrange(span)
        found.append(_act(at, WITHDRAW, value))
        fewer = _slice(value["spec"]["nodeName"], least)
        found.append(_act(min(at + chance.choice((500, 5_000, 30_000)), span), PUBLISH, chance.choice((value, fewer))))
    return found


def _act(at: Millis, verb: str, value: JsonObject) -> UserAction:
    return UserAction(at=at, verb=verb, job=value["metadata"]["name"], object=value)


def _with_quota(value: JsonObject, chance: random.Random) -> JsonObject:
    """A queue with quota of devices as well: enough for the largest job that it may get."""
    if value["kind"] != "ClusterQueue":
        return value
    groups = value["spec"]["resourceGroups"]
    first = groups[0]["flavors"][0]["resources"][0]
    quota: JsonObject = {"name": RESOURCE, "nominalQuota": str(_PODS * _MOST)}
    if "borrowingLimit" in first:
        quota["borrowingLimit"] = str(chance.choice((0, 1, _MOST)))
    group = {"coveredResources": [RESOURCE], "flavors": [{"name": "claimed", "resources": [quota]}]}
    return {**value, "spec": {**value["spec"], "resourceGroups": [*groups, group]}}


def _class(name: str, extended: str = "") -> JsonObject:
    spec: JsonObject = {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}
    if extended:
        spec["extendedResourceName"] = extended
    return {"apiVersion": _GROUP, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def _template(name: str, namespace: str, *, count: int = 1, cel: str = "") -> JsonObject:
    exact: JsonObject = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    if cel:
        exact["selectors"] = [{"cel": {"expression": cel}}]
    requests = [{"name": "r", "exactly": exact}]
    meta = {"name": name, "namespace": namespace}
    spec = {"spec": {"devices": {"requests": requests}}}
    return {"apiVersion": _GROUP, "kind": "ResourceClaimTemplate", "metadata": meta, "spec": spec}


def _slice(node: str, count: int) -> JsonObject:
    devices = [{"name": f"g{number}", "attributes": {"size": {"int": number + 1}}} for number in range(count)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": devices}
    return {"apiVersion": _GROUP, "kind": "ResourceSlice", "metadata": {"name": f"devices-{node}"}, "spec": spec}
