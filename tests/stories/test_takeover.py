"""The real manager of Kueue takes over from kuelog and gives back while jobs and pods run: nothing of them is stopped."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from events.api.labels import ELASTIC_JOB, RUN_SECONDS
from events.json_object import JsonObject
from events.json_path import look
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Running
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pods import is_gated
from services.jobs.kinds.table import JOB, LEADER_WORKER_SET, STATEFUL_SET
from services.jobs.workload_name import workload_name
from tests.conftest import ABSENT, ASSETS
from tests.ops.cli.test_adopt import Left, until
from tests.ops.production.deploy.small_cluster import job, platform
from tests.stage.api_server import ApiServer
from tests.stage.cluster import PODS, end_pods
from tests.stage.definitions import definitions_of
from tests.stage.installation import Installation
from tests.stage.kueue_manager import KueueManager, program
from tests.stage.real import Real
from tests.stories.job_samples import definition

JOBS, STATEFUL_SETS, LEADER_WORKER_SETS = (resource_of(one) for one in (JOB, STATEFUL_SET, LEADER_WORKER_SET))
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
LONG = {RUN_SECONDS: "1000000"}
_KUEUE = "kueue.x-k8s.io/"


def pod(name: str, group: str = "") -> JsonObject:
    labels, notes = dict(QUEUE), dict(LONG)
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = "2"
    meta = {"name": name, "namespace": "team", "labels": labels, "annotations": notes}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
    }


def stateful_set(name: str, replicas: int = 2) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": LONG}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": name, "namespace": "team", "labels": QUEUE}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def grouped_by_template(name: str) -> JsonObject:
    """A StatefulSet whose template names its group, as an earlier kuelog and Kueue up to 0.16 left it."""
    value = stateful_set(name)
    meta = value["spec"]["template"]["metadata"]
    group = workload_name("StatefulSet", "apps", name, "")
    meta["labels"] = {**meta["labels"], **QUEUE, f"{_KUEUE}managed": "true", f"{_KUEUE}pod-group-name": group}
    notes = {
        "pod-suspending-parent": "statefulset",
        "pod-group-total-count": "2",
        "pod-group-fast-admission": "true",
        "pod-group-serving": "true",
        "role-hash": "main",
        "pod-group-pod-index-label": "apps.kubernetes.io/pod-index",
    }
    meta["annotations"] = {**meta["annotations"], **{f"{_KUEUE}{note}": text for note, text in notes.items()}}
    return value


def leader_worker_set(name: str) -> JsonObject:
    template = {"metadata": {"annotations": LONG}, "spec": {"containers": [CONTAINER]}}
    both = {"leaderTemplate": template, "workerTemplate": template, "size": 2}
    meta = {"name": name, "namespace": "team", "labels": QUEUE}
    spec = {"replicas": 1, "leaderWorkerTemplate": both, "rolloutStrategy": {"type": "RollingUpdate"}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": meta, "spec": spec}


class Handed(Left):
    """A cluster that is handed to and fro."""

    def pod(self, name: str) -> JsonObject:
        return self.cluster.get("pods", ("team", name)) or {}

    def run(self, *names: str) -> bool:
        return all(look(self.pod(one), "status.phase") == "Running" for one in names)

    def ready(self, name: str) -> int:
        return int(look(self.cluster.get("jobs.batch", ("team", name)) or {}, "status.ready") or 0)

    def workload(self, owner: str) -> JsonObject:
        found = self.cluster.of("workloads.kueue.x-k8s.io").values()
        mine = (one for one in found if owner in {own["name"] for own in one["metadata"].get("ownerReferences") or ()})
        return next(mine, {})

    def told(self, owner: str, kind: str) -> str:
        return str((look(self.workload(owner), f"status.conditions[{kind}]") or {}).get("status", ""))

    def standing(self) -> dict[str, str]:
        """The UIDs of all pods that run, and of the Workloads that let them."""
        pods = [one for one in self.cluster.of("pods").values() if look(one, "status.phase") == "Running"]
        workloads = [
            one for one in self.cluster.of("workloads.kueue.x-k8s.io").values() if look(one, "status.admission")
        ]
        return {f"{one['kind']} {one['metadata']['name']}": one["metadata"]["uid"] for one in (*pods, *workloads)}

    def shown(self) -> dict[str, JsonObject]:
        """By name, the flavors of what holds quota, as the objects show it."""
        found = self.cluster.of("workloads.kueue.x-k8s.io").values()
        return {
            one["metadata"]["name"]: look(one, "status.admission")["podSetAssignments"][0]["flavors"]
            for one in found
            if look(one, "status.admission") and not look(one, "status.conditions[Finished]")
        }

    def held(self, running: Running) -> dict[str, JsonObject]:
        """The same as the log has it."""
        workloads = running.hosts["LOG_0"].fold.world.workloads.values()
        return {
            one.name: dict(one.admission.assignments[0].flavors)
            for one in workloads
            if one.admission is not None and not one.finished
        }

    def named(self, owner: str) -> list[str]:
        """The Workloads that something owns."""
        found = self.cluster.of("workloads.kueue.x-k8s.io").values()
        owners = {
            one["metadata"]["name"]: {own["name"] for own in one["metadata"].get("ownerReferences") or ()}
            for one in found
        }
        return sorted(name for name, those in owners.items() if owner in those)

    async def part(self, of: str, name: str) -> None:
        """A pod of the first group of a LeaderWorkerSet, as that's controller makes it."""
        made = await self.client.get(LEADER_WORKER_SETS, "team", of)
        led = name != f"{of}-0"
        template = made["spec"]["leaderWorkerTemplate"]["workerTemplate" if led else "leaderTemplate"]
        meta = template["metadata"]
        of_set = "leaderworkerset.sigs.k8s.io/"
        labels = {**(meta.get("labels") or {}), f"{of_set}name": of, f"{of_set}group-index": "0"}
        notes = {**meta["annotations"], f"{of_set}size": "2", **({f"{of_set}leader-name": f"{of}-0"} if led else {})}
        about = {"name": name, "namespace": "team", "labels": labels, "annotations": notes}
        await self.client.create(
            PODS, "team", {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": template["spec"]}
        )

    async def end(self, name: str) -> None:
        await self.client.merge(PODS, "team", name, {"metadata": {"annotations": {RUN_SECONDS: "0"}}})


@pytest.fixture
async def handed(tmp_path: Path, clock: ScaledClock) -> AsyncIterator[tuple[Handed, Installation]]:
    """An API server of its own: what is installed on it changes hands."""
    assets = os.environ.get(ASSETS)
    if not assets:
        pytest.skip(ABSENT)
    async with AsyncExitStack() as stack:
        server = ApiServer(Path(assets), tmp_path / "server")
        stack.callback(server.stop)
        server.start()
        installation = Installation(server.kubeconfig, tmp_path, server=server)
        stack.callback(installation.stop)
        cluster, bus = Real(installation, clock), NatsServer(tmp_path / "nats")
        stack.push_async_callback(cluster.stop)
        await cluster.start()
        client = await cluster.connect("")
        stack.push_async_callback(client.close)
        stack.push_async_callback(bus.stop)
        await bus.start()
        for value in platform(12):
            await cluster.add(value)
        yield Handed(cluster, client, bus, clock), installation


@pytest.fixture
async def kueue(tmp_path: Path, handed: tuple[Handed, Installation]) -> AsyncIterator[KueueManager]:
    found, installation = handed
    gates = {"ElasticJobsViaWorkloadSlices": True}
    manager = KueueManager(program(), found.cluster.kubeconfig, tmp_path, gates=gates)
    yield manager
    await manager.stop()
    await manager.uninstall(found.client)
    await installation.convert(found.client)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("log", ["its own", "fresh"])
async def test_what_runs_goes_on_when_kueue_takes_over_and_when_it_gives_back(
    handed: tuple[Handed, Installation], kueue: KueueManager, tmp_path: Path, log: str
) -> None:
    found, installation = handed
    cluster, definitions = found.cluster, definitions_of("kueue")
    serves = installation.server is not None and installation.server.has("kube-controller-manager")
    async with found.serving():
        for value in (job("runs", pods=2, seconds=1000000), pod("alone"), pod("a", "g"), pod("b", "g")):
            await cluster.add(value)
        if serves:
            await found.client.create(STATEFUL_SETS, "team", stateful_set("s"))
            await found.client.create(STATEFUL_SETS, "team", grouped_by_template("older"))
            await cluster.until(lambda: found.run("older-0", "older-1"))
        else:
            for name in ("s", "older"):
                await cluster.add(job(name, pods=2, seconds=1000000))
        await cluster.until(lambda: found.ready("runs") == 2 and found.run("alone", "a", "b"))
        await cluster.until(lambda: found.run("s-0", "s-1") if serves else found.ready("s") == 2)
        for name in ("low", "waits"):
            await cluster.add(job(name, pods=3, seconds=1000000))
            await cluster.until(lambda one=name: bool(found.told(one, "QuotaReserved")))
        await cluster.until(lambda: found.ready("low") == 3)
        await cluster.add(job("high", pods=3, priority="high", seconds=1000000))
        await cluster.until(lambda: found.ready("high") == 3 and found.told("low", "Requeued") == "True")
        await cluster.until(lambda: found.told("high", "Admitted") == "True")
    ran = found.standing()

    await installation.spare_webhooks(found.client)
    await kueue.install(found.client, definitions)
    await kueue.start(found.client, definitions)
    await found.end("alone")
    await end_pods(cluster, found.client, "team", "high")
    # Which of both comes first is said by seconds, and they may be of the same.
    await cluster.until(lambda: 3 in (found.ready("low"), found.ready("waits")))
    now = found.standing()
    over = ("Pod alone", "Pod high", "Workload pod-alone", "Workload job-high")
    kept = {one: uid for one, uid in ran.items() if not one.startswith(over)}
    assert {one: now.get(one) for one in kept} == kept
    assert all(found.told(one, "Evicted") != "True" for one in ("runs", "a", "s", "older"))

    came, comes = ("low", "waits") if found.ready("low") else ("waits", "low")
    await end_pods(cluster, found.client, "team", came)
    await cluster.until(lambda: found.ready(comes) == 3)
    await cluster.add(pod("later"))
    await cluster.until(lambda: found.run("later") and found.told("later", "Admitted") == "True")
    await cluster.add(pod("last"))
    await cluster.until(lambda: found.told("last", "QuotaReserved") == "False")
    ran = found.standing()
    await kueue.stop()
    await kueue.uninstall(found.client)
    await installation.convert(found.client)
    await installation.ask_webhooks(found.client)

    if log == "fresh":
        await found.server.stop()
        found.server = NatsServer(tmp_path / "another")
        await found.server.start()
        told = await found.look(found.server.url)
        assert told.recorded and not told.blocked, told.differences
    async with found.serving() as running:
        await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
        await running.quiet()
        await cluster.until(lambda: found.told("last", "QuotaReserved") == "False")
        now = found.standing()
        assert {one: now.get(one) for one in ran} == ran
        assert found.held(running) == found.shown(), "what Kueue has let in is known, and counts where Kueue put it"
        await end_pods(cluster, found.client, "team", comes)
        await cluster.until(lambda: found.run("last") and found.told(comes, "Finished") == "True")
        now = found.standing()
        kept = {one: uid for one, uid in ran.items() if f" {comes}" not in one and f"job-{comes}" not in one}
        assert {one: now.get(one) for one in kept} == kept


@pytest.mark.timeout(600)
async def test_a_stateful_set_of_kueue_is_scaled_and_made_anew_in_part_and_goes_on_when_it_is_given_back(
    handed: tuple[Handed, Installation], kueue: KueueManager
) -> None:
    found, installation = handed
    cluster, definitions = found.cluster, definitions_of("kueue")
    if installation.server is None or not installation.server.has("kube-controller-manager"):
        pytest.skip("nobody makes the pods of a StatefulSet: its controller is not there")
    await installation.spare_webhooks(found.client)
    await kueue.install(found.client, definitions)
    await kueue.start(found.client, definitions)
    made = await found.client.create(STATEFUL_SETS, "team", stateful_set("s"))
    assert f"{_KUEUE}pod-group-name" not in made["spec"]["template"]["metadata"]["labels"]
    await cluster.until(lambda: found.run("s-0", "s-1"))
    await found.client.create(STATEFUL_SETS, "team", stateful_set("waits", 11))
    await cluster.until(lambda: bool(found.pod("waits-0")) and found.told("waits", "QuotaReserved") == "False")
    ran, names, waited = found.standing(), (found.named("s"), found.named("waits")), found.pod("waits-0")
    await kueue.stop()
    await kueue.uninstall(found.client)
    await installation.convert(found.client)
    await installation.ask_webhooks(found.client)

    told = await found.look(found.server.url)
    assert told.recorded and not told.blocked and {one.code for one in told.differences} <= {"UsageDiffers"}
    async with found.serving() as running:
        await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
        await running.quiet()
        assert found.standing() == ran and (found.named("s"), found.named("waits")) == names
        assert found.held(running) == found.shown()
        await found.client.delete(PODS, "team", "s-1", at_once=True)
        await cluster.until(lambda: found.run("s-1") and found.pod("s-1")["metadata"]["uid"] != ran["Pod s-1"])
        for queue in ("elsewhere", "lq"):
            moved = {"metadata": {"labels": {f"{_KUEUE}queue-name": queue}}}
            await found.client.merge(STATEFUL_SETS, "team", "waits", moved)
            await cluster.until(lambda one=queue: found.workload("waits")["spec"]["queueName"] == one)
        await found.client.merge(STATEFUL_SETS, "team", "s", {"spec": {"replicas": 0}})
        await cluster.until(lambda: found.told("s", "QuotaReserved") == "False" and not found.pod("s-0"))
        await cluster.until(lambda: found.run(*(f"waits-{number}" for number in range(11))))
        assert found.pod("waits-0")["metadata"]["uid"] == waited["metadata"]["uid"], "another queue made no pod anew"
        await found.client.merge(STATEFUL_SETS, "team", "waits", {"spec": {"replicas": 0}})
        await cluster.until(lambda: found.told("waits", "QuotaReserved") == "False" and not found.pod("waits-0"))
        await found.client.merge(STATEFUL_SETS, "team", "s", {"spec": {"replicas": 3}})
        await cluster.until(lambda: found.run("s-0", "s-1", "s-2"))
        assert found.named("s") == names[0]
    ran = found.standing()

    await installation.spare_webhooks(found.client)
    await kueue.install(found.client, definitions)
    await kueue.start(found.client, definitions)
    await cluster.add(pod("later"))
    await cluster.until(lambda: found.run("later") and found.told("later", "Admitted") == "True")
    now = found.standing()
    assert {one: now.get(one) for one in ran} == ran and found.named("s") == names[0]
    await found.client.delete(PODS, "team", "s-2", at_once=True)
    await cluster.until(lambda: found.run("s-2") and found.pod("s-2")["metadata"]["uid"] != ran["Pod s-2"])
    now = found.standing()
    assert {one: now.get(one) for one in ran if one != "Pod s-2"} == {
        one: uid for one, uid in ran.items() if one != "Pod s-2"
    }


@pytest.mark.timeout(600)
async def test_a_group_of_a_leader_worker_set_goes_on_when_kueue_takes_over_and_when_it_gives_back(
    handed: tuple[Handed, Installation], tmp_path: Path
) -> None:
    found, installation = handed
    cluster, definitions = found.cluster, definitions_of("kueue")
    manager = KueueManager(program(), cluster.kubeconfig, tmp_path, LEADER_WORKER_SET.name)
    await cluster.add(definition(LEADER_WORKER_SET))
    async with found.serving():
        await found.client.create(LEADER_WORKER_SETS, "team", leader_worker_set("l"))
        for name in ("l-0", "l-0-1"):
            await found.part("l", name)
        await cluster.until(lambda: found.run("l-0", "l-0-1"))
        await cluster.until(lambda: found.told("l", "Admitted") == "True")
    ran, names = found.standing(), found.named("l")

    await installation.spare_webhooks(found.client)
    await manager.install(found.client, definitions)
    try:
        await manager.start(found.client, definitions)
        await cluster.add(pod("later"))
        await cluster.until(lambda: found.run("later") and found.told("later", "Admitted") == "True")
        assert {one: found.standing().get(one) for one in ran} == ran and found.named("l") == names
        await found.client.delete(PODS, "team", "l-0-1", at_once=True)
        await cluster.until(lambda: not found.pod("l-0-1"))
        await found.part("l", "l-0-1")
        assert is_gated(await found.client.get(PODS, "team", "l-0-1"))
        await cluster.until(lambda: found.run("l-0-1"))
        ran = found.standing()
    finally:
        await manager.stop()
        await manager.uninstall(found.client)
        await installation.convert(found.client)
    await installation.ask_webhooks(found.client)
    async with found.serving() as running:
        await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
        await running.quiet()
        assert {one: found.standing().get(one) for one in ran} == ran and found.named("l") == names
        assert found.held(running) == found.shown()


def elastic(name: str, pods: int) -> JsonObject:
    found = job(name, pods=pods, seconds=1000000)
    found["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    del found["spec"]["completions"]
    return found


def slices(found: Handed, name: str) -> list[JsonObject]:
    """The Workloads of an elastic job that are not over."""
    return [
        one
        for one in found.cluster.of("workloads.kueue.x-k8s.io").values()
        if name in {own["name"] for own in one["metadata"].get("ownerReferences") or ()}
        and look(one, "status.conditions[Finished].status") != "True"
    ]


async def resize(found: Handed, name: str, pods: int) -> None:
    await found.client.merge(JOBS, "team", name, {"spec": {"parallelism": pods}})


def pods_of(found: Handed, name: str) -> dict[str, str]:
    """By name, the UIDs of the pods of a job that run."""
    return {
        one["metadata"]["name"]: one["metadata"]["uid"]
        for one in found.cluster.of("pods").values()
        if name in {own["name"] for own in one["metadata"].get("ownerReferences") or ()}
        and look(one, "status.phase") == "Running"
    }


@pytest.mark.timeout(600)
async def test_elastic_jobs_run_on_in_the_slices_that_kueue_has_made_and_go_on_growing(
    handed: tuple[Handed, Installation], kueue: KueueManager
) -> None:
    found, installation = handed
    cluster = found.cluster
    await installation.spare_webhooks(found.client)
    await kueue.install(found.client, definitions_of("kueue"))
    await kueue.start(found.client, definitions_of("kueue"))
    for name, pods in (("grown", 1), ("wants", 3), ("fewer", 3)):
        await cluster.add(elastic(name, pods))
        await cluster.until(lambda one=name, many=pods: found.ready(one) == many)
    await resize(found, "grown", 2)
    await cluster.until(lambda: found.ready("grown") == 2)
    await resize(found, "fewer", 2)
    await cluster.until(lambda: len(pods_of(found, "fewer")) == 2)
    await cluster.add(job("other", pods=4, seconds=1000000))
    await cluster.until(lambda: found.ready("other") == 4)
    await resize(found, "wants", 5)
    await cluster.until(lambda: len(slices(found, "wants")) == 2)
    ran = {name: pods_of(found, name) for name in ("grown", "wants", "fewer", "other")}
    assert [len(one) for one in ran.values()] == [2, 3, 2, 4]
    await kueue.stop()
    await kueue.uninstall(found.client)
    await installation.convert(found.client)
    await installation.ask_webhooks(found.client)

    async with found.serving() as running:
        await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
        await running.quiet()
        assert {name: pods_of(found, name) for name in ran} == ran
        assert [len(slices(found, name)) for name in ("grown", "wants", "fewer")] == [1, 2, 1]
        held = sum(
            one.admission.assignments[0].count
            for one in running.hosts["LOG_0"].fold.world.workloads.values()
            if one.reserved
        )
        assert held == 11, "what Kueue has let in counts, and of who has become smaller what is left"
        await end_pods(cluster, found.client, "team", "other")
        await cluster.until(lambda: found.ready("wants") == 5 and len(slices(found, "wants")) == 1)
        await resize(found, "grown", 1)
        await cluster.until(lambda: len(pods_of(found, "grown")) == 1)
        await resize(found, "fewer", 3)
        await cluster.until(lambda: found.ready("fewer") == 3)
        for name in ("wants", "fewer"):
            assert ran[name].items() <= pods_of(found, name).items(), "pods that ran run on"
        for name in ("grown", "wants", "fewer"):
            await found.client.delete(JOBS, "team", name)
        await cluster.until(lambda: not any(slices(found, name) for name in ("grown", "wants", "fewer")))
