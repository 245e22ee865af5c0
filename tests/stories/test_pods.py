"""Pods without a job, alone, in groups, and as they are made by what serves: at the gate, through it, and out."""

import asyncio
from collections.abc import Callable
from typing import Any

from events.json_object import JsonObject
from services.jobs.defaulting import waiting
from services.jobs.kinds.pods import is_gated
from services.runtime.cluster_port import Resource
from tests.stage.cluster import UNTIL_ENDED_S, end_pod
from tests.stage.stage import Stage

PODS = Resource(plural="pods", kind="Pod")
CARD = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 10000, "nvidia.com/gpucores": 40}


def pod(name: str, *, urgent: bool = False, seconds: int = UNTIL_ENDED_S, **notes: str) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": "team"} | ({"kueue.x-k8s.io/priority-class": "urgent"} if urgent else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": labels,
            "annotations": {"kuelog.io/run-seconds": str(seconds)},
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "x", "resources": {"limits": {**CARD, **notes}}}],
        },
    }


def member(name: str, group: str, total: int, **how: Any) -> JsonObject:
    made = pod(name, **how)
    made["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = group
    made["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = str(total)
    return made


class Pods:
    """The pods of a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def of(self, name: str) -> JsonObject:
        return self.stage.get("pods", "default", name)

    def phase(self, name: str) -> str:
        return self.of(name).get("status", {}).get("phase", "")

    def workloads(self) -> dict[str, JsonObject]:
        return {one["metadata"]["name"]: one for one in self.stage.of("workloads.kueue.x-k8s.io")}

    def reason(self, name: str, kind: str = "Finished") -> str:
        found = self.workloads().get(name, {}).get("status", {}).get("conditions") or ()
        return next((one["reason"] for one in found if one["type"] == kind and one["status"] == "True"), "")

    async def end(self, *names: str) -> None:
        """Have pods that run end."""
        for name in names:
            await end_pod(self.stage.client, "default", name)

    async def until(self, holds: Callable[[], bool]) -> None:
        await asyncio.wait_for(self.stage.until(holds), 60)


async def test_a_pod_waits_at_the_gate_runs_and_ends(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    made = await stage.client.create(PODS, "default", pod("alone"))
    assert is_gated(made) and made["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"
    await pods.until(lambda: pods.phase("alone") == "Running")
    assert pods.of("alone")["spec"]["nodeSelector"] == {"zone": "a"}
    assert pods.of("alone")["metadata"]["annotations"]["nvidia.com/use-gpuuuid"]
    (name,) = pods.workloads()
    assert pods.of("alone")["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == name
    await pods.end("alone")
    await pods.until(lambda: pods.reason(name) == "Succeeded")


async def test_a_pod_that_has_to_make_room_is_told_so_and_deleted(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    big = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
    await stage.client.create(PODS, "default", pod("patient", **big))
    await pods.until(lambda: pods.phase("patient") == "Running")
    seen: list[str] = []

    def told() -> bool:
        found = pods.of("patient").get("status", {}).get("conditions") or ()
        seen.extend(one["reason"] for one in found if one["type"] == "TerminationTarget")
        return not pods.of("patient") and pods.phase("urgent") == "Running"

    await stage.client.create(PODS, "default", pod("urgent", urgent=True, **big))
    await pods.until(told)
    assert set(seen) == {"WorkloadEvictedDueToPreempted"}
    await pods.until(lambda: len(pods.workloads()) == 1)


async def test_a_group_is_let_in_when_it_is_whole_and_ends_when_all_have(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await stage.client.create(PODS, "default", member("g-0", "gang", 2))
    await stage.client.create(PODS, "default", pod("later", seconds=1))
    await pods.until(lambda: pods.phase("later") == "Succeeded")
    assert is_gated(pods.of("g-0")) and "gang" not in pods.workloads(), "one of two is missing"
    await stage.client.create(PODS, "default", member("g-1", "gang", 2))
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running")
    found = pods.workloads()["gang"]
    assert [one["count"] for one in found["spec"]["podSets"]] == [2]
    assert {one["name"] for one in found["metadata"]["ownerReferences"]} == {"g-0", "g-1"}
    assert found["metadata"]["annotations"]["kueue.x-k8s.io/is-group-workload"] == "true"
    await pods.end("g-0", "g-1")
    await pods.until(lambda: pods.reason("gang") == "Succeeded")


async def test_a_group_that_comes_one_by_one_is_let_in_at_once_and_replacements_too(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await stage.client.create(PODS, "default", serving("s-0"))
    await pods.until(lambda: pods.phase("s-0") == "Running")
    assert [one["count"] for one in pods.workloads()["statefulset-s-d1102"]["spec"]["podSets"]] == [2]
    await stage.client.create(PODS, "default", serving("s-1"))
    await pods.until(lambda: pods.phase("s-1") == "Running")
    await stage.client.delete(PODS, "default", "s-0")
    await pods.until(lambda: not pods.of("s-0"))
    await stage.client.create(PODS, "default", serving("s-0"))
    await pods.until(lambda: pods.phase("s-0") == "Running")
    for name in ("s-0", "s-1"):
        await stage.client.delete(PODS, "default", name)
    await pods.until(lambda: not pods.workloads())


def serving(name: str) -> JsonObject:
    """A pod as a StatefulSet makes it whose template names its group, as Kueue up to 0.16 and kuelog had it."""
    plain = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"replicas": 2}}
    plain["metadata"] = {"name": "s", "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    named = {"labels": {"kueue.x-k8s.io/pod-group-name": "statefulset-s-d1102"}}
    plain["spec"] = {"replicas": 2, "template": {"metadata": named, "spec": {}}}
    template = waiting(plain, "StatefulSet")["spec"]["template"]["metadata"]
    made = pod(name)
    made["metadata"]["labels"] |= template["labels"]
    made["metadata"]["annotations"] |= template["annotations"]
    return made


def test_what_serves_hands_its_queue_to_its_pods() -> None:
    meta = {"name": "d", "labels": {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/priority-class": "p"}}
    plain = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": {"spec": {}}}}
    wanted = meta["labels"] | {"kueue.x-k8s.io/managed": "true"}
    assert waiting(plain, "Deployment")["spec"]["template"]["metadata"]["labels"] == wanted
    both = {"leaderTemplate": {"spec": {}}, "workerTemplate": {"spec": {}}, "size": 2}
    whole = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "metadata": meta, "spec": {"leaderWorkerTemplate": both}}
    found = waiting(whole, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    classed = {"kueue.x-k8s.io/priority-class": "p"}
    assert all(found[one]["metadata"]["labels"] == classed for one in ("leaderTemplate", "workerTemplate"))


async def test_a_leader_and_its_workers_are_one_workload_of_two_shapes(stage: Stage) -> None:
    """Nobody says beforehand of what shapes they are: both are there when they are seen first."""
    pods = Pods(stage)
    for name, limits in (("l-0", {}), ("l-0-1", {"nvidia.com/gpumem": "12000"})):
        made = pod(name, **limits)
        made["metadata"]["labels"] |= {
            "leaderworkerset.sigs.k8s.io/name": "l",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
        }
        made["metadata"]["annotations"] |= {"leaderworkerset.sigs.k8s.io/size": "2"}
        await stage.client.create(PODS, "default", made)
    stage.serve()
    await pods.until(lambda: pods.phase("l-0") == pods.phase("l-0-1") == "Running")
    assert list(pods.workloads()) == ["leaderworkerset-l-0"]


async def test_what_a_managed_job_makes_and_what_names_no_queue_passes_without_a_gate() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    owned = pod("owned")
    owned["metadata"]["ownerReferences"] = [owner]
    assert not is_gated(waiting(owned, "Pod"))
    for owner["kind"], owner["apiVersion"] in (("Workflow", "argoproj.io/v1alpha1"), ("TaskRun", "tekton.dev/v1")):
        assert is_gated(waiting(owned, "Pod"))
    plain = pod("plain")
    plain["metadata"]["labels"] = {}
    assert waiting(plain, "Pod") == plain


async def test_a_group_of_no_size_is_refused(stage: Stage) -> None:
    stage.serve()
    broken = member("x", "g", 1)
    broken["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "many"
    await stage.client.create(PODS, "default", broken)
    await Pods(stage).until(lambda: any(one["reason"] == "ErrWorkloadCompose" for one in stage.of("events")))
