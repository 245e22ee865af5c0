"""A cluster whose nodes have devices of a driver, and jobs that claim them."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from tests.services.watcher.claims.claim_objects import device_class, resource_slice, settings, template
from tests.stage.forked_commands import forked
from tests.stage.stage import Stage

DRIVER = "gpu.example.com"
MAPPED = settings({"gpus": ["gpu"]})
PARTITIONS = settings({"memory": {"classes": ["part"], "counter": ["memory", DRIVER, "true"]}})
SHARES = settings(
    {"memory": {"classes": ["share"], "capacity": ["memory", DRIVER, "true"]}},
    {"KueueDRAIntegrationConsumableCapacity": True},
)
WORKLOADS = "workloads.kueue.x-k8s.io"


def queue_manifests(
    resource: str, *, nominal: Any, name: str = "claims", cohort: str = "", **more: Any
) -> list[JsonObject]:
    """A cluster queue for one resource without a flavor of nodes, and a local queue of the same name."""
    group = {
        "coveredResources": [resource],
        "flavors": [{"name": "any", "resources": [{"name": resource, "nominalQuota": nominal}]}],
    }
    spec = {"namespaceSelector": {}, "resourceGroups": [group], **({"cohortName": cohort} if cohort else {}), **more}
    kueue = "kueue.x-k8s.io/v1beta2"
    return [
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
        {"apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterQueue": name},
        },
    ]


def node(name: str = "plain") -> JsonObject:
    """A node without cards of HAMi, and without their taint."""
    found = gpu_node(name, product="none", zone="b", cards=0, memory_mib=0, model="none")
    return {**found, "spec": {}}


def devices(count: int, *, on: str = "plain", name: str = "devices", **each: Any) -> JsonObject:
    """A slice with so many devices of a node."""
    return resource_slice(name, driver=DRIVER, devices={f"gpu-{n}": dict(each) for n in range(count)}, node=on)


def claiming(
    name: str,
    *,
    templates: tuple[str, ...] = ("one",),
    pods: int = 1,
    queue: str = "claims",
    seconds: int = 36000,
    **asked: Any,
) -> JsonObject:
    """A job each of whose pods claims a device by each template, or asks for something else."""
    names = [f"c{index}" for index, _ in enumerate(templates)]
    claims = [{"name": claim, "resourceClaimTemplateName": one} for claim, one in zip(names, templates, strict=True)]
    resources: JsonObject = {"claims": [{"name": one} for one in names]} if names else {}
    if asked.get("limits"):
        resources["limits"] = asked["limits"]
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if asked.get("urgent"):
        labels["kueue.x-k8s.io/priority-class"] = "urgent"
    pod = {
        "restartPolicy": "Never",
        "resourceClaims": claims,
        "containers": [{"name": "main", "image": "x", "resources": resources}],
    }
    spec = {
        "parallelism": pods,
        "completions": pods,
        "template": {"metadata": {"annotations": {"kuelog.io/run-seconds": str(seconds)}}, "spec": pod},
    }
    meta = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


async def set_up(stage: Stage, *objects: JsonObject, told: SettingsObserved = MAPPED) -> None:
    """Create these, those that are named twice once, and begin to serve."""
    for one in {(one["kind"], one["metadata"]["name"]): one for one in objects}.values():
        await stage.add(one)
    stage.serve(settings=told)


def one_class(name: str = "gpu", **more: Any) -> JsonObject:
    """The class of the devices of that driver."""
    return device_class(name, cel=f'device.driver == "{DRIVER}"', **more)


def one_template(name: str = "one", *, of: str = "gpu", **request: Any) -> JsonObject:
    """A template of one request."""
    return template(name, [{"class": of, **request}])


def workload_of(stage: Stage, job: str) -> JsonObject:
    """The Workload of a job; nothing before it is there."""
    found = [one for one in stage.of(WORKLOADS) if one["metadata"]["name"].startswith(f"job-{job}-")]
    return found[0] if found else {}


def told_of(stage: Stage, job: str, kind: str = "QuotaReserved") -> tuple[str, str, str]:
    """Status, reason and message of a condition of a job's Workload."""
    for one in (workload_of(stage, job).get("status") or {}).get("conditions") or ():
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return "", "", ""


def usage_of(stage: Stage, job: str) -> dict[str, str]:
    """What a job's Workload shows as charged to its first pod set."""
    admission = (workload_of(stage, job).get("status") or {}).get("admission") or {}
    return (admission.get("podSetAssignments") or [{}])[0].get("resourceUsage", {})


async def asked(stage: Stage, *words: str) -> Any:
    """What a command answers about the log of a stage."""
    line = (*words, "-o", "json", "--nats", stage.server.url)
    return json.loads((await asyncio.to_thread(forked, line, env=os.environ)).stdout)


async def until_shown(stage: Stage, holds: Callable[[list[JsonObject]], bool]) -> list[JsonObject]:
    """The devices that pods claim, once they are as they should be: each message of the log is a time to ask again."""
    facts = await stage.bus.stream("FACTS")
    while True:
        last = (await facts.last()).sequence
        found = (await asked(stage, "devices"))["claimable"]
        if holds(found):
            return found
        async for batch in facts.follow(last):
            if batch:
                break
