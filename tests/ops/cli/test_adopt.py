"""A cluster that Kueue leaves behind: its objects as Kueue writes them, its jobs running; kuelog goes on from there."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.cli.adopt import Adopted, LogInUse, adopted
from ops.cli.main import app
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.applier.writing import WORKLOADS
from services.jobs.workload_name import workload_name
from services.runtime.own_task import stopped
from tests.ops.production.deploy.small_cluster import KUEUE, job, platform
from tests.stage.cluster import Cluster, end_pods
from tests.stage.stage import CLUSTER_QUEUES, JOBS

Make = Callable[..., Cluster]
SINCE = "2026-01-01T00:00:00Z"
HELD = "kueue.x-k8s.io/resource-in-use"


class Left:
    """What Kueue has left: nobody suspends jobs here but for whoever makes them so."""

    def __init__(self, cluster: Cluster, client: KubeClient, server: NatsServer, clock: ScaledClock) -> None:
        self.cluster, self.client, self.server, self.clock = cluster, client, server, clock

    async def look(self, nats: str = "") -> Any:
        return await adopted(str(self.cluster.kubeconfig), "", nats, SettingsObserved())

    def spec_of(self, name: str) -> JsonObject:
        return (self.cluster.get("jobs.batch", ("team", name)) or {})["spec"]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Running]:
        """All services, on the rights that they are installed with."""
        async with AsyncExitStack() as opened:
            bus = await connect_bus(self.server.url)
            opened.push_async_callback(bus.close)
            clients: list[KubeClient] = []
            for service in ("watcher", "applier"):
                clients.append(await self.cluster.connect(service))
                opened.push_async_callback(clients[-1].close)
            watcher, applier = clients
            running = Running(Ports(bus=bus, reader=Reflector(watcher), writer=applier, clock=self.clock))
            task = asyncio.create_task(running.run())
            opened.push_async_callback(stopped, task)
            yield running

    async def started_by_kueue(self, name: str, *, cpus: int = 1, seconds: int = 3600) -> JsonObject:
        """A running Job, with the flavor's node selector injected, and its Workload as Kueue has written it."""
        value = job(name, cpus=cpus, seconds=seconds, suspend=False)
        value["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "a"}
        value["spec"]["template"]["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
        value["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = f"job-{name}"
        await self.cluster.add(value)
        return await self.workload_of(name, cpus=cpus, admitted=True)

    async def workload_of(self, name: str, *, cpus: int, admitted: bool) -> JsonObject:
        uid = (await self.client.get(JOBS, "team", name))["metadata"]["uid"]
        key = workload_name("Job", "batch", name, uid)
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
        meta = {"labels": {"kueue.x-k8s.io/job-uid": uid}, "finalizers": [HELD], "ownerReferences": [owner]}
        await self.cluster.add(
            {
                "apiVersion": KUEUE,
                "kind": "Workload",
                "metadata": {"name": key, "namespace": "team", **meta},
                "spec": {
                    "queueName": "lq",
                    "active": True,
                    "priority": 0,
                    "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
                },
            }
        )
        assignment = {"name": "main", "count": 1, "flavors": {"cpu": "a"}, "resourceUsage": {"cpu": str(cpus)}}
        status: JsonObject = {"conditions": [condition("QuotaReserved", true=False, reason="WaitingForQuota")]}
        if admitted:
            status = {
                "conditions": [condition(one) for one in ("QuotaReserved", "Admitted", "PodsReady")],
                "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]},
            }
        return await self.client.merge(WORKLOADS, "team", key, {"status": status}, subresource="status")

    async def show_reserved(self, cpus: int) -> None:
        """The status of the queue as Kueue has left it."""
        use = [{"name": "a", "resources": [{"name": "cpu", "total": str(cpus), "borrowed": "0"}]}]
        status = {"flavorsReservation": use, "flavorsUsage": use, "pendingWorkloads": 1}
        await self.client.merge(CLUSTER_QUEUES, "", "cq", {"status": status}, subresource="status")


@asynccontextmanager
async def left(
    make: Make, folder: Path, clock: ScaledClock, *, controllers: bool = True, cpus: int = 2
) -> AsyncGenerator[Left]:
    async with AsyncExitStack() as opened:
        cluster, server = make(webhooks=False, controllers=controllers), NatsServer(folder / "nats")
        opened.push_async_callback(cluster.stop)
        await cluster.start()
        client = await cluster.connect("")
        opened.push_async_callback(client.close)
        for value in platform(cpus):
            await cluster.add(value)
        opened.push_async_callback(server.stop)
        await server.start()
        yield Left(cluster, client, server, clock)


def condition(kind: str, *, true: bool = True, reason: str = "") -> JsonObject:
    return {
        "type": kind,
        "status": "True" if true else "False",
        "reason": reason or kind,
        "message": f"{kind} by Kueue",
        "lastTransitionTime": SINCE,
        "observedGeneration": 1,
    }


async def until(true: Any, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - the services are looked at from outside
            await asyncio.sleep(0.02)


async def test_what_runs_goes_on_counts_and_makes_the_next_one_wait(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        cluster = found.cluster
        runs = [await found.started_by_kueue("first"), await found.started_by_kueue("second")]
        await cluster.add(job("third", suspend=True))
        waits = await found.workload_of("third", cpus=1, admitted=False)
        await found.show_reserved(2)
        await cluster.until(lambda: len(cluster.of("pods")) == 2)
        pods = {one["metadata"]["uid"] for one in cluster.of("pods").values()}

        told = await found.look(found.server.url)
        assert told.recorded and told.differences == []
        assert (told.queues, told.workloads, told.admitted, told.running) == (1, 3, 2, 2)

        async with found.serving() as running:
            await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
            await until(lambda: "LOG_0" in running.hosts)
            await running.quiet()
            world = running.hosts["LOG_0"].fold.world
            keys = {f"team/{one['metadata']['name']}" for one in runs}
            assert {key for key in keys if world.workloads[key].admitted} == keys
            third = world.workloads[f"team/{waits['metadata']['name']}"]
            assert third.admission is None and third.conditions["QuotaReserved"].reason != ""
            assert not found.spec_of("first")["suspend"] and not found.spec_of("second")["suspend"]
            assert found.spec_of("third")["suspend"]
            assert pods <= {one["metadata"]["uid"] for one in cluster.of("pods").values()}, "no pod was stopped"
            now = await found.client.get(WORKLOADS, "team", runs[0]["metadata"]["name"])
            assert now["status"] == runs[0]["status"], "Kueue's word stands"

            await end_pods(cluster, found.client, "team", "second")
            await cluster.until(lambda: not found.spec_of("third")["suspend"])
            assert any(
                one["type"] == "Complete"
                for one in (cluster.get("jobs.batch", ("team", "second")) or {})["status"]["conditions"]
            ), "the third runs once the second has ended, not before"
            assert found.spec_of("third")["template"]["spec"]["nodeSelector"] == {"pool": "a"}


async def test_services_that_are_started_without_adoption_stop_nothing_either(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        cluster = found.cluster
        await found.started_by_kueue("first", cpus=2)
        await cluster.until(lambda: len(cluster.of("pods")) == 1)
        async with found.serving() as running:
            await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
            await asyncio.sleep(0.3)
            await running.quiet()
            assert not found.spec_of("first")["suspend"]
            await cluster.add({**job("high", cpus=2, priority="high", suspend=True)})
            await cluster.until(lambda: found.spec_of("first")["suspend"] and not found.spec_of("high")["suspend"])
            await cluster.until(lambda: not found.spec_of("first")["template"]["spec"].get("nodeSelector"))


async def test_a_job_that_would_be_stopped_blocks_and_nothing_is_recorded(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock, controllers=False) as found:
        await found.cluster.add(job("stray", suspend=False))
        told = await found.look(found.server.url)
        assert not told.recorded and told.blocked
        (one,) = told.differences
        assert (one.code, one.object) == ("RunsWithoutAdmission", "Job/team/stray")
        bus = await connect_bus(found.server.url)
        assert (await (await bus.stream("FACTS")).last()).sequence == 0
        await bus.close()


def manager() -> list[JsonObject]:
    """Kueue's own, as it is installed."""
    labels = {"app": "kueue"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "kueue"}]}}
    service = {"name": "kueue-webhook-service", "namespace": "kueue-system"}
    webhook = {"name": "mjob.kb.io", "clientConfig": {"service": service}, "failurePolicy": "Ignore"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "kueue-mutating-webhook-configuration"},
            "webhooks": [{**webhook, "sideEffects": "None", "admissionReviewVersions": ["v1"]}],
        },
    ]


async def test_a_manager_that_runs_blocks_and_what_differs_is_named(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock, controllers=False) as found:
        for value in manager():
            await found.cluster.add(value)
        workload = await found.started_by_kueue("first")
        owner = {"apiVersion": "x/v1", "kind": "Strange", "name": "s", "uid": "u", "controller": True}
        meta = {"name": "raygroup", "namespace": "team", "ownerReferences": [owner]}
        await found.cluster.add({**workload, "metadata": meta})
        await found.show_reserved(2)
        told = await found.look()
        assert [(one.code, one.blocks) for one in told.differences] == [
            ("KueueRuns", True),
            ("KueueIsAsked", False),
            ("OwnerUnknown", False),
            ("UsageDiffers", False),
        ]
        (usage,) = [one for one in told.differences if one.code == "UsageDiffers"]
        assert "Kueue shows 2 reserved, here it is 1" in usage.what


async def test_a_log_with_decisions_is_not_adopted_on(cluster_with: Make, tmp_path: Path, clock: ScaledClock) -> None:
    async with left(cluster_with, tmp_path, clock, controllers=False) as found:
        bus = await connect_bus(found.server.url)
        await (await bus.stream("LOG_0")).append("kuelog.log.0.admitter", b"{}", message_id="m", base=0)
        await bus.close()
        with pytest.raises(LogInUse):
            await found.look(found.server.url)


async def test_for_programs_and_for_people(cluster_with: Make, tmp_path: Path, clock: ScaledClock) -> None:
    async with left(cluster_with, tmp_path, clock, controllers=False) as found:
        await found.cluster.add(job("stray", suspend=False))
        words = ["adopt", "--kubeconfig", str(found.cluster.kubeconfig), "--dry-run"]
        told = await asyncio.to_thread(CliRunner().invoke, app, [*words, "-o", "json"])
        assert told.exit_code == 1
        assert json.loads(told.stdout)["differences"][0]["code"] == "RunsWithoutAdmission"
        told = await asyncio.to_thread(CliRunner().invoke, app, words)
        assert "blocks Job/team/stray" in told.stdout and "nothing was recorded" in told.stdout


@pytest.mark.parametrize(
    ("text", "is_told"), [("{}", True), (None, True), ("integrations: {frameworks: [batch/job, pod]}", False)]
)
def test_it_is_told_that_all_kinds_are_managed_where_kueue_managed_jobs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, is_told: bool
) -> None:
    async def nothing_found(*_: object) -> Adopted:
        return Adopted(recorded=False, queues=0, workloads=0, admitted=0, running=0, facts=0, differences=[])

    monkeypatch.setattr("ops.cli.adopt.adopted", nothing_found)
    words = ["adopt", "--dry-run"]
    if text is not None:
        (tmp_path / "c.yaml").write_text(text)
        words += ["--config", str(tmp_path / "c.yaml")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0
    said = "integrations.frameworks names no kinds of jobs: Kueue manages only batch/job then, kuelog all that it knows"
    assert (said in told.output) is ("Name [batch/job] there" in told.output) is is_told
