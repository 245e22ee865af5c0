"""Six services, each with its own user of the bus and only two with a cluster: what they really ask is what they may."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from ops.deploy.chart import manifests
from ops.health import Health, health_served
from ops.kube.absent import AbsentCluster
from ops.kube.client import KubeClient, connect
from ops.kube.reflector import Reflector
from ops.log.jetstream import connect as connect_bus
from ops.log.server import free_port
from ops.wiring import SERVICES, Ports, Running, stopped
from services.cluster_port import Resource
from tests.ops.deploy.small_cluster import cluster, job
from tests.ops.deploy.test_bus_users import address, bus

Plain = dict[str, Any]
JOBS = Resource(group="batch", plural="jobs", kind="Job")
Asked = tuple[str, str, str]
"""Verb, group, and resource with its part."""


class Recording(KubeClient):
    """A client that takes note of what it asks."""

    asked: set[Asked]

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self.asked = set()
            trace = aiohttp.TraceConfig()
            trace.on_request_start.append(self._note)
            self._session = aiohttp.ClientSession(trace_configs=[trace])
        return self._session

    async def _note(self, session: Any, context: Any, asked: aiohttp.TraceRequestStartParams) -> None:
        del session, context
        self.asked.add(question(asked.method, asked.url.path, watch=asked.url.query.get("watch") == "true"))


def question(method: str, path: str, *, watch: bool) -> Asked:
    root, *parts = path.strip("/").split("/")
    group, parts = ("", parts[1:]) if root == "api" else (parts[0], parts[2:])
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    plural, name, part = (*parts, "", "")[:3]
    verbs = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
    verb = verbs.get(method) or ("get" if name else "watch" if watch else "list")
    return verb, group, f"{plural}/{part}" if part else plural


def granted(service: str) -> set[Asked]:
    name = f"kuelog-system-{service}"
    (role,) = [one for one in manifests()["access"] if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name]
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def pod(name: str) -> Plain:
    made = job(name, cpus=2)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made["metadata"], "spec": made["spec"]["template"]["spec"]}


async def until(true: Callable[[], Any], seconds: float = 40) -> None:
    async with asyncio.timeout(seconds):
        while True:
            found = true()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.05)


async def test_a_platform_runs_on_the_rights_that_it_is_installed_with(tmp_path: Path) -> None:
    (tmp_path / "nats").mkdir()
    async with AsyncExitStack() as stack:
        embedded = cluster(tmp_path)
        await embedded.start()
        stack.push_async_callback(embedded.stop)
        port = await stack.enter_async_context(bus(tmp_path / "nats"))
        clients: dict[str, Recording] = {}
        processes: dict[str, Running] = {}
        probes: dict[str, int] = {}
        for service in SERVICES:
            own = await connect_bus(address(port, service))
            stack.push_async_callback(own.close)
            reader = writer = AbsentCluster()
            if service in ("watcher", "applier"):
                plain = await connect(str(tmp_path / "kubeconfig"))
                clients[service] = client = Recording(plain._configuration)  # noqa: SLF001
                await plain.close()
                stack.push_async_callback(client.close)
                reader = Reflector(client) if service == "watcher" else AbsentCluster()
                writer = client if service == "applier" else AbsentCluster()
            running = processes[service] = Running(
                Ports(bus=own, reader=reader, writer=writer, clock=embedded.clock), (service,)
            )
            assert await Health(running).why_not(), "nothing is ready before it has begun"
            task = asyncio.create_task(running.run())
            stack.push_async_callback(stopped, task)
            probes[service] = free_port()
            await stack.enter_async_context(health_served(running, probes[service]))
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

        def of(name: str) -> Plain:
            return embedded.store.get("jobs.batch", ("team", name)) or {}

        def runs(name: str) -> bool:
            return of(name).get("status", {}).get("ready", 0) > 0

        def look(name: str) -> Plain:
            return embedded.store.get("pods", ("team", name)) or {}

        embedded.add(job("low", cpus=2))
        await until(lambda: runs("low"))
        embedded.add(job("high", cpus=2, priority="high", seconds=20))
        await until(lambda: runs("high") and of("low")["spec"]["suspend"])
        await until(lambda: runs("low"))
        embedded.store.remove("jobs.batch", ("team", "low"))
        embedded.add(pod("alone"))
        await until(lambda: look("alone").get("status", {}).get("phase") == "Running")
        embedded.add(job("again", cpus=2, priority="high", seconds=20))
        await until(lambda: runs("again"))
        processes["admitter"].hosts["LOG_0"].stop_deciding("somebody said so")
        async with session.get(f"http://127.0.0.1:{probes['admitter']}/readyz") as answer:
            assert answer.status == 503 and "somebody said so" in await answer.text()
        for service, client in clients.items():
            assert client.asked <= granted(service), f"{service} asks for more than it may"
            assert client.asked, service
        assert ("patch", "batch", "jobs") in clients["applier"].asked
        assert ("patch", "kueue.x-k8s.io", "workloads/status") in clients["applier"].asked
        assert {("patch", "", "pods"), ("delete", "", "pods")} <= clients["applier"].asked
        assert {verb for verb, _, _ in clients["watcher"].asked} == {"list", "watch"}
