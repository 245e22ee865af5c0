"""Checks that ask a cluster autoscaler for nodes: how a world gets them, what its autoscaler says, and what is seen of what it is asked.

No autoscaler is there: who plays the world shows on a ProvisioningRequest what one would say of it.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests, path_of
from services.provisioning_kinds import PARAMETERS, REQUESTS
from services.runtime.cluster_port import ObjectConflict, ObjectMissing
from tests.peers.worlds.drawn import KUEUE, Step, World, insert_step
from tests.peers.worlds.jobs import but_for_ours, filled

Name = tuple[str, str]
Objects = Mapping[Name, JsonObject]
CONFIG = "ProvisioningRequestConfig"
CLASSES = ("check-capacity.autoscaling.x-k8s.io", "best-effort-atomic-scale-up.autoscaling.x-k8s.io")
KEYS = ("provisioningrequests.autoscaling.x-k8s.io", "podtemplates", "admissionchecks.kueue.x-k8s.io")
"""Where what is asked, the pods that it is asked for, and the checks are stored."""
_SAYS: dict[str, JsonObject] = {
    "accepted": {"Accepted": ("True", "it is looked at")},
    "expected": {"Accepted": ("True", "it is looked at"), "Provisioned": ("False", "nodes are there at noon")},
    "provisioned": {"Accepted": ("True", "it is looked at"), "Provisioned": ("True", "nodes are there")},
    "silent": {"Provisioned": ("True", "")},
    "failed": {"Accepted": ("True", "it is looked at"), "Failed": ("True", "no room")},
    "expired": {"Provisioned": ("True", "nodes are there"), "BookingExpired": ("True", "nobody came")},
    "revoked": {"Provisioned": ("True", "nodes are there"), "CapacityRevoked": ("True", "the nodes are gone")},
}
"""The conditions by which an autoscaler says something."""
_LIVES = (
    ("provisioned",),
    ("provisioned",),
    ("accepted", "expected", "provisioned"),
    ("expected", "silent"),
    ("failed", "provisioned"),
    ("failed", "expected", "provisioned"),
    ("failed", "failed", "failed", "provisioned"),
    ("expired", "provisioned"),
    ("provisioned", "expired"),
    ("provisioned", "revoked"),
    ("accepted", "revoked"),
    (),
)
"""What it says of a workload, one after the other, each of the request that is there by then."""
_MOST_STEPS = 18
"""Each of them is waited for on the wall's clock."""
_DEFAULTS: JsonObject = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
"""What an API server sets of pods where nothing is said."""


def with_provisioning(world: World, chance: random.Random) -> World:
    """The world with checks that ask an autoscaler, with what that says, and with what people change of it."""
    configs = [f"{world.space}-p{number}" for number in range(chance.choice((1, 1, 2)))]
    checks = [f"{world.space}-n{number}" for number in range(chance.choice((1, 1, 2)))]
    made = [_object(CONFIG, name, _config(chance)) for name in configs]
    made += [_object("AdmissionCheck", name, _asks_by(chance.choice(configs))) for name in checks]
    objects = [_checked(one, checks, chance) if one["kind"] == "ClusterQueue" else one for one in world.objects]
    first = next(number for number, one in enumerate(objects) if one["kind"] == "ClusterQueue")
    objects[first:first] = made
    steps = [_alike(step, chance) for step in world.steps]
    for step in world.steps:
        if step.verb == "create" and step.kind == "Workload" and chance.random() < 0.75:
            for check in checks:
                _say(steps, step, check, chance)
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        changed = _changed(world, configs, checks, chance)
        at = insert_step(steps, 1, changed, chance)
        if changed.verb == "delete" and chance.random() < 0.7:
            again = next(one for one in made if one["metadata"]["name"] == changed.name)
            insert_step(steps, at + 1, replace(changed, verb="create", value=again), chance, near=4)
    return replace(world, objects=tuple(objects), steps=tuple(steps[:_MOST_STEPS]))


def _object(kind: str, name: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _config(chance: random.Random) -> JsonObject:
    spec: JsonObject = {
        "provisioningClassName": chance.choice(CLASSES),
        "retryStrategy": {
            "backoffLimitCount": chance.choice((0, 1, 1, 2)),
            "backoffBaseSeconds": 1,
            "backoffMaxSeconds": chance.choice((1, 2)),
        },
    }
    for name, value, likely in (
        ("parameters", {"Zone": chance.choice(("a", "b"))}, 0.6),
        ("managedResources", [chance.choice(("cpu", "memory", "example.com/gpu"))], 0.3),
        ("podSetUpdates", _updates(chance), 0.5),
        ("podSetMergePolicy", chance.choice(("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")), 0.5),
    ):
        if chance.random() < likely:
            spec[name] = value
    return spec


def _updates(chance: random.Random) -> JsonObject:
    details = {"example.com/pool": "Pool", "example.com/missing": "Missing"}
    keys = chance.sample(sorted(details), chance.choice((1, 2)))
    return {"nodeSelector": [{"key": key, "valueFromProvisioningClassDetail": details[key]} for key in keys]}


def _asks_by(config: str) -> JsonObject:
    named = {"apiGroup": KUEUE.partition("/")[0], "kind": CONFIG, "name": config}
    return {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": named}


def _checked(queue: JsonObject, checks: Sequence[str], chance: random.Random) -> JsonObject:
    """A queue that requires some of the checks, for all of its flavors or for one."""
    if chance.random() < 0.15:
        return queue
    spec = queue["spec"]
    rules = list((spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ())
    for name in chance.sample(checks, chance.randint(1, len(checks))):
        rule: JsonObject = {"name": name}
        if chance.random() < 0.2:
            rule["onFlavors"] = [chance.choice(spec["resourceGroups"][0]["flavors"])["name"]]
        rules.append(rule)
    return {**queue, "spec": {**spec, "admissionChecksStrategy": {"admissionChecks": rules}}}


def _alike(step: Step, chance: random.Random) -> Step:
    """A workload that has parameters of its own, and pod sets that are, or need, the same."""
    if step.verb != "create" or step.kind != "Workload":
        return step
    meta, pod_sets = step.value["metadata"], list(step.value["spec"]["podSets"])
    if chance.random() < 0.3:
        # Kueue 0.17 makes a request anew for ever that has another value for a parameter of its configuration.
        notes = {f"{PARAMETERS}Pool": "c", f"{PARAMETERS}ValidUntilSeconds": "60"}
        meta = {**meta, "annotations": {**meta.get("annotations", {}), **notes}}
    if len(pod_sets) > 1 and chance.random() < 0.7:
        pods = pod_sets[0]["template"]["spec"]
        if chance.random() < 0.5:
            pods = {**pods, "containers": [{**one, "image": "j"} for one in pods["containers"]]}
        pod_sets[1] = {**pod_sets[1], "template": {**pod_sets[1]["template"], "spec": pods}}
    return replace(step, value={**step.value, "metadata": meta, "spec": {**step.value["spec"], "podSets": pod_sets}})


def _say(steps: list[Step], made: Step, check: str, chance: random.Random) -> None:
    """What the autoscaler says of a workload, sometime after it is made."""
    first = next(number for number, one in enumerate(steps) if one.verb == "create" and one.name == made.name) + 1
    for word in chance.choice(_LIVES):
        value: JsonObject = {"check": check, "conditions": _SAYS[word]}
        if "Provisioned" in _SAYS[word]:
            value["details"] = {"Pool": chance.choice(("x", "y"))}
        step = replace(made, verb="answer", kind=REQUESTS.kind, value=value)
        first = insert_step(steps, first, step, chance, near=3) + 1


def _changed(world: World, configs: Sequence[str], checks: Sequence[str], chance: random.Random) -> Step:
    config, check = chance.choice(configs), chance.choice(checks)
    workloads = [one for one in world.steps if one.verb == "create" and one.kind == "Workload"]
    whose = chance.choice(workloads)
    return chance.choice(
        (
            _merge(CONFIG, config, {"provisioningClassName": chance.choice(CLASSES)}),
            _merge(CONFIG, config, {"parameters": {"Zone": "z"}}),
            _merge(CONFIG, config, {"managedResources": chance.choice((["memory"], ["cpu"], None))}),
            _merge(CONFIG, config, {"podSetUpdates": chance.choice((_updates(chance), None))}),
            _merge("AdmissionCheck", check, {"parameters": {"name": chance.choice((*configs, "missing"))}}),
            Step(verb="delete", kind=CONFIG, name=config),
            replace(whose, verb="lose", kind=REQUESTS.kind, value={"check": check}),
        )
    )


def _merge(kind: str, name: str, spec: JsonObject) -> Step:
    return Step(verb="merge", kind=kind, name=name, value={"spec": spec})


async def do_to_request(client: ApiRequests, step: Step, workload: JsonObject, now: Millis) -> None:
    """Say something of the latest request of a check of a workload that holds quota, or have it be lost."""
    meta = workload["metadata"]
    found = (await client.request("GET", path_of(REQUESTS, step.namespace)))["items"]
    check = step.value["check"]
    mine = [(number, one) for one in found if (number := _attempt(one, meta["name"], check))]
    if not mine or not look(workload, "status.admission") or _is(workload, "Evicted") or _is(workload, "Finished"):
        return
    _, latest = max(mine, key=lambda one: one[0])
    if step.verb == "lose":
        await client.delete(REQUESTS, step.namespace, latest["metadata"]["name"])
        return
    told = [
        {"type": kind, "status": status, "reason": "Told", "message": text, "lastTransitionTime": format_timestamp(now)}
        for kind, (status, text) in step.value["conditions"].items()
    ]
    status = {"conditions": told, "provisioningClassDetails": step.value.get("details")}
    await client.merge(REQUESTS, step.namespace, latest["metadata"]["name"], {"status": status}, subresource="status")


def _attempt(request: JsonObject, workload: str, check: str) -> int:
    """The number of the attempt of a request; 0 of one of others."""
    found = re.fullmatch(re.escape(f"{workload}-{check}-") + "([0-9]+)", request["metadata"]["name"])
    return int(found[1]) if found else 0


def _is(workload: JsonObject, kind: str) -> bool:
    return look(workload, f"status.conditions[{kind}].status") == "True"


async def forget_earlier(client: ApiRequests, workload: JsonObject, requests: Iterable[JsonObject]) -> None:
    """Have nothing said of the requests of who is evicted, but for those that are to be tried again.

    Kueue keeps them, and would take nodes that were there for one admission for another one: docs/checks.md.
    """
    meta = workload["metadata"]
    again = {
        one["name"]
        for one in look(workload, "status.admissionChecks") or ()
        if one["state"] == "Retry" or one.get("message", "").endswith("Previously: Retry")
    }
    for one in requests:
        where = one["metadata"]
        owners = {owner["name"] for owner in where.get("ownerReferences") or ()}
        if where["namespace"] != meta["namespace"] or meta["name"] not in owners or not look(one, "status.conditions"):
            continue
        if any(_attempt(one, meta["name"], check) for check in again):
            continue
        nothing = {"status": {"conditions": None, "provisioningClassDetails": None}}
        with suppress(ObjectMissing, ObjectConflict):
            await client.merge(REQUESTS, where["namespace"], where["name"], nothing, subresource="status")


def seen_of_asked(asked: Mapping[str, Objects], space: str, names: Mapping[str, str]) -> dict[str, Any]:
    """What is seen of a world of what is asked of an autoscaler, `names` being those of jobs by their Workloads."""
    requests, templates, checks = (asked.get(key, {}) for key in KEYS)
    told: dict[str, Any] = {}
    whose: dict[str, str] = {}
    for (where, name), one in sorted(requests.items()):
        owners = [names.get(owner["name"], owner["name"]) for owner in one["metadata"].get("ownerReferences") or ()]
        if where == space:
            whose[name] = owners[0] if owners else ""
            told.setdefault(whose[name], {"requests": {}, "templates": {}})["requests"][name] = _request(one)
    for (where, name), one in sorted(templates.items()):
        owners = [owner["name"] for owner in one["metadata"].get("ownerReferences") or ()]
        if where == space and owners:
            owner = whose.get(owners[0]) or names.get(owners[0], owners[0])
            told.setdefault(owner, {"requests": {}, "templates": {}})["templates"][name] = _template(one)
    stand = {
        name: [look(one, f"status.conditions[Active].{field}") for field in ("status", "reason", "message")]
        for (_, name), one in sorted(checks.items())
        if name.startswith(f"{space}-n")
    }
    return {"asked": told, "standing": stand} if stand else {}


def _marks(value: JsonObject) -> dict[str, Any]:
    meta = value["metadata"]
    return {
        "labels": meta.get("labels") or {},
        "annotations": but_for_ours(meta),
        "owners": [
            {name: one.get(name) for name in ("apiVersion", "kind", "name", "controller", "blockOwnerDeletion")}
            for one in meta.get("ownerReferences") or ()
        ],
    }


def _request(value: JsonObject) -> dict[str, Any]:
    conditions = look(value, "status.conditions") or ()
    return {
        **_marks(value),
        "spec": filled(value["spec"]),
        "told": {one["type"]: [one["status"], one["message"]] for one in conditions},
    }


def _template(value: JsonObject) -> dict[str, Any]:
    told = value["template"]
    meta = told.get("metadata") or {}
    pods = {"labels": meta.get("labels"), "annotations": but_for_ours(meta), **_but_for_defaults(told["spec"])}
    return {**_marks(value), "pods": filled(pods)}


def _but_for_defaults(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: _but_for_defaults(one)
                for name, one in value.items()
                if name not in _DEFAULTS or one != _DEFAULTS[name]
            }
        case list():
            return [_but_for_defaults(one) for one in value]
        case _:
            return value
