"""Each service with its own user of the bus, and few of them with a cluster: what they really ask is what they may."""

import asyncio
import os
import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from events.json_object import JsonObject
from events.partition_map import PartitionMapObserved
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from ops.production.deploy.bus import user_in
from ops.production.deploy.chart import CHOICES, manifests
from ops.production.health import Health, health_served
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.control import record_rate
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.jetstream.leases import lease_subject
from ops.production.log.partitioning import divide
from ops.production.log.streams import streams_on
from ops.production.process.clock import ScaledClock
from ops.production.served import FOLLOWER, MULTIKUEUE, SERVICES, VERIFIER
from ops.production.wiring import Ports, Running
from projections.partitions.homes import hashed
from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import AccessRefused, Resource
from services.runtime.control_log import Control
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.ops.production.deploy.small_cluster import job, platform
from tests.ops.production.deploy.test_bus_users import address, let_through, server_of
from tests.ops.production.kubernetes.recording import Recording, recording
from tests.stage.cluster import Cluster
from tests.stage.forked_commands import forked
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


@pytest.mark.parametrize("partitions", [1, 2])
async def test_a_platform_runs_on_the_rights_that_it_is_installed_with(
    tmp_path: Path, cluster: Cluster, clock: ScaledClock, partitions: int
) -> None:
    (tmp_path / "nats").mkdir()
    home = hashed(PartitionMapObserved(partitions=partitions), "queue/cq")
    assert home == f"LOG_{partitions - 1}", "what the queue of this cluster is decided in"
    async with AsyncExitStack() as stack:
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        for value in platform(2):
            await cluster.add(value)
        port = await stack.enter_async_context(server_of(tmp_path / "nats", partitions))
        await made_streams(port, partitions)
        await have_clock_on_record(port, clock)
        clients: dict[str, Recording] = {}
        processes: dict[str, Running] = {}
        probes: dict[str, int] = {}
        for name, service, served in processes_of(partitions):
            own = await connect_bus(address(port, name))
            stack.push_async_callback(own.close)
            reader = writer = AbsentCluster()
            if service in ("watcher", "applier"):
                clients[name] = client = await recording(str(await cluster.kubeconfig_of(service)), service)
                stack.push_async_callback(client.close)
                reader = Reflector(client) if service == "watcher" else AbsentCluster()
                writer = client if service == "applier" else AbsentCluster()
            ports = Ports(bus=own, reader=reader, writer=writer, clock=clock, leases=own.leases)
            running = processes[name] = Running(ports, (service,), partitions=served, replica=name)
            assert await Health(running).why_not(), "nothing is ready before it has begun"
            task = asyncio.create_task(running.run())
            stack.push_async_callback(stopped, task)
            probes[name] = reserved_port()
            await stack.enter_async_context(health_served(running, Endpoint(port=probes[name])))
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
        assert await (await connect_to(stack, port, "operator")).leases.holders() == leases_of(partitions)
        for number in range(partitions):
            # Decided where the queue is at home, and nothing elsewhere but that somebody has taken over.
            fold = processes[user_in("admitter", str(number))].hosts[f"LOG_{number}"].fold
            assert bool(fold.world.workloads) is (number == partitions - 1)
        processes["admitter"].hosts["LOG_0"].stop_deciding("somebody said so")
        async with session.get(f"http://127.0.0.1:{probes['admitter']}/readyz") as answer:
            assert answer.status == 503 and "somebody said so" in await answer.text()
        for name, client in clients.items():
            asked = {question(method, url) for method, url, _ in client.answers}
            assert asked <= granted(name.partition("-")[0]), f"{name} asks for more than it may"
            assert asked or name != user_in("applier", str(partitions - 1)), name
            assert not [url for _, url, status in client.answers if status in (401, 403)], f"{name} was refused"
        asked = {question(method, url) for method, url, _ in clients[user_in("applier", str(partitions - 1))].answers}
        assert ("patch", "batch", "jobs") in asked
        assert ("patch", "kueue.x-k8s.io", "workloads/status") in asked
        assert {("patch", "", "pods"), ("delete", "", "pods")} <= asked
        assert {question(method, url)[0] for method, url, _ in clients["watcher"].answers} == {"list", "watch"}


def processes_of(partitions: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """By the user of the bus that each is, the processes of an installation: what each serves, and of which partitions."""
    choices = {**CHOICES, "partitions": partitions, "multiKueue": {**CHOICES["multiKueue"], "enabled": True}}
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for one in (each for part in manifests(choices).values() for each in part if each["kind"] == "Deployment"):
        [container] = one["spec"]["template"]["spec"]["containers"]
        word, service, *more = container["args"]
        if word == "run" and service != "webhook":
            served = tuple(more[place + 1] for place, each in enumerate(more) if each == "--partition")
            found.append((container["env"][0]["valueFrom"]["secretKeyRef"]["key"], service, served))
    return found


def leases_of(partitions: int) -> dict[str, str]:
    """By lease the user of the process that has it, where there is one of each."""
    found = {"watcher": "watcher", "DEVICES_default.accountant": "accountant"}
    for name, service, served in processes_of(partitions):
        if served:
            found[f"{served[0]}.{service}"] = name
        elif name == MULTIKUEUE:
            found |= {f"LOG_{number}.{MULTIKUEUE}": name for number in range(partitions)}
    return found


async def connect_to(stack: AsyncExitStack, port: int, user: str) -> JetStreamBus:
    found = await connect_bus(address(port, user))
    stack.push_async_callback(found.close)
    return found


async def made_streams(port: int, partitions: int) -> str:
    """What the Job of an installation does; what it says."""
    [job] = [one for one in manifests({**CHOICES, "partitions": partitions})["streams"] if one["kind"] == "Job"]
    [container] = job["spec"]["template"]["spec"]["containers"]
    words = [*container["args"], "--replicas", "1", "--max-bytes", str(64 << 20)]
    done = await asyncio.to_thread(forked, words, env={**os.environ, "KUELOG_NATS": address(port, "streams")})
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


async def test_a_log_that_is_empty_is_divided_by_the_job_that_makes_its_streams_and_only_grows(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(server_of(tmp_path, 3))
        for _ in range(2):
            said = await made_streams(port, 3)
            assert "LOG_2: there, at sequence 0" in said and "FACTS: there, at sequence 1" in said
        reader = await connect_to(stack, port, "reader")
        assert (await streams_on(reader)).trees == ("LOG_0", "LOG_1", "LOG_2")
        [entry] = [one async for batch in (await reader.stream(FACTS)).read() for one in batch]
        assert entry.subject == fact_subject("", "PartitionMapObserved")
        with pytest.raises(AssertionError, match="the log has 3 partitions, and their number only grows"):
            await made_streams(port, 2)


async def test_a_log_in_use_gets_its_streams_and_is_divided_by_the_operator(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        async with server_of(tmp_path, 1) as port:
            await made_streams(port, 1)
            watcher = await connect_bus(address(port, "watcher"))
            subject = fact_subject("", "PodsGone")
            await (await watcher.stream(FACTS)).publish([Message(subject, b"{}", "first")])
            await watcher.close()
        port = await stack.enter_async_context(server_of(tmp_path, 2))
        said = await made_streams(port, 2)
        assert "LOG_1: there, at sequence 0" in said
        assert "the log has 1 partition and is in use" in said and "kuelog log partition 2 --nats ADDRESS" in said
        operator = await connect_to(stack, port, "operator")
        assert (await streams_on(operator)).trees == ("LOG_0",)
        await divide(operator, 2, 1000)
        assert (await streams_on(operator)).trees == ("LOG_0", "LOG_1")
        assert "is in use" not in await made_streams(port, 2)


async def test_whoever_serves_a_partition_decides_in_that_one_alone(tmp_path: Path) -> None:
    async with server_of(tmp_path, 3) as port:
        await made_streams(port, 3)
        deciders = ("queue-manager", "admitter", "preemptor")
        places = range(3)
        commits = {
            commit_subject(f"LOG_{place}", name): user_in(name, str(place)) for name in deciders for place in places
        }
        saved = [f"kuelog.snapshots.LOG_{place}.a.0" for place in places]
        leases = {
            lease_subject(f"LOG_{place}.{name}"): user_in(name, str(place))
            for name in (*deciders, "applier")
            for place in places
        }
        for name in (*deciders, "applier"):
            for place in places:
                user = user_in(name, str(place))
                may = await let_through(address(port, user), [*commits, *saved, *leases])
                own = {subject for subject, who in (commits | leases).items() if who == user}
                assert may == own | ({saved[place]} if name in deciders else set()), user


@pytest.mark.parametrize(
    ("user", "services"), [("visibility", (FOLLOWER,)), ("console", (FOLLOWER,)), ("verifier", (VERIFIER,))]
)
async def test_whoever_only_looks_folds_every_partition_and_tries_nothing_that_is_not_his(
    tmp_path: Path, user: str, services: tuple[str, ...]
) -> None:
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(server_of(tmp_path, 2))
        await made_streams(port, 2)
        own = await connect_to(stack, port, user)
        nobody = AbsentCluster()
        running = Running(Ports(bus=own, reader=nobody, writer=nobody, clock=ScaledClock(), shelf=own.shelf), services)
        task = asyncio.create_task(running.run())
        stack.push_async_callback(stopped, task)
        folded = 3 if user == VERIFIER else 2  # Who answers about queues folds no cards.
        await until(lambda: len(running.hosts) == folded and all(one.quiet.is_set() for one in running.hosts.values()))
        assert {host.fold.position(FACTS) for host in running.hosts.values()} == {1}, "how the log is divided"
        assert not own.client._refused and not own.unreadable()  # noqa: SLF001 - whatever was ever refused


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
