"""What serves: StatefulSets, Deployments and LeaderWorkerSets, with the test in the place of their controllers."""

from contextlib import suppress

import msgspec
import pytest

from events.json_object import JsonObject
from events.json_path import get
from events.settings import PodsReadyRule, SettingsObserved
from ops.production.kubernetes.client import path_of
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.server.server import NatsServer
from ops.production.served import SERVICES
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pods import is_gated
from services.jobs.kinds.table import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET
from services.jobs.workload_name import workload_name
from services.runtime.cluster_port import ObjectMissing, Resource
from services.runtime.own_task import stopped
from tests.stage.stage import Stage
from tests.stories.job_samples import definition
from tests.stories.test_pod_groups import BIG, HALF, SMALL, WORKLOADS, condition, replays
from tests.stories.test_pods import PODS, Pods, pod

QUEUE = "kueue.x-k8s.io/queue-name"
SETS = resource_of(STATEFUL_SET)
LEADER_SETS = resource_of(LEADER_WORKER_SET)


class Serving:
    """One object that serves, and the pods that its controller would make."""

    def __init__(self, stage: Stage, resource: Resource, name: str) -> None:
        self.stage, self.resource, self.name = stage, resource, name

    async def pod(
        self,
        name: str,
        at: tuple[str, ...] = ("spec", "template"),
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> None:
        made = await self.stage.client.get(self.resource, "default", self.name)
        template = get(made, at)
        meta = template.get("metadata") or {}
        owner = {name: made[name] for name in ("apiVersion", "kind")} | {
            **{name: made["metadata"][name] for name in ("name", "uid")},
            "controller": True,
        }
        value = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": {**(meta.get("labels") or {}), **(labels or {})},
                "annotations": {
                    **(meta.get("annotations") or {}),
                    **(annotations or {}),
                    "kuelog.io/run-seconds": "5000",
                },
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
        }
        await self.stage.client.create(PODS, "default", value)

    async def pods(self, *numbers: int) -> None:
        for number in numbers:
            await self.pod(f"{self.name}-{number}")

    async def drop(self, *names: str) -> None:
        for name in names:
            with suppress(ObjectMissing):  # It went with what had made it.
                await self.stage.client.delete(PODS, "default", name)

    async def scale(self, replicas: int) -> None:
        """As `kubectl scale` and autoscalers do: the webhook hears nothing of it."""
        path = path_of(self.resource, "default", self.name, "scale")
        found = await self.stage.client.request("GET", path)
        await self.stage.client.request("PUT", path, {**found, "spec": {"replicas": replicas}})


def workload_of(pods: Pods) -> str:
    (name,) = pods.workloads()
    return name


def template(**notes: str) -> JsonObject:
    limits = {"nvidia.com/gpu": 1, **notes}
    containers = [{"name": "main", "image": "x", "resources": {"limits": limits}}]
    return {"metadata": {"labels": {"app": "s"}}, "spec": {"containers": containers}}


async def served(stage: Stage, resource: Resource, name: str, spec: JsonObject, queue: str = "team") -> Serving:
    """What serves with pods; its controller is played, so where a real one runs the test is skipped."""
    if resource.group == "apps" and stage.cluster.managed:
        pytest.skip(f"the test plays the controller of {resource.plural}, and kube-controller-manager runs one")
    value = {
        "apiVersion": f"{resource.group}/{resource.version}",
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {QUEUE: queue}},
        "spec": spec,
    }
    await stage.add(value)
    return Serving(stage, resource, name)


def stateful(replicas: int, **notes: str) -> JsonObject:
    selector = {"matchLabels": {"app": "s"}}
    return {"replicas": replicas, "serviceName": "s", "selector": selector, "template": template(**notes)}


async def test_a_stateful_set_is_one_workload_from_its_first_moment(stage: Stage) -> None:
    stage.serve(settings=SettingsObserved(pods_ready=PodsReadyRule(timeout=3_600_000)))
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(2, **HALF))
    await pods.until(lambda: len(pods.workloads()) == 1)
    name = workload_of(pods)
    await pods.until(lambda: condition(pods, name, "Admitted")[0] == "True")
    workload = pods.workloads()[name]
    assert [(one["name"], one["count"]) for one in workload["spec"]["podSets"]] == [("main", 2)]
    (asked,) = workload["spec"]["podSets"]
    assert get(asked, ("template", "spec", "containers", 0, "image")) == "x", "no pod of it is there yet"
    assert not asked["template"].get("metadata"), "what its pods bear is not part of it, as under Kueue"
    assert [one["kind"] for one in workload["metadata"]["ownerReferences"]] == ["StatefulSet"]
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("s-0") == pods.phase("s-1") == "Running")
    assert not pods.of("s-0")["metadata"].get("finalizers"), "it is made anew without us"
    await pods.until(lambda: condition(pods, name, "PodsReady")[0] == "True")
    await found.drop("s-0")
    await pods.until(lambda: not pods.of("s-0"))
    await found.pods(0)
    await pods.until(lambda: pods.phase("s-0") == "Running")
    await stage.client.delete(SETS, "default", "s")
    await found.drop("s-0", "s-1")
    await pods.until(lambda: not pods.workloads())


async def test_a_stateful_set_that_is_scaled_to_nothing_gives_its_quota_back_and_queues_anew_in_any_size(
    stage: Stage,
) -> None:
    stage.serve()
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(2, **HALF))
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("s-0") == pods.phase("s-1") == "Running")
    name, uid = workload_of(pods), pods.workloads()[workload_of(pods)]["metadata"]["uid"]
    await found.scale(0)
    await found.drop("s-1", "s-0")
    await pods.until(lambda: condition(pods, name, "QuotaReserved") == ("False", "OnHold"))
    assert condition(pods, name, "Evicted") == ("", "")
    await stage.client.create(PODS, "default", pod("other", seconds=5, urgent=False, **BIG))
    await pods.until(lambda: pods.phase("other") == "Succeeded")
    await found.scale(1)
    await pods.until(lambda: condition(pods, name, "Admitted")[0] == "True")
    await found.pods(0)
    await pods.until(lambda: pods.phase("s-0") == "Running")
    workload = pods.workloads()[name]
    assert workload["status"]["admission"]["podSetAssignments"][0]["count"] == 1
    assert workload["metadata"]["uid"] == uid
    await replays(stage)


async def test_a_stateful_set_keeps_the_size_that_was_let_in_while_it_runs(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(2, **SMALL))
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("s-0") == pods.phase("s-1") == "Running")
    name = workload_of(pods)
    await found.scale(1)
    await found.drop("s-1")
    await pods.until(lambda: not pods.of("s-1"))
    await found.scale(3)
    await found.pods(1, 2)
    await pods.until(lambda: pods.phase("s-1") == "Running")
    assert condition(pods, name, "Admitted")[0] == "True" and is_gated(pods.of("s-2")), "two were let in"
    assert pods.workloads()[name]["status"]["admission"]["podSetAssignments"][0]["count"] == 2
    await found.scale(0)
    await found.drop("s-0", "s-1", "s-2")
    await pods.until(lambda: condition(pods, name, "QuotaReserved") == ("False", "OnHold"))
    await found.scale(3)
    await found.pods(0, 1, 2)
    await pods.until(lambda: all(pods.phase(f"s-{i}") == "Running" for i in range(3)))


async def test_a_stateful_set_that_waits_may_change_its_size_and_its_queue(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(3, **HALF), queue="nowhere")
    await found.pods(0)
    await pods.until(lambda: len(pods.workloads()) == 1)
    await found.scale(2)
    moved = {"metadata": {"labels": {QUEUE: "team"}}}
    await stage.client.merge(SETS, "default", "s", moved)
    await pods.until(lambda: pods.phase("s-0") == "Running")
    await found.pods(1)
    await pods.until(lambda: pods.phase("s-1") == "Running")
    assert pods.of("s-1")["metadata"]["labels"][QUEUE] == "team", "what is made from now on names it"


async def test_a_stateful_set_that_makes_room_comes_back_when_it_may(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(2, **HALF))
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("s-0") == pods.phase("s-1") == "Running")
    name = workload_of(pods)
    await stage.client.create(PODS, "default", pod("urgent", urgent=True, **BIG))
    await pods.until(lambda: not pods.of("s-0") and not pods.of("s-1"))
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("urgent") == "Running")
    assert is_gated(pods.of("s-0")) and is_gated(pods.of("s-1"))
    await pods.end("urgent")
    await pods.until(lambda: pods.phase("s-0") == pods.phase("s-1") == "Running")
    assert condition(pods, name, "WaitingForReplacementPods")[0] != "True"
    await replays(stage)


async def test_what_a_watcher_missed_of_a_stateful_set_it_finds_when_it_is_back(stage: Stage) -> None:
    stage.serve(*(one for one in SERVICES if one != "watcher"), replica="others")
    stage.serve("watcher", replica="first")
    pods = Pods(stage)
    for name in ("kept", "gone"):
        found = await served(stage, SETS, name, stateful(1, **SMALL))
        await found.pods(0)
    await pods.until(lambda: pods.phase("kept-0") == pods.phase("gone-0") == "Running")
    await stopped(stage.tasks.pop())
    await stage.client.delete(SETS, "default", "gone")
    await found.drop("kept-0", "gone-0")
    stage.serve("watcher", replica="second")
    await pods.until(lambda: len(pods.workloads()) == 1)
    assert "kept" in workload_of(pods) and condition(pods, workload_of(pods), "Admitted")[0] == "True"


async def test_each_pod_of_a_deployment_comes_and_goes_by_itself(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    selector = {"matchLabels": {"app": "s"}}
    spec = {"replicas": 2, "selector": selector, "template": template(**SMALL)}
    found = await served(stage, resource_of(DEPLOYMENT), "d", spec)
    await found.pods(0, 1)
    await pods.until(lambda: pods.phase("d-0") == pods.phase("d-1") == "Running")
    assert len(pods.workloads()) == 2
    await found.scale(3)
    await found.pods(2)
    await pods.until(lambda: pods.phase("d-2") == "Running" and len(pods.workloads()) == 3)
    await found.scale(0)
    await found.drop("d-0", "d-1", "d-2")
    await pods.until(lambda: not pods.workloads() and not pods.of("d-0"))
    await found.scale(1)
    await found.pods(3)
    await pods.until(lambda: pods.phase("d-3") == "Running")


async def test_each_group_of_a_leader_and_its_workers_is_let_in_as_a_whole_before_all_of_it_is_there(
    stage: Stage,
) -> None:
    stage.serve()
    await stage.add(definition(LEADER_WORKER_SET))
    pods = Pods(stage)
    both = {"leaderTemplate": template(**SMALL), "workerTemplate": template(**HALF), "size": 2}
    found = await served(stage, LEADER_SETS, "l", {"replicas": 2, "leaderWorkerTemplate": both})
    await grouped(found, 0, "leader")
    await pods.until(lambda: pods.phase("l-0") == "Running")
    name = workload_of(pods)
    made = await stage.client.get(LEADER_SETS, "default", "l")
    assert name == workload_name("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "l-0", made["metadata"]["uid"])
    assert handed_over(pods.of("l-0")) == {**GROUPED, "role-hash": "leader", GROUP: name, PREBUILT: name}
    sets = [(one["name"], one["count"]) for one in pods.workloads()[name]["spec"]["podSets"]]
    assert sets == [("leader", 1), ("worker", 1)], "the worker has its place before it comes"
    await grouped(found, 0, "worker")
    await pods.until(lambda: pods.phase("l-0-1") == "Running")
    assert handed_over(pods.of("l-0-1")) == {**GROUPED, "role-hash": "worker", GROUP: name, PREBUILT: name}
    await grouped(found, 1, "leader")
    await pods.until(lambda: len(pods.workloads()) == 2)
    assert is_gated(pods.of("l-1")), "there is no room for two groups"
    parts = {one["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"] for one in all_of(pods)}
    assert parts == {"0", "1"}
    await found.drop("l-0", "l-0-1")
    await pods.until(lambda: not pods.of("l-0") and not pods.of("l-0-1"))
    assert len(pods.workloads()) == 2, "a group that starts anew keeps its place"
    await grouped(found, 0, "leader")
    await pods.until(lambda: pods.phase("l-0") == "Running")
    await stage.client.merge(LEADER_SETS, "default", "l", {"spec": {"replicas": 1}})
    await found.drop("l-1")
    await pods.until(lambda: list(pods.workloads()) == [name])


async def test_a_group_that_kueue_has_let_in_runs_on_with_its_workload(stage: Stage) -> None:
    stage.serve()
    await stage.add(definition(LEADER_WORKER_SET))
    pods = Pods(stage)
    both = {"leaderTemplate": template(**SMALL), "workerTemplate": template(**SMALL), "size": 2}
    found = await served(stage, LEADER_SETS, "l", {"replicas": 1, "leaderWorkerTemplate": both})
    await grouped(found, 0, "leader")
    await grouped(found, 0, "worker")
    await pods.until(lambda: pods.phase("l-0") == pods.phase("l-0-1") == "Running")
    name = workload_of(pods)
    uids = {one: pods.of(one)["metadata"]["uid"] for one in ("l-0", "l-0-1")}
    await stopped(stage.tasks.pop())
    another = NatsServer(stage.folder / "another")
    await another.start()
    bus = await connect_bus(another.url)
    stage.ports = msgspec.structs.replace(stage.ports, bus=bus)
    stage.serve()
    await found.drop("l-0-1")
    await pods.until(lambda: not pods.of("l-0-1"))
    await grouped(found, 0, "worker")
    await pods.until(lambda: pods.phase("l-0-1") == "Running")
    assert pods.of("l-0")["metadata"]["uid"] == uids["l-0"] and workload_of(pods) == name
    await stopped(stage.tasks.pop())
    await bus.close()
    await another.stop()


GROUP, PREBUILT = "pod-group-name", "prebuilt-workload-name"
GROUPED = {"managed": "true", "queue-name": "team", "pod-group-total-count": "2"}


def handed_over(pod: JsonObject) -> dict[str, str]:
    """What Kueue's manager reads of a pod to find its workload, without the prefix."""
    meta = pod["metadata"]
    every = {**meta["labels"], **meta["annotations"]}
    short = {name.removeprefix("kueue.x-k8s.io/"): text for name, text in every.items()}
    return {name: short.get(name, "") for name in (*GROUPED, "role-hash", GROUP, PREBUILT)}


async def grouped(found: Serving, index: int, role: str) -> None:
    """A pod as the controller of LeaderWorkerSets makes it."""
    labels = {"leaderworkerset.sigs.k8s.io/name": "l", "leaderworkerset.sigs.k8s.io/group-index": str(index)}
    at = ("spec", "leaderWorkerTemplate", f"{role}Template")
    if role == "worker":
        await found.pod(f"l-{index}-1", at, labels, {"leaderworkerset.sigs.k8s.io/leader-name": f"l-{index}"})
    else:
        await found.pod(f"l-{index}", at, labels)


def all_of(pods: Pods) -> list[JsonObject]:
    return list(pods.workloads().values())


async def test_a_stateful_set_whose_workload_is_deleted_is_let_in_anew(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    found = await served(stage, SETS, "s", stateful(1, **SMALL))
    await found.pods(0)
    await pods.until(lambda: pods.phase("s-0") == "Running")
    name, uid = workload_of(pods), pods.workloads()[workload_of(pods)]["metadata"]["uid"]
    await stage.client.delete(WORKLOADS, "default", name)
    await pods.until(lambda: not pods.of("s-0"))
    await found.pods(0)
    await pods.until(lambda: pods.phase("s-0") == "Running")
    assert pods.workloads()[name]["metadata"]["uid"] != uid


@pytest.mark.parametrize("made_by", ["statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"])
async def test_a_pod_that_names_no_queue_waits_at_the_gate_if_something_that_serves_has_made_it(
    stage: Stage, made_by: str
) -> None:
    stage.serve()
    made, alone = pod("made"), pod("alone")
    for one in (made, alone):
        del one["metadata"]["labels"]
    made["metadata"]["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] = made_by
    assert is_gated(await stage.client.create(PODS, "default", made))
    assert not is_gated(await stage.client.create(PODS, "default", alone))
