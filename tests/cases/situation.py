"""A situation in a few words as the objects that it stands for, and what production makes of it."""

from typing import Any

import yaml

from events.api.check_controllers import MULTIKUEUE, PROVISIONING
from events.device import NodeUsageObserved
from events.json_object import JsonObject
from events.quantity import to_units
from events.workload import PodsGone, WorkloadFinished
from projections.workloads.lifecycle import PREEMPTED, QUOTA_RESERVED
from services.queue_manager.reconcile import reconcile
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up
from tests.laws.stop_of_pods import stop_of

NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "default"


def played(case: JsonObject) -> CaseWorld:
    """The world after the case's cycles; whoever was told to go leaves in between."""
    at = CaseWorld(
        {
            "now": NOW,
            "config": {
                "fair_sharing": case.get("fair", False),
                "fair_sharing_preemption_strategies": case.get("strategies"),
                "admission_fair_sharing": case.get("usage"),
                "workload_ordering": {"pods_ready_requeuing_timestamp": case.get("requeuing_timestamp")},
            },
            "gates_non_default": case.get("gates") or {},
            "objects": {
                "namespaces": [{"metadata": {"name": NAMESPACE}}],
                "topologies": [_topology(name, levels) for name, levels in (case.get("topologies") or {}).items()],
                "nodes": [_node(name, spec) for name, spec in (case.get("nodes") or {}).items()],
                "admission_checks": [
                    *(_check(name, PROVISIONING) for name in case.get("autoscalers") or ()),
                    *(_check(name, MULTIKUEUE) for name in case.get("other_clusters") or ()),
                ],
                "resource_flavors": [
                    _flavor(name, spec) for name, spec in (case.get("flavors") or {"default": {}}).items()
                ],
                "cluster_queues": [_queue(name, spec) for name, spec in case["queues"].items()],
                "cohorts": [_cohort(name, spec) for name, spec in (case.get("cohorts") or {}).items()],
                "local_queues": [
                    _local_queue(name, queue)
                    for name, queue in (case.get("local_queues") or {name: name for name in case["queues"]}).items()
                ],
            },
            "workloads": [
                *(_workload(name, spec, running=True) for name, spec in (case.get("running") or {}).items()),
                *(_workload(name, spec, running=False) for name, spec in (case.get("waiting") or {}).items()),
            ],
        }
    )
    at.now += case.get("after", 0) * 1000
    _let_pods_hold(at, case.get("other_pods") or {})
    for number in range(case.get("cycles", 1)):
        if number:
            _leave(at, case.get("running") or {})
            at.now += case.get("pause", 0) * 1000
        line_up(at)
        at.cycle()
    return at


def outcome(at: CaseWorld) -> JsonObject:
    """Who holds quota, who was preempted and why, what they are told of it, who waits and why."""
    workloads = {one.name: one for one in at.world.workloads.values()}
    return {
        "hold": sorted(name for name, one in workloads.items() if one.reserved and not (one.evicted or one.finished)),
        "preempted": {
            name: told.reason
            for name, one in workloads.items()
            if one.evicted and (told := one.condition(PREEMPTED)) is not None
        },
        "told": {
            name: told.message for name, one in workloads.items() if (told := one.condition(PREEMPTED)) is not None
        },
        "wait": {
            name: f"{told.reason}: {told.message}"
            for name, one in workloads.items()
            if not one.reserved and (told := one.condition(QUOTA_RESERVED)) is not None
        },
    }


def flavor_of(at: CaseWorld, name: str) -> str:
    """The flavor of the CPU that a workload holds."""
    admission = at.world.workloads[f"{NAMESPACE}/{name}"].admission
    return "" if admission is None else admission.assignments[0].flavors["cpu"]


def pods_of(at: CaseWorld, name: str) -> int:
    """How many pods of a workload's first pod set hold quota."""
    admission = at.world.workloads[f"{NAMESPACE}/{name}"].admission
    return 0 if admission is None else admission.assignments[0].count


def domains_of(at: CaseWorld, name: str) -> JsonObject:
    """How many pods of a workload lie on each leaf."""
    placements = at.world.domains.held().get(f"{NAMESPACE}/{name}", ())
    return {",".join(domain.values): domain.count for one in placements for domain in one.assignment.domains}


def _let_pods_hold(at: CaseWorld, pods: JsonObject) -> None:
    """`{x1: {cpu: 2}}`: what pods that no queue places hold of nodes."""
    at.fold(
        [
            NodeUsageObserved(node=node, requests={name: to_units(name, str(amount)) for name, amount in held.items()})
            for node, held in pods.items()
        ]
    )


def _topology(name: str, levels: list[str]) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"levels": [{"nodeLabel": level} for level in levels]}}


def _node(name: str, spec: JsonObject) -> JsonObject:
    """`{rack: r1, cpu: 4}`: what is no resource is a label; ten pods fit unless it says otherwise."""
    resources = {word: str(spec[word]) for word in ("cpu", "memory", "gpu", "pods") if word in spec}
    labels = {word: str(text) for word, text in spec.items() if word not in (*resources, "ready", "taints")}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": spec.get("taints") or []},
        "status": {
            "allocatable": {"pods": "10", **resources},
            "conditions": [{"type": "Ready", "status": "True" if spec.get("ready", True) else "False"}],
        },
    }


def _check(name: str, controller: str) -> JsonObject:
    active = {"type": "Active", "status": "True"}
    return {"metadata": {"name": name}, "spec": {"controllerName": controller}, "status": {"conditions": [active]}}


def _leave(at: CaseWorld, running: JsonObject) -> None:
    """Whoever was told to go is gone, but for those who are slow; who `ends` has run to its end."""
    for name in [name for name, one in running.items() if one.get("ends")]:
        at.fold([WorkloadFinished(workload=f"{NAMESPACE}/{name}", reason="Succeeded")])
        at.fold(reconcile(at.world, at.world.workloads[f"{NAMESPACE}/{name}"], at.now))
    for workload in [one for one in at.world.workloads.values() if one.evicted and one.reserved]:
        if running[workload.name].get("slow"):
            continue
        mark = stop_of(workload, f"LOG_0/{workload.stops.stopped_by}")
        at.fold([PodsGone(workload=workload.key, decision=mark)])
        at.fold(reconcile(at.world, at.world.workloads[workload.key], at.now))


def _flavor(name: str, spec: JsonObject) -> JsonObject:
    return {"metadata": {"name": name}, "spec": spec or {}}


def _queue(name: str, spec: JsonObject) -> JsonObject:
    rest = {key: value for key, value in spec.items() if key not in ("quota", "cohort", "annotations", "strategy")}
    return {
        "metadata": {"name": name, "annotations": spec.get("annotations") or {}},
        "spec": {
            "namespaceSelector": {},
            "cohortName": spec.get("cohort", ""),
            "queueingStrategy": spec.get("strategy", "BestEffortFIFO"),
            "resourceGroups": _groups(spec.get("quota") or {}),
            **rest,
        },
    }


def _cohort(name: str, spec: JsonObject) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {"parentName": spec.get("parent", ""), "resourceGroups": _groups(spec.get("quota") or {})},
    }


def _groups(quota: JsonObject) -> list[JsonObject]:
    """`cpu: {default: 4}` or `{default: [4, 2, 1]}`: per resource its flavors, each with its nominal quota, limits behind it.

    `"cpu,gpu": {default: {cpu: 4, gpu: 1}}` is a group of two resources.
    """
    return [
        {
            "coveredResources": resources.split(","),
            "flavors": [
                {
                    "name": flavor,
                    "resources": [
                        _amounts(resource, found[resource] if isinstance(found, dict) else found)
                        for resource in resources.split(",")
                    ],
                }
                for flavor, found in flavors.items()
            ],
        }
        for resources, flavors in quota.items()
    ]


def _amounts(resource: str, found: Any) -> JsonObject:
    nominal, borrowing, lending = (*found, None, None)[:3] if isinstance(found, list) else (found, None, None)
    limits = {"borrowingLimit": borrowing, "lendingLimit": lending}
    return {
        "name": resource,
        "nominalQuota": str(nominal),
        **{name: str(limit) for name, limit in limits.items() if limit is not None},
    }


def _local_queue(name: str, queue: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"clusterQueue": queue}}


def _workload(name: str, spec: JsonObject, *, running: bool) -> JsonObject:
    """`{queue: a, cpu: 2, priority: 1, age: 60, count: 1}`: so many pods with so much each, created so many seconds ago.

    `beside: {other: {cpu: 2}}` has one pod more, in a pod set of its own.
    `evicted: {reason: …, since: 60}` says why and how long ago one that waits was evicted, and `over` that this is so no more;
    `reclaimed: 1` how many pods are done.
    """
    count = spec.get("count", 1)
    asked = {resource: str(spec[resource]) for resource in ("cpu", "memory", "gpu") if resource in spec}
    pod: JsonObject = {**_one(asked), **(spec.get("pod") or {})}
    beside: JsonObject = spec.get("beside") or {}
    meta = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": spec.get("uid", name),
        "creationTimestamp": _ago(spec.get("age", 0)),
        "annotations": spec.get("annotations") or {},
    }
    body: JsonObject = {
        "queueName": spec.get("local_queue", spec["queue"]),
        "priority": spec.get("priority", 0),
        "podSets": [
            {"name": "main", "count": count, "template": {"spec": pod}}
            | ({"minCount": spec["least"]} if "least" in spec else {})
            | ({"topologyRequest": spec["topology"]} if "topology" in spec else {}),
            *({"name": other, "count": 1, "template": {"spec": _one(asked)}} for other, asked in beside.items()),
        ],
        "preemptionGates": [{"name": gate} for gate in spec.get("preemption_gates") or ()],
    }
    value: JsonObject = {"metadata": meta, "spec": body}
    if running:
        return {**value, "status": _holding(spec, asked, count)}
    return {**value, "status": {"conditions": [_evicted(spec["evicted"])]}} if "evicted" in spec else value


def _one(asked: JsonObject) -> JsonObject:
    """A pod of one container."""
    requests = {resource: str(amount) for resource, amount in asked.items()}
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


def _holding(spec: JsonObject, asked: JsonObject, count: int) -> JsonObject:
    since = _ago(spec.get("running_for", 0))
    held = {
        "name": "main",
        "count": spec.get("assigned", count),
        "flavors": spec.get("flavors") or dict.fromkeys(asked, spec.get("flavor", "default")),
        "resourceUsage": {
            resource: str(int(amount) * spec.get("assigned", count)) for resource, amount in asked.items()
        },
        **({"topologyAssignment": _on(spec["hosts"])} if "hosts" in spec else {}),
        **({"delayedTopologyRequest": "Pending"} if spec.get("delayed") else {}),
    }
    return {
        "admission": {"clusterQueue": spec["queue"], "podSetAssignments": [held]},
        "conditions": [
            {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": since}
            for kind in ("QuotaReserved", *(() if spec.get("delayed") else ("Admitted",)))
        ]
        + ([_preempted_before(spec["preempted"])] if "preempted" in spec else []),
        "unhealthyNodes": [{"name": node} for node in spec.get("failed_nodes") or ()],
        "admissionChecks": [{"name": name, "state": "Ready", "message": ""} for name in spec.get("ready") or ()],
        "reclaimablePods": [{"name": "main", "count": spec["reclaimed"]}] if "reclaimed" in spec else [],
    }


def _on(hosts: JsonObject) -> JsonObject:
    """`{x1: 2}`: so many pods on each host."""
    return {
        "levels": ["kubernetes.io/hostname"],
        "slices": [
            {"domainCount": 1, "valuesPerLevel": [{"universal": host}], "podCounts": {"universal": pods}}
            for host, pods in hosts.items()
        ],
    }


def _evicted(told: JsonObject) -> JsonObject:
    """That a workload was evicted, and has no quota since."""
    return {
        "type": "Evicted",
        "status": "False" if told.get("over") else "True",
        "reason": told["reason"],
        "message": "",
        "lastTransitionTime": _ago(told["since"]),
    }


def _preempted_before(seconds: int) -> JsonObject:
    """That a workload was preempted so long ago, and has got quota again since."""
    told = {"type": "Preempted", "status": "False", "reason": "QuotaReserved", "message": ""}
    return {**told, "lastTransitionTime": _ago(seconds)}


def _ago(seconds: int) -> str:
    return f"2025-12-31T{23 - seconds // 3600:02}:{59 - seconds // 60 % 60:02}:{59 - seconds % 60:02}Z"


def read_table(text: str) -> list[JsonObject]:
    """The cases of a table."""
    return yaml.safe_load(text)
