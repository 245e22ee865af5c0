"""Suites about the past usage of local queues: who comes first in a line, and who gets quota over several cycles."""

from collections.abc import Iterable, Mapping
from typing import Any

from events.control import ObjectRemoved
from events.workload import WorkloadQueued
from services.admitter.decide import admission_of
from services.admitter.heads import heads
from services.queue_manager.decide import QueueManager
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]


def order_by_past_usage(case: Case) -> str | None:
    """Who comes first in a queue whose local queues have used what they have used."""
    inputs = case["inputs"]
    (queue,) = case["objects"]["cluster_queues"]
    used = inputs.get("init_consumed_resources") or {}
    doors = [
        _led(_with_usage(door, used.get(_key(door))), queue["metadata"]["name"])
        for door in case["objects"]["local_queues"]
    ]
    at = CaseWorld({**case, "objects": {**case["objects"], "local_queues": doors}, "workloads": inputs["wls"]})
    name = queue["metadata"]["name"]
    at.fold([WorkloadQueued(workload=_key(one), cluster_queue=name) for one in inputs["wls"]])
    found = [head.workload.key for head in heads(at.world, at.world.quota.root_of(name), at.now)]
    wanted = [_key(case["want"]["wl"])]
    return None if found == wanted else f"found {found}, recorded {wanted}"


def cycles_by_past_usage(case: Case) -> str | None:
    """Several cycles over a queue whose local queues have used what they have used: who holds quota after them."""
    inputs = case["inputs"]
    used = inputs.get("initial_usage") or {}
    doors = [_with_usage(door, used.get(door["metadata"]["name"])) for door in case["objects"]["local_queues"]]
    at = CaseWorld({**case, "objects": {**case["objects"], "local_queues": doors}})
    at.decided(QueueManager())
    for door in doors:
        if door["metadata"]["name"] == inputs.get("delete_queue"):
            at.fold(
                [ObjectRemoved(kind="LocalQueue", namespace=door["metadata"]["namespace"], name=inputs["delete_queue"])]
            )
    for _ in range(case["config"]["cycles"]):
        at.cycle()
        ready = [decision for one in list(at.world.workloads.values()) for decision in admission_of(at.world, one)]
        at.fold(ready)
    found = _statuses((one.key, one.reserved, one.conditions) for one in at.world.workloads.values())
    wanted = _statuses(
        (_key(one), "admission" in status, {told["type"]: told for told in status.get("conditions") or ()})
        for one in case["want"]["workloads"]
        for status in [one.get("status") or {}]
    )
    return None if found == wanted else f"found {found}, recorded {wanted}"


def _statuses(told: Iterable[tuple[str, bool, Mapping[str, Any]]]) -> dict[str, tuple[bool, bool]]:
    """Who holds quota, and whether anything was ever said about it."""
    return {key: (holds, "QuotaReserved" in conditions) for key, holds, conditions in told}


def _with_usage(door: Case, consumed: Case | None) -> Case:
    """A LocalQueue with what Kueue would have measured."""
    status = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": consumed}}}
    return {**door, "status": status} if consumed else door


def _led(door: Case, cluster_queue: str) -> Case:
    return {**door, "spec": {**door["spec"], "clusterQueue": cluster_queue}}


def _key(value: Case) -> str:
    return f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}"
