"""Groups of pods as Kueue keeps them: held until they are accounted for, replaced, preempted and resumed, taken away."""

from typing import Any

from events.json_object import JsonObject
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.production.served import SERVICES
from ops.queries.replay import fold_partition
from services.jobs.kinds.pods import is_gated
from services.runtime.cluster_port import Resource
from services.runtime.own_task import stopped
from tests.stage.stage import Stage
from tests.stories.test_pods import PODS, Pods, member, pod

QUEUE = "kueue.x-k8s.io/queue-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
HELD = "kueue.x-k8s.io/managed"
WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
BIG = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
HALF = {"nvidia.com/gpumem": "15000", "nvidia.com/gpucores": "45"}
SMALL = {"nvidia.com/gpumem": "5000", "nvidia.com/gpucores": "20"}


async def created(stage: Stage, *pods: JsonObject) -> list[JsonObject]:
    return [await stage.client.create(PODS, "default", one) for one in pods]


def held(pods: Pods, *names: str) -> bool:
    return all(HELD in (pods.of(name).get("metadata", {}).get("finalizers") or ()) for name in names)


def condition(pods: Pods, name: str, kind: str) -> tuple[str, str]:
    found = pods.workloads().get(name, {}).get("status", {}).get("conditions") or ()
    return next(((one["status"], one["reason"]) for one in found if one["type"] == kind), ("", ""))


def told(stage: Stage, reason: str) -> list[JsonObject]:
    return [one for one in stage.of("events") if one["reason"] == reason]


async def replays(stage: Stage) -> None:
    """What was decided is decided again from the log alone."""
    fold, found = fold_partition(PARTITION, await read_everything(stage.bus), verify=True)
    assert not found.differences and fold.world.workloads is not None


async def test_a_pod_is_held_until_its_end_is_on_the_log(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, pod("alone"), pod("other"))
    await pods.until(lambda: pods.phase("alone") == "Running")
    assert held(pods, "alone", "other")
    await pods.end("alone")
    await pods.until(lambda: pods.phase("alone") == "Succeeded" and not held(pods, "alone"))
    await pods.until(lambda: pods.phase("other") == "Running")
    await stage.client.delete(PODS, "default", "other")
    await pods.until(lambda: not pods.of("other") and len(pods.workloads()) == 1)


async def test_a_preempted_group_keeps_its_workload_and_goes_on_with_other_pods(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, *(member(f"g-{i}", "gang", 2, **HALF) for i in range(2)))
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running")
    before = pods.workloads()["gang"]
    await created(stage, pod("urgent", urgent=True, **BIG))
    await pods.until(lambda: pods.phase("urgent") == "Running")
    for name in ("g-0", "g-1"):
        (why,) = [one for one in pods.of(name)["status"]["conditions"] if one["type"] == "TerminationTarget"]
        assert why["reason"] == "WorkloadEvictedDueToPreempted"
        assert pods.phase(name) == "Failed" and held(pods, name), "its place is kept"
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods") == ("True", "Preempted"))
    await pods.end("urgent")
    await pods.until(lambda: pods.phase("urgent") == "Succeeded")
    # Nobody is in line who has no pods.
    await pods.until(lambda: condition(pods, "gang", "QuotaReserved")[0] == "False")
    await created(stage, member("h-0", "gang", 2, **HALF))
    await pods.until(lambda: not pods.of("g-0") or not pods.of("g-1"))
    assert is_gated(pods.of("h-0"))
    await created(stage, member("h-1", "gang", 2, **HALF))
    await pods.until(lambda: pods.phase("h-0") == pods.phase("h-1") == "Running")
    await pods.until(lambda: not pods.of("g-0") and not pods.of("g-1"))
    after = pods.workloads()["gang"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods") == ("False", "PodsReady"))
    assert {one["name"] for one in pods.workloads()["gang"]["metadata"]["ownerReferences"]} == {"h-0", "h-1"}
    await replays(stage)


async def test_a_pod_that_fails_is_replaced_while_the_others_run(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    failing = member("g-0", "gang", 2, seconds=5)
    failing["metadata"]["annotations"]["kuelog.io/exit"] = "1"
    await created(stage, failing, member("g-1", "gang", 2))
    await pods.until(lambda: pods.phase("g-0") == "Failed" and pods.phase("g-1") == "Running")
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods") == ("True", "PodsFailed"))
    assert held(pods, "g-0")
    assert condition(pods, "gang", "Admitted")[0] == "True"
    await created(stage, member("again", "gang", 2))
    await pods.until(lambda: pods.phase("again") == "Running" and not held(pods, "g-0"))
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods")[0] == "False")


async def test_pods_beyond_the_size_of_their_group_are_deleted(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, *(member(f"g-{i}", "gang", 2) for i in range(3)))
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running" and not pods.of("g-2"))
    await created(stage, member("late", "gang", 2))
    await pods.until(lambda: not pods.of("late"))
    await pods.until(lambda: len(told(stage, "ExcessPodDeleted")) == 2)
    assert pods.phase("g-0") == pods.phase("g-1") == "Running"


async def test_a_group_that_waits_follows_its_pods_to_another_queue(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, *(moved(member(f"g-{i}", "gang", 2), "nowhere") for i in range(2)))
    await pods.until(lambda: condition(pods, "gang", "QuotaReserved") == ("False", "Misconfigured"))
    for name in ("g-0", "g-1"):
        await stage.client.merge(PODS, "default", name, {"metadata": {"labels": {QUEUE: "team"}}})
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running")
    await stage.client.merge(PODS, "default", "g-0", {"metadata": {"labels": {QUEUE: "nowhere"}}})
    await stage.client.delete(PODS, "default", "g-1")
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods")[0] == "True")
    assert condition(pods, "gang", "Admitted")[0] == "True", "what runs stays where it is"


async def test_a_group_that_is_deleted_while_it_runs_waits_for_other_pods_and_goes_with_its_workload(
    stage: Stage,
) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, *(member(f"g-{i}", "gang", 2, **HALF) for i in range(2)))
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running")
    for name in ("g-0", "g-1"):
        await stage.client.delete(PODS, "default", name)
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Failed" and held(pods, "g-0", "g-1"))
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods")[0] == "True")
    assert condition(pods, "gang", "Admitted")[0] == "True"
    await created(stage, member("again", "gang", 2, **HALF))
    await pods.until(lambda: pods.phase("again") == "Running")
    await stage.client.delete(WORKLOADS, "default", "gang")
    await pods.until(lambda: not any(pods.of(name) for name in ("g-0", "g-1", "again")))
    await pods.until(lambda: len(told(stage, "WorkloadDeleted")) == 1)
    await created(stage, pod("next", urgent=False, **BIG))
    await pods.until(lambda: pods.phase("next") == "Running")
    assert list(pods.workloads()) != ["gang"]


async def test_pods_that_contradict_each_other_are_no_group(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, member("a-0", "apart", 2), moved(member("a-1", "apart", 2), "other"))
    await created(stage, member("b-0", "sized", 2), member("b-1", "sized", 3))
    await pods.until(lambda: {one["involvedObject"]["name"] for one in refusals(stage)} == {"a-0", "b-0"})
    assert ["have different" in one["message"] for one in refusals(stage)] == [True, True]
    assert not pods.workloads() and all(is_gated(pods.of(name)) for name in ("a-0", "a-1", "b-0", "b-1"))
    await stage.client.delete(PODS, "default", "b-1")
    await pods.until(lambda: not pods.of("b-1"))
    await created(stage, member("b-1", "sized", 2))
    await pods.until(lambda: pods.phase("b-0") == pods.phase("b-1") == "Running")
    await stage.client.merge(PODS, "default", "a-1", {"metadata": {"labels": {QUEUE: "team"}}})
    await pods.until(lambda: "apart" in pods.workloads())


async def test_a_group_that_may_not_be_retried_is_over_when_its_pods_are(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    failing = member("g-0", "gang", 2, seconds=5)
    failing["metadata"]["annotations"] |= {"kuelog.io/exit": "1", "kueue.x-k8s.io/retriable-in-group": "false"}
    await created(stage, failing, member("g-1", "gang", 2, seconds=10))
    await pods.until(lambda: condition(pods, "gang", "Finished") == ("True", "Failed"))
    found = next(c for c in pods.workloads()["gang"]["status"]["conditions"] if c["type"] == "Finished")
    assert found["message"] == "Pods succeeded: 1/2."
    await pods.until(lambda: not held(pods, "g-0") and not held(pods, "g-1"))


async def test_a_group_is_finished_when_all_have_succeeded_and_then_its_pods_may_go(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, member("g-0", "gang", 2, seconds=2), member("g-1", "gang", 2))
    await pods.until(lambda: pods.phase("g-0") == "Succeeded" and pods.phase("g-1") == "Running")
    await pods.until(lambda: bool(pods.workloads()["gang"]["status"].get("reclaimablePods")))
    await stage.client.delete(PODS, "default", "g-0")
    assert pods.phase("g-0") == "Succeeded" and held(pods, "g-0"), "it counts until the group is over"
    await pods.end("g-1")
    await pods.until(lambda: condition(pods, "gang", "Finished") == ("True", "Succeeded"))
    await pods.until(lambda: not pods.of("g-0") and not held(pods, "g-1"))


async def test_pods_of_a_group_that_never_came_together_are_not_kept(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, member("g-0", "gang", 3), member("g-1", "gang", 3))
    for name in ("g-0", "g-1"):
        await stage.client.delete(PODS, "default", name)
    await pods.until(lambda: not pods.of("g-0") and not pods.of("g-1"))
    assert not pods.workloads()


async def test_a_group_that_comes_one_by_one_waits_only_while_it_has_no_pod(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await created(stage, fast(member("g-0", "gang", 3, **SMALL)))
    await pods.until(lambda: pods.phase("g-0") == "Running")
    assert [one["count"] for one in pods.workloads()["gang"]["spec"]["podSets"]] == [3]
    await created(stage, pod("urgent", urgent=True, seconds=10, **BIG))
    await pods.until(lambda: pods.phase("urgent") == "Succeeded")
    await pods.until(lambda: condition(pods, "gang", "WaitingForReplacementPods")[0] == "True")
    await created(stage, fast(member("h-0", "gang", 3, **SMALL)))
    await pods.until(lambda: pods.phase("h-0") == "Running")


async def test_what_a_watcher_missed_of_a_group_it_finds_when_it_is_back(stage: Stage) -> None:
    others = [one for one in SERVICES if one != "watcher"]
    stage.serve(*others, replica="others")
    stage.serve("watcher", replica="first")
    pods = Pods(stage)
    await created(stage, *(member(f"g-{i}", "gang", 2, **HALF) for i in range(2)))
    await pods.until(lambda: pods.phase("g-0") == pods.phase("g-1") == "Running")
    await stopped(stage.tasks.pop())
    await stage.client.delete(PODS, "default", "g-0")
    await created(stage, member("again", "gang", 2, **HALF))
    await pods.until(lambda: pods.phase("g-0") == "Failed")
    stage.serve("watcher", replica="second")
    await pods.until(lambda: pods.phase("again") == "Running" and not pods.of("g-0"))


def moved(value: JsonObject, queue: str) -> JsonObject:
    value["metadata"]["labels"][QUEUE] = queue
    return value


def fast(value: JsonObject) -> JsonObject:
    value["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-fast-admission"] = "true"
    return value


def refusals(stage: Stage) -> list[dict[str, Any]]:
    return sorted(told(stage, "ErrWorkloadCompose"), key=lambda one: one["involvedObject"]["name"])
