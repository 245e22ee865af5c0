"""Who waits at which position: as the API server asks for it, with and without TLS, and through kubectl."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import aiohttp
import pytest
from msgspec.structs import replace

from events.event import Millis
from events.json_object import JsonObject
from events.timestamp import parse_timestamp
from events.workload import Member, Owner, WorkloadParked, WorkloadQueued
from ops.production.visibility.api import GROUP, Visibility
from ops.production.visibility.server import Followed, VisibilityUnserved, follower, serving, shown_from
from projections.world import World
from tests.places import ROOT
from tests.projections.queues.test_status import two_queues
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import SCALE, Stage, job

BASE = f"/apis/{GROUP}/v1beta2"


def waiting_world() -> World:
    at = two_queues()
    at.door("second", "lender")
    for name, door in (("a", "lender"), ("b", "second"), ("c", "lender"), ("d", "second")):
        at.waiting(name, door=door)
        at.fold(WorkloadQueued(workload=f"team/{name}", cluster_queue="lender"))
    at.fold(WorkloadParked(workload="team/a", cluster_queue="lender", reason="Backoff", message=""))
    return at.world


class Shown(NamedTuple):
    """A world that stands still."""

    shown: World | None

    def world(self) -> World | None:
        return self.shown

    def now(self) -> Millis:
        return 0


async def ask(port: int, path: str, **more: Any) -> tuple[int, Any]:
    scheme = "https" if more else "http"
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{scheme}://localhost:{port}{path}", **more) as answer,
    ):
        return answer.status, await answer.json(content_type=None)


def rows(answer: tuple[int, Any]) -> list[tuple[str, int, int]]:
    assert answer[0] == 200, answer
    return [
        (one["metadata"]["name"], one["positionInClusterQueue"], one["positionInLocalQueue"])
        for one in answer[1]["items"]
    ]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    world = waiting_world()
    async with serving(Visibility(Shown(world)), "127.0.0.1", 0) as found:
        yield found


async def test_who_is_beside_the_line_stands_where_it_would_stand_in_it(port: int) -> None:
    found = rows(await ask(port, f"{BASE}/clusterqueues/lender/pendingworkloads"))
    assert found == [("a", 0, 0), ("b", 1, 0), ("c", 2, 1), ("d", 3, 1)]


async def test_a_local_queue_shows_only_its_own_at_both_positions(port: int) -> None:
    found = rows(await ask(port, f"{BASE}/namespaces/team/localqueues/second/pendingworkloads"))
    assert found == [("b", 1, 0), ("d", 3, 1)]


async def test_a_part_of_the_line_can_be_asked_for(port: int) -> None:
    found = rows(await ask(port, f"{BASE}/clusterqueues/lender/pendingworkloads?offset=1&limit=2"))
    assert [name for name, *_ in found] == ["b", "c"]


async def test_a_limit_of_0_is_none_as_in_kueues_defaults(port: int) -> None:
    found = rows(await ask(port, f"{BASE}/clusterqueues/lender/pendingworkloads?limit=0"))
    assert [name for name, *_ in found] == ["a", "b", "c", "d"]


async def test_a_group_of_pods_is_owned_by_its_pods() -> None:
    at = two_queues()
    at.waiting("a", door="lender")
    lone = at.world.workloads["team/a"]
    members = (Member(name="a-0", uid="u0", pod_set="main"), Member(name="a-1", uid="u1", pod_set="main"))
    owner = Owner(kind="PodGroup", name="a", uid="u0", api_version="v1")
    at.fold(WorkloadQueued(workload="team/a", cluster_queue="lender"))
    at.world.workloads["team/a"] = replace(lone, owner=owner, spec=replace(lone.spec, members=members))
    async with serving(Visibility(Shown(at.world)), "127.0.0.1", 0) as found:
        _, answer = await ask(found, f"{BASE}/clusterqueues/lender/pendingworkloads")
    assert answer["items"][0]["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "a-0", "uid": "u0"},
        {"apiVersion": "v1", "kind": "Pod", "name": "a-1", "uid": "u1"},
    ]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/clusterqueues/none/pendingworkloads", 404),
        ("/namespaces/team/localqueues/none/pendingworkloads", 404),
        ("/clusterqueues/lender", 404),
        ("/clusterqueues/lender/pendingworkloads?limit=many", 400),
        ("/clusterqueues/lender/pendingworkloads?offset=-1", 400),
    ],
)
async def test_what_is_not_there_or_not_understood_is_refused_as_the_api_server_would(
    port: int, path: str, code: int
) -> None:
    status, answer = await ask(port, BASE + path)
    assert (status, answer["kind"], answer["code"]) == (code, "Status", code)


async def test_a_queue_that_is_not_there_is_named_in_the_words_of_kueue(port: int) -> None:
    _, answer = await ask(port, f"{BASE}/clusterqueues/none/pendingworkloads")
    assert answer["message"] == 'clusterqueue.visibility.kueue.x-k8s.io "none" not found'
    _, answer = await ask(port, f"{BASE}/namespaces/team/localqueues/none/pendingworkloads")
    assert answer["message"] == 'localqueue.visibility.kueue.x-k8s.io "none" not found'


async def test_it_tells_what_it_serves(port: int) -> None:
    group = (await ask(port, f"/apis/{GROUP}"))[1]
    assert [one["version"] for one in group["versions"]] == ["v1beta2", "v1beta1"]
    names = [one["name"] for one in (await ask(port, BASE))[1]["resources"]]
    assert names == ["clusterqueues/pendingworkloads", "localqueues/pendingworkloads"]


async def test_as_long_as_the_log_is_not_folded_it_is_not_ready() -> None:
    async with serving(Visibility(Shown(None)), "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
            assert answer.status == 503
        async with session.get(f"http://127.0.0.1:{port}{BASE}/clusterqueues/x/pendingworkloads") as answer:
            assert answer.status == 503


class Folding:
    """A partition that is being folded up to what was on the log when that began."""

    def __init__(self) -> None:
        self.caught_up, self.quiet = asyncio.Event(), asyncio.Event()


class Folds:
    """The services of a process that folds partitions, and begins anew when what it had not read is rolled away."""

    def __init__(self, *hosts: Folding) -> None:
        self.hosts = list(hosts)

    def hosts_of_trees(self) -> list[Folding]:
        return self.hosts

    def world_of_queues(self) -> World:
        return World()


async def test_it_answers_when_all_is_folded_that_was_there_though_more_comes_all_the_time_and_anew_after_a_new_begin() -> (
    None
):
    folds = Folds()
    followed = Followed(cast(Any, folds))
    assert followed.world() is None
    folds.hosts = [Folding(), Folding()]
    folds.hosts[0].caught_up.set()
    assert followed.world() is None, "half of the trees are missing"
    folds.hosts[1].caught_up.set()
    assert followed.world() is not None, "though neither is at rest"
    folds.hosts = [Folding(), folds.hosts[1]]
    assert followed.world() is None, "who begins anew knows less than it knew"


async def test_certificates_that_are_not_there_or_no_certificates_are_named_in_one_message(tmp_path: Path) -> None:
    with pytest.raises(VisibilityUnserved, match="none: No such file"):
        shown_from(tmp_path / "none", tmp_path / "none")
    (tmp_path / "text").write_text("nonsense")
    with pytest.raises(VisibilityUnserved, match="text"):
        shown_from(tmp_path / "text", tmp_path / "text")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(VisibilityUnserved, match="not a text in PEM"):
        shown_from(tmp_path / "bytes", tmp_path / "bytes")


async def test_kubectl_reads_positions_from_a_cluster_that_aggregates_it(embedded_stage: Stage) -> None:
    stage = embedded_stage
    stage.serve()
    running = follower(stage.bus)
    stage.embedded.aggregated[GROUP] = Visibility(Followed(running))
    stage.tasks.append(asyncio.create_task(running.run()))
    for name in ("first", "second", "third"):
        await stage.add(job(name, UNTIL_ENDED_S))
        await stage.until(lambda name=name: any(name in key[1] for key in workloads(stage)))
    await stage.until(lambda: stage.running("first"))
    async with asyncio.timeout(120):
        while True:
            found = await raw(stage, f"{BASE}/namespaces/default/localqueues/team/pendingworkloads")
            if len(found.get("items", ())) == 2:
                break
            await asyncio.sleep(0.05)
    owners = {one["metadata"]["ownerReferences"][0]["name"] for one in found["items"]}
    assert owners == {"second", "third"}
    assert [one["positionInLocalQueue"] for one in found["items"]] == [0, 1]
    await kueues_boards_show(stage, found)
    assert GROUP in [one["name"] for one in (await raw(stage, "/apis"))["groups"]]


COLUMNS = ("priority", "localQueueName", "positionInClusterQueue", "positionInLocalQueue")


async def kueues_boards_show(stage: Stage, found: JsonObject) -> None:
    """The two boards for Grafana's Infinity plugin that Kueue brings as examples: what they choose from, and each of their columns."""
    old, api = f"/apis/{GROUP}/v1beta1", "/apis/kueue.x-k8s.io/v1beta1"
    [local] = (await raw(stage, f"{api}/localqueues"))["items"]
    queues = [one["metadata"]["name"] for one in (await raw(stage, f"{api}/clusterqueues"))["items"]]
    assert local["spec"]["clusterQueue"] in queues
    name, namespace = local["metadata"]["name"], local["metadata"]["namespace"]
    for path in (
        f"clusterqueues/{local['spec']['clusterQueue']}/pendingworkloads",
        f"namespaces/{namespace}/localqueues/{name}/pendingworkloads",
    ):
        rows = (await raw(stage, f"{old}/{path}"))["items"]
        assert len(rows) == len(found["items"])
        for row in rows:
            assert all(row[column] not in ("", None) for column in COLUMNS)
            assert row["metadata"]["name"] and row["metadata"]["namespace"] == namespace
            assert parse_timestamp(row["metadata"]["creationTimestamp"])
            assert row["metadata"]["ownerReferences"][0]["name"] in ("second", "third")


async def test_a_process_of_its_own_needs_nothing_but_the_bus_and_exports_how_far_it_has_folded_it(
    embedded_stage: Stage, unused_tcp_port: int
) -> None:
    stage = embedded_stage
    stage.serve()
    for name in ("first", "second"):
        await stage.add(job(name, UNTIL_ENDED_S))
    await stage.until(lambda: stage.running("first") or stage.running("second"))
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "visibility", "--nats", stage.server.url),
        *("--host", "127.0.0.1", "--port", "0", "--scale", str(SCALE), "--metrics", str(unused_tcp_port)),
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert server.stdout is not None
    told = re.search(rb"port (\d+)", await asyncio.wait_for(server.stdout.readline(), 60))
    assert told is not None
    async with asyncio.timeout(60):
        while (found := await ask(int(told[1]), f"{BASE}/clusterqueues/team/pendingworkloads"))[0] == 503:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    assert len(rows(found)) == 1
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{unused_tcp_port}/metrics") as answer:
        text = await answer.text()
    assert re.search(r'kuelog_fold_lag_messages{partition="LOG_0",service="visibility",stream="FACTS"} \d', text), text
    assert "kueue_" not in text.replace("kueue_build_info", ""), "queues are exported beside the queue manager"
    server.send_signal(signal.SIGTERM)
    await server.communicate()
    assert server.returncode == 0


def workloads(stage: Stage) -> dict[tuple[str, str], dict[str, Any]]:
    return stage.embedded.store.of("workloads.kueue.x-k8s.io")


async def raw(stage: Stage, path: str) -> dict[str, Any]:
    """By kubectl where there is one, else by plain HTTP; nothing while the log is not folded yet."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        return await stage.client.request("GET", path)
    process = await asyncio.create_subprocess_exec(
        *(kubectl, "--kubeconfig", str(stage.kubeconfig), "get", "--raw", path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, problem = await process.communicate()
    if process.returncode:
        assert b"not folded yet" in problem, problem.decode()
        return {}
    return json.loads(told)
