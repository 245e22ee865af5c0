"""Suites about the past usage of local queues: who comes first in a line, and who gets quota over several cycles."""

from typing import Any

from events.control import ObjectRemoved
from events.workload import WorkloadQueued
from services.admitter.heads import heads
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up
from tests.conformance.kueue.shown import all_shown, events_told, under_all_gates

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
    found = [head.workload.key for head in heads(at.world, [at.world.quota.root_of(name)], at.now)]
    wanted = [_key(case["want"]["wl"])]
    return None if found == wanted else f"found {found}, recorded {wanted}"


def cycles_by_past_usage(case: Case) -> str | None:
    """Several cycles over a queue whose local queues have used what they have used: how everybody stands after them."""
    return under_all_gates(case, _some_cycles)


def _some_cycles(case: Case) -> str | None:
    inputs = case["inputs"]
    used = inputs.get("initial_usage") or {}
    doors = [_with_usage(door, used.get(door["metadata"]["name"])) for door in case["objects"]["local_queues"]]
    at = CaseWorld({**case, "objects": {**case["objects"], "local_queues": doors}})
    line_up(at)
    for door in doors:
        if door["metadata"]["name"] == inputs.get("delete_queue"):
            at.fold(
                [ObjectRemoved(kind="LocalQueue", namespace=door["metadata"]["namespace"], name=inputs["delete_queue"])]
            )
    for _ in range(case["config"]["cycles"]):
        at.cycle()
    return all_shown(at, case["want"]["workloads"]) or events_told(at, case)


def _with_usage(door: Case, consumed: Case | None) -> Case:
    """A LocalQueue with what Kueue would have measured."""
    status = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": consumed}}}
    return {**door, "status": status} if consumed else door


def _led(door: Case, cluster_queue: str) -> Case:
    return {**door, "spec": {**door["spec"], "clusterQueue": cluster_queue}}


def _key(value: Case) -> str:
    return f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}"
