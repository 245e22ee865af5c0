"""A cluster that Kueue leaves behind: its objects as Kueue writes them, its jobs running; kuelog goes on from there."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from events.settings import SettingsObserved
from ops.cli.adopt import LogInUse, adopted
from ops.cli.main import app
from ops.cluster.clock import ScaledClock
from ops.cluster.embedded import EmbeddedCluster
from ops.crds.definitions import manifests
from ops.kube.client import connect
from ops.kube.reflector import Reflector
from ops.log.jetstream import connect as connect_bus
from ops.log.server import NatsServer
from ops.wiring import Ports, Running, stopped
from services.watcher.jobs import workload_name
from tests.ops.deploy.small_cluster import KUEUE, job, platform

Plain = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"
HELD = "kueue.x-k8s.io/resource-in-use"


def kueue_cluster(folder: Path, *, cpus: int = 2, controllers: bool = True) -> EmbeddedCluster:
    """What Kueue has left: nobody suspends jobs here but for whoever makes them so."""
    found = EmbeddedCluster(
        clock=ScaledClock(20.0), kubeconfig=folder / "kubeconfig", mutators=(), controllers=controllers
    )
    for one in (*manifests(), *platform(cpus)):
        found.add(one)
    return found


def condition(kind: str, *, true: bool = True, reason: str = "") -> Plain:
    return {
        "type": kind,
        "status": "True" if true else "False",
        "reason": reason or kind,
        "message": f"{kind} by Kueue",
        "lastTransitionTime": SINCE,
        "observedGeneration": 1,
    }


def started_by_kueue(embedded: EmbeddedCluster, name: str, *, cpus: int = 1, seconds: int = 3600) -> Plain:
    """A running Job, with the flavor's node selector injected, and its Workload as Kueue has written it."""
    value = job(name, cpus=cpus, seconds=seconds, suspend=False)
    value["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "a"}
    value["spec"]["template"]["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
    value["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = f"job-{name}"
    embedded.add(value)
    return workload_of(embedded, name, cpus=cpus, admitted=True)


def workload_of(embedded: EmbeddedCluster, name: str, *, cpus: int, admitted: bool) -> Plain:
    made = embedded.store.get("jobs.batch", ("team", name))
    assert made is not None
    uid = made["metadata"]["uid"]
    key = workload_name("Job", "batch", name, uid)
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}
    embedded.add(
        {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {
                "name": key,
                "namespace": "team",
                "labels": {"kueue.x-k8s.io/job-uid": uid},
                "finalizers": [HELD],
                "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
                ],
            },
            "spec": {
                "queueName": "lq",
                "active": True,
                "priority": 0,
                "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
            },
        }
    )
    kind = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "workloads")
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "a"}, "resourceUsage": {"cpu": str(cpus)}}
    status: Plain = {"conditions": [condition("QuotaReserved", true=False, reason="WaitingForQuota")]}
    if admitted:
        status = {
            "conditions": [condition(one) for one in ("QuotaReserved", "Admitted", "PodsReady")],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]},
        }
    return embedded.resources.update(kind, ("team", key), {"metadata": {}, "status": status}, subresource="status")


def shown_reserved(embedded: EmbeddedCluster, cpus: int) -> None:
    """The status of the queue as Kueue has left it."""
    kind = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    use = [{"name": "a", "resources": [{"name": "cpu", "total": str(cpus), "borrowed": "0"}]}]
    status = {"flavorsReservation": use, "flavorsUsage": use, "pendingWorkloads": 1}
    embedded.resources.update(kind, ("", "cq"), {"metadata": {}, "status": status}, subresource="status")


@asynccontextmanager
async def left(folder: Path, **more: Any) -> AsyncIterator[tuple[EmbeddedCluster, NatsServer]]:
    embedded, server = kueue_cluster(folder, **more), NatsServer(folder / "nats")
    await embedded.start()
    await server.start()
    try:
        yield embedded, server
    finally:
        await server.stop()
        await embedded.stop()


async def look(folder: Path, nats: str = "") -> Any:
    return await adopted(str(folder / "kubeconfig"), "", nats, SettingsObserved())


def spec_of(embedded: EmbeddedCluster, name: str) -> Plain:
    return (embedded.store.get("jobs.batch", ("team", name)) or {})["spec"]


async def until(true: Any, seconds: float = 40) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - the cluster is looked at as a user would
            await asyncio.sleep(0.02)


async def test_what_runs_goes_on_counts_and_makes_the_next_one_wait(tmp_path: Path) -> None:
    async with left(tmp_path) as (embedded, server):
        runs = [started_by_kueue(embedded, "first"), started_by_kueue(embedded, "second", seconds=120)]
        embedded.add(job("third", suspend=True))
        waits = workload_of(embedded, "third", cpus=1, admitted=False)
        shown_reserved(embedded, 2)
        await until(lambda: len(embedded.store.of("pods")) == 2)
        pods = {one["metadata"]["uid"] for one in embedded.store.of("pods").values()}

        told = await look(tmp_path, server.url)
        assert told.recorded and told.differences == []
        assert (told.queues, told.workloads, told.admitted, told.running) == (1, 3, 2, 2)

        bus, client = await connect_bus(server.url), await connect(str(tmp_path / "kubeconfig"))
        running = Running(Ports(bus=bus, reader=Reflector(client), writer=client, clock=embedded.clock))
        task = asyncio.create_task(running.run())
        try:
            await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
            for host in running.hosts.values():
                await host.quiet.wait()
            world = running.hosts["LOG_0"].fold.world
            keys = {f"team/{one['metadata']['name']}" for one in runs}
            assert {key for key in keys if world.workloads[key].admitted} == keys
            third = world.workloads[f"team/{waits['metadata']['name']}"]
            assert third.admission is None and third.conditions["QuotaReserved"].reason != ""
            assert not spec_of(embedded, "first")["suspend"] and not spec_of(embedded, "second")["suspend"]
            assert spec_of(embedded, "third")["suspend"]
            assert pods <= {one["metadata"]["uid"] for one in embedded.store.of("pods").values()}, "no pod was stopped"
            kind = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "workloads")
            name = ("team", runs[0]["metadata"]["name"])
            assert embedded.resources.get(kind, name)["status"] == runs[0]["status"], "Kueue's word stands"

            await until(lambda: not spec_of(embedded, "third")["suspend"])
            assert any(
                one["type"] == "Complete"
                for one in (embedded.store.get("jobs.batch", ("team", "second")) or {})["status"]["conditions"]
            ), "the third runs once the second has ended, not before"
            assert spec_of(embedded, "third")["template"]["spec"]["nodeSelector"] == {"pool": "a"}
        finally:
            await stopped(task)
            await client.close()
            await bus.close()


async def test_services_that_are_started_without_adoption_stop_nothing_either(tmp_path: Path) -> None:
    async with left(tmp_path) as (embedded, server):
        started_by_kueue(embedded, "first", cpus=2)
        bus, client = await connect_bus(server.url), await connect(str(tmp_path / "kubeconfig"))
        running = Running(Ports(bus=bus, reader=Reflector(client), writer=client, clock=embedded.clock))
        task = asyncio.create_task(running.run())
        try:
            await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
            await asyncio.sleep(0.3)
            await running.quiet()
            assert not spec_of(embedded, "first")["suspend"]
            embedded.add({**job("high", cpus=2, priority="high", suspend=True)})
            await until(lambda: spec_of(embedded, "first")["suspend"] and not spec_of(embedded, "high")["suspend"])
            await until(lambda: not spec_of(embedded, "first")["template"]["spec"].get("nodeSelector"), 10)
        finally:
            await stopped(task)
            await client.close()
            await bus.close()


async def test_a_job_that_would_be_stopped_blocks_and_nothing_is_recorded(tmp_path: Path) -> None:
    async with left(tmp_path, controllers=False) as (embedded, server):
        embedded.add(job("stray", suspend=False))
        told = await look(tmp_path, server.url)
        assert not told.recorded and told.blocked
        (one,) = told.differences
        assert (one.code, one.object) == ("RunsWithoutAdmission", "Job/team/stray")
        bus = await connect_bus(server.url)
        assert (await (await bus.stream("FACTS")).last()).sequence == 0
        await bus.close()


async def test_a_manager_that_runs_blocks_and_what_differs_is_named(tmp_path: Path) -> None:
    async with left(tmp_path, controllers=False) as (embedded, _):
        embedded.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}})
        embedded.add(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
                "spec": {"replicas": 1},
            }
        )
        service = {"name": "kueue-webhook-service", "namespace": "kueue-system"}
        embedded.add(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "kueue-mutating-webhook-configuration"},
                "webhooks": [{"name": "mjob.kb.io", "clientConfig": {"service": service}}],
            }
        )
        workload = started_by_kueue(embedded, "first")
        kind = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "workloads")
        strange = {**workload, "metadata": {**workload["metadata"], "name": "raygroup"}}
        strange["metadata"] = {
            "name": "raygroup",
            "namespace": "team",
            "ownerReferences": [{"apiVersion": "x/v1", "kind": "Strange", "name": "s", "uid": "u", "controller": True}],
        }
        embedded.resources.create(kind, "team", strange)
        embedded.resources.update(
            kind, ("team", "raygroup"), {"metadata": {}, "status": workload["status"]}, subresource="status"
        )
        shown_reserved(embedded, 2)
        queues = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "clusterqueues")
        queue = embedded.resources.get(queues, ("", "cq"))
        queue["metadata"] = {**queue["metadata"], "finalizers": [HELD]}
        embedded.resources.update(queues, ("", "cq"), queue)
        told = await look(tmp_path)
        assert [(one.code, one.blocks) for one in told.differences] == [
            ("KueueRuns", True),
            ("HeldByKueue", False),
            ("KueueIsAsked", False),
            ("OwnerUnknown", False),
            ("UsageDiffers", False),
        ]
        (usage,) = [one for one in told.differences if one.code == "UsageDiffers"]
        assert "Kueue shows 2 reserved, here it is 1" in usage.what


async def test_a_log_with_decisions_is_not_adopted_on(tmp_path: Path) -> None:
    async with left(tmp_path, controllers=False) as (_, server):
        bus = await connect_bus(server.url)
        await (await bus.stream("LOG_0")).append("kuelog.log.0.admitter", b"{}", message_id="m", base=0)
        await bus.close()
        with pytest.raises(LogInUse):
            await look(tmp_path, server.url)


async def test_for_programs_and_for_people(tmp_path: Path) -> None:
    async with left(tmp_path, controllers=False) as (embedded, _):
        embedded.add(job("stray", suspend=False))
        words = ["adopt", "--kubeconfig", str(tmp_path / "kubeconfig"), "--dry-run"]
        found = await asyncio.to_thread(CliRunner().invoke, app, [*words, "-o", "json"])
        assert found.exit_code == 1
        assert json.loads(found.stdout)["differences"][0]["code"] == "RunsWithoutAdmission"
        found = await asyncio.to_thread(CliRunner().invoke, app, words)
        assert "blocks Job/team/stray" in found.stdout and "nothing was recorded" in found.stdout
