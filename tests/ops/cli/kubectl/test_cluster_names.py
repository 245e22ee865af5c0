"""Tab completes names of the cluster that is meant, and says nothing where none answers; and months, scenarios, services, streams."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.sandbox.bench.day import played, small_day
from tests.ops.cli.test_object_names import completed
from tests.ops.console.served import store
from tests.stage.cluster import Cluster

GROUP = "kueue.x-k8s.io/v1beta2"


@pytest.fixture
async def kubeconfig(cluster: Cluster) -> AsyncIterator[str]:
    await cluster.start()
    await cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "names-a"}})
    for name in ("research", "production"):
        await cluster.add({"apiVersion": GROUP, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {}})
    queue = {"metadata": {"name": "door", "namespace": "names-a"}, "spec": {"clusterQueue": "research"}}
    await cluster.add({"apiVersion": GROUP, "kind": "LocalQueue", **queue})
    yield str(cluster.kubeconfig)
    await cluster.stop()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("stop", "clusterqueue", "--kubeconfig", "FILE", "r"), ["research"]),
        (("resume", "cq", "--kubeconfig", "FILE", ""), ["production", "research"]),
        (("delete", "localqueue", "--kubeconfig", "FILE", "-n", "names-a", ""), ["door"]),
        (("describe", "clusterqueue", "--kubeconfig", "FILE", "production", "res"), ["research"]),
        (("list", "localqueue", "--kubeconfig", "FILE", "-n", "names"), ["names-a"]),
        (("list", "localqueue", "--kubeconfig", "FILE", "-c", "prod"), ["production"]),
        (("create", "localqueue", "--kubeconfig", "FILE", "-c", "prod"), ["production"]),
        (("stop", "clusterqueue", "--kubeconfig", "/nowhere", ""), []),
    ],
    ids=lambda one: " ".join(one),
)
async def test_names_of_the_cluster_are_offered(
    kubeconfig: str, tmp_path: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    assert await completed(tmp_path, *(kubeconfig if word == "FILE" else word for word in words)) == expected


async def test_kinds_are_offered_after_a_verb(tmp_path: Path) -> None:
    assert "clusterqueue" in await completed(tmp_path, "stop", "")
    assert await completed(tmp_path, "list", "local") == ["localqueue"]


async def test_a_folder_with_a_scenario_is_offered_and_those_in_which_one_may_lie(tmp_path: Path) -> None:
    (tmp_path / "plays" / "one").mkdir(parents=True)
    (tmp_path / "plays" / "one" / "scenario.yaml").touch()
    assert await completed(tmp_path, "demo", f"{tmp_path}/pl") == [f"{tmp_path}/plays/"]
    assert await completed(tmp_path, "demo", f"{tmp_path}/plays/") == [f"{tmp_path}/plays/one"]
    assert await completed(tmp_path, "run", "queue") == ["queue-manager"]
    assert await completed(tmp_path, "log", "show", "--stream", "L") == ["LOG_0"]


async def test_months_of_a_log_that_are_over_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ops.cli import object_names

    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await store(bus, played(small_day(12))[0])
    assert await completed(tmp_path, "bill", "close", "--nats", server.url, "") == [], "its first month goes on"
    monkeypatch.setattr(object_names, "_names", lambda _: {})
    kept = object_names.KnownNames(created="2025-11-30T10:00:00Z")
    monkeypatch.setattr(object_names, "_kept", lambda _: (tmp_path, kept))
    monkeypatch.setattr(object_names, "time", lambda: 1_772_000_000)
    assert object_names.months(None, "") == ["2025-11", "2025-12", "2026-01"]  # type: ignore[arg-type]
    assert object_names.months(None, "2025-1") == ["2025-11", "2025-12"]  # type: ignore[arg-type]
    await bus.close()
    await server.stop()
