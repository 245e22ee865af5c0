"""Each service with its own user of the bus, and few of them with a cluster: what they really ask is what they may."""

import asyncio
import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from events.json_object import JsonObject
from events.subjects import CONTROL
from ops.production.deploy.chart import CHOICES, manifests
from ops.production.health import Health, health_served
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.control import record_rate
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from ops.production.wiring import Ports, Running
from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import AccessRefused, Resource
from services.runtime.control_log import Control
from services.runtime.own_task import stopped
from tests.ops.production.deploy.small_cluster import job, platform
from tests.ops.production.deploy.test_bus_users import address, bus
from tests.ops.production.kubernetes.recording import Recording, recording
from tests.stage.cluster import Cluster
from tests.stage.ports import reserved_port
from tests.stage.real import Real

JOBS = Resource(group="batch", plural="jobs", kind="Job")
Asked = tuple[str, str, str]
"""Verb, group, and resource with its part."""


def question(method: str, url: str) -> Asked:
    """What a request asks, in the words of a role."""
    path, _, query = url.partition("?")
    watch = "watch=true" in query
    root, *parts = path.strip("/").split("/")
    group, parts = ("", parts[1:]) if root == "api" else (parts[0], parts[2:])
    space = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        space, parts = parts[1], parts[2:]
    plural, name, part = (*parts, "", "")[:3]
    named = re.search(r"fieldSelector=metadata.name%3D([^&]+)", query)
    if named:
        return "watch" if watch else "list", group, f"{plural} in {space} named {named[1]}"
    verbs = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
    verb = verbs.get(method) or ("get" if name else "watch" if watch else "list")
    return verb, group, f"{plural}/{part}" if part else plural


def granted(service: str, part: str = "access", **choices: Any) -> set[Asked]:
    """What a service may ask, in the part of an installation that says so."""
    name = f"kuelog-system-{service}"
    access = [one for one in manifests({**CHOICES, **choices})[part] if one["metadata"]["name"] == name]
    (role,) = [one for one in access if one["kind"] == "ClusterRole"]
    by_name = {
        (verb, group, f"{resource} in {one['metadata']['namespace']} named {each}")
        for one in access
        if one["kind"] == "Role"
        for rule in one["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for each in rule["resourceNames"]
        for verb in rule["verbs"]
    }
    return by_name | {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def pod(name: str) -> JsonObject:
    made = job(name, cpus=2)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made["metadata"], "spec": made["spec"]["template"]["spec"]}


async def until(true: Callable[[], Any], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while True:
            found = true()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.05)


async def test_a_platform_runs_on_the_rights_that_it_is_installed_with(
    tmp_path: Path, cluster: Cluster, clock: ScaledClock
) -> None:
    (tmp_path / "nats").mkdir()
    async with AsyncExitStack() as stack:
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        for value in platform(2):
            await cluster.add(value)
        port = await stack.enter_async_context(bus(tmp_path / "nats"))
        await have_clock_on_record(port, clock)
        clients: dict[str, Recording] = {}
        processes: dict[str, Running] = {}
        probes: dict[str, int] = {}
        for service in SERVICES:
            own = await connect_bus(address(port, service))
            stack.push_async_callback(own.close)
            reader = writer = AbsentCluster()
            if service in ("watcher", "applier"):
                clients[service] = client = await recording(str(await cluster.kubeconfig_of(service)), service)
                stack.push_async_callback(client.close)
                reader = Reflector(client) if service == "watcher" else AbsentCluster()
                writer = client if service == "applier" else AbsentCluster()
            ports = Ports(bus=own, reader=reader, writer=writer, clock=clock)
            running = processes[service] = Running(ports, (service,))
            assert await Health(running).why_not(), "nothing is ready before it has begun"
            task = asyncio.create_task(running.run())
            stack.push_async_callback(stopped, task)
            probes[service] = reserved_port()
            await stack.enter_async_context(health_served(running, Endpoint(port=probes[service])))
        session = await stack.enter_async_context(aiohttp.ClientSession())

        async def ready() -> bool:
            states: list[int] = []
            for probe in probes.values():
                async with session.get(f"http://127.0.0.1:{probe}/readyz") as answer:
                    states.append(answer.status)
            return set(states) == {200}

        await until(ready)
        async with session.get(f"http://127.0.0.1:{probes['admitter']}/livez") as answer:
            assert answer.status == 200
        await asyncio.wait_for(play(cluster), 60)
        processes["admitter"].hosts["LOG_0"].stop_deciding("somebody said so")
        async with session.get(f"http://127.0.0.1:{probes['admitter']}/readyz") as answer:
            assert answer.status == 503 and "somebody said so" in await answer.text()
        for service, client in clients.items():
            asked = {question(method, url) for method, url, _ in client.answers}
            assert asked <= granted(service), f"{service} asks for more than it may"
            assert asked, service
            assert not [url for _, url, status in client.answers if status in (401, 403)], f"{service} was refused"
        asked = {question(method, url) for method, url, _ in clients["applier"].answers}
        assert ("patch", "batch", "jobs") in asked
        assert ("patch", "kueue.x-k8s.io", "workloads/status") in asked
        assert {("patch", "", "pods"), ("delete", "", "pods")} <= asked
        assert {question(method, url)[0] for method, url, _ in clients["watcher"].answers} == {"list", "watch"}


async def have_clock_on_record(port: int, clock: ScaledClock) -> None:
    """An operator says how fast the clocks of this test run: no service may, and in production they are the wall's."""
    operator = await connect_bus(address(port, "operator"))
    try:
        await record_rate(await operator.stream(CONTROL), Control(), round(clock.scale * 1000), clock.began)
    finally:
        await operator.close()


async def play(cluster: Cluster) -> None:
    """A job makes room and comes back, goes, and a pod alone makes room as well."""

    def of(name: str) -> JsonObject:
        return cluster.get("jobs.batch", ("team", name)) or {}

    def runs(name: str) -> bool:
        return of(name).get("status", {}).get("ready", 0) > 0

    await cluster.add(job("low", cpus=2))
    await cluster.until(lambda: runs("low"))
    await cluster.add(job("high", cpus=2, priority="high", seconds=20))
    await cluster.until(lambda: runs("high") and of("low")["spec"]["suspend"])
    await cluster.until(lambda: runs("low"))
    admin = await cluster.connect("")
    try:
        await admin.delete(JOBS, "team", "low")
    finally:
        await admin.close()
    await cluster.add(pod("alone"))
    await cluster.until(
        lambda: (cluster.get("pods", ("team", "alone")) or {}).get("status", {}).get("phase") == "Running"
    )
    await cluster.add(job("again", cpus=2, priority="high", seconds=20))
    await cluster.until(lambda: runs("again"))


async def test_whoever_has_no_right_is_refused_by_the_api_server(real: Real) -> None:
    await real.start()
    clients = {service: await real.connect(service) for service in SERVICES}
    try:
        for service, client in clients.items():
            if service != "applier":
                with pytest.raises(
                    AccessRefused, match=f'"system:serviceaccount:kuelog-system:kuelog-{service}" cannot'
                ):
                    await client.merge(JOBS, "default", "j", {"spec": {"suspend": False}})
                with pytest.raises(AccessRefused):
                    await client.merge(WORKLOADS, "default", "w", {"status": {}}, subresource="status")
            for path in ("/api/v1/secrets", "/api/v1/namespaces/kuelog-system/secrets/kuelog-webhook-certificate"):
                with pytest.raises(AccessRefused):
                    await client.request("GET", path)
            if service != "watcher":
                with pytest.raises(AccessRefused):
                    await client.request("GET", "/apis/batch/v1/jobs")
    finally:
        for client in clients.values():
            await client.close()
        await real.stop()
