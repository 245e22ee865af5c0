"""Lists and watches when an API server pages, forgets, dies, has no time or gives no right: nothing is missed, nothing twice."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace
from structlog import DropEvent
from structlog.testing import capture_logs
from structlog.typing import EventDict

from events.json_object import JsonObject
from ops.production.kubernetes.client import connect, path_of
from ops.production.kubernetes.reflector import Reflector
from services.runtime.cluster_port import Changed, Listed, ListExpired, ObjectMissing, Resource, Sight, Vanished
from tests.ops.production.kubernetes.recording import Recording, recording
from tests.stage.api_server import STRANGER
from tests.stage.cluster import Cluster
from tests.stage.real import Real

MAPS = Resource(plural="configmaps", kind="ConfigMap")
SPACE = "team"


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Recording]:
    await cluster.start()
    await cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    found = await recording(str(cluster.kubeconfig))
    yield found
    await found.close()
    await cluster.stop()


async def make(cluster: Cluster, *names: str) -> None:
    for name in names:
        await cluster.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": SPACE}})


async def unnoticed(cluster: Cluster) -> None:
    """Have versions pass that whoever watches maps is not told of."""
    for name in ("x", "y"):
        await cluster.add({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": SPACE}})


def held(sight: Sight) -> list[JsonObject]:
    """Those that are ours: a real API server has maps of its own."""
    found = sight.objects if isinstance(sight, Listed) else [sight.object]
    return [one for one in found if one["metadata"]["namespace"] == SPACE]


def names_of(sight: Sight) -> list[str]:
    return sorted(one["metadata"]["name"] for one in held(sight))


@asynccontextmanager
async def seen(reflector: Reflector) -> AsyncGenerator[asyncio.Queue[Sight]]:
    """What a reflector sees, as it sees it."""
    sights: asyncio.Queue[Sight] = asyncio.Queue()

    async def look() -> None:
        async for sight in reflector.watch(MAPS):
            sights.put_nowait(sight)

    task = asyncio.create_task(look())
    try:
        async with asyncio.timeout(60):
            yield sights
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_list_comes_in_pages_and_every_change_after_it(cluster: Cluster, client: Recording) -> None:
    await make(cluster, "a", "b", "c", "d", "e")
    async with seen(Reflector(client, page=2)) as sights:
        assert names_of(await sights.get()) == ["a", "b", "c", "d", "e"]
        pages = [path for _, path, _ in client.answers if "limit=2" in path]
        assert len(pages) >= 3 and all("continue=" in path for path in pages)
        await make(cluster, "f")
        await client.merge(MAPS, SPACE, "a", {"data": {"x": "1"}})
        await client.delete(MAPS, SPACE, "b")
        found = [await sights.get() for _ in range(3)]
        assert [(type(one), names_of(one)) for one in found] == [(Changed, ["f"]), (Changed, ["a"]), (Vanished, ["b"])]


async def test_who_has_written_which_field_of_an_object_is_not_held(cluster: Cluster, client: Recording) -> None:
    async def write(name: str, value: str) -> JsonObject:
        one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}
        return await client.apply(MAPS, SPACE, one, manager="team")

    def without_managers(one: JsonObject) -> JsonObject:
        assert one["metadata"]["managedFields"]
        return {**one, "metadata": {name: value for name, value in one["metadata"].items() if name != "managedFields"}}

    first = await write("a", "1")
    async with seen(Reflector(client)) as sights:
        (listed,) = [one for one in held(await sights.get()) if one["metadata"]["name"] == "a"]
        second = await write("a", "2")
        assert {"apiVersion": "v1", "kind": "ConfigMap", **listed} == without_managers(first)
        assert held(await sights.get()) == [without_managers(second)]
        await client.delete(MAPS, SPACE, "a")
        (gone,) = held(await sights.get())
    assert "managedFields" not in gone["metadata"]


async def test_a_list_that_expires_between_two_pages_is_begun_anew(cluster: Cluster, client: Recording) -> None:
    await make(cluster, "a", "b", "c")

    class Forgetful(Reflector):
        """Whose API server forgets once, after the first page."""

        forgot = False

        async def _page_of(self, path: str) -> JsonObject:
            if "continue=" in path and not path.endswith("continue=") and not self.forgot:
                self.forgot = True
                await make(cluster, "d")
                await cluster.restart(forget=True)
            return await super()._page_of(path)

    async with seen(Forgetful(client, page=2)) as sights:
        assert names_of(await sights.get()) == ["a", "b", "c", "d"]
        assert 410 in [status for _, _, status in client.answers]


async def test_who_watches_from_a_version_that_is_forgotten_sees_all_there_is(
    cluster: Cluster, client: Recording
) -> None:
    await make(cluster, "a")
    reflector = Reflector(client)
    async with seen(reflector) as sights:
        assert names_of(await sights.get()) == ["a"]
        assert dict(reflector.watches.lists) == {("ConfigMap", "start"): 1}
        await unnoticed(cluster)
        await cluster.restart(forget=True)
        await make(cluster, "b")
        found = [await sights.get()]
        assert isinstance(found[0], Listed)
        while "b" not in names_of(found[-1]):
            found.append(await sights.get())
        assert reflector.watches.lists["ConfigMap", "start"] == 1
        assert sum(reflector.watches.lists.values()) > 1, "and the others say why"


async def test_a_restart_without_loss_loses_nothing(cluster: Cluster, client: Recording) -> None:
    await make(cluster, "a")
    async with seen(Reflector(client)) as sights:
        assert names_of(await sights.get()) == ["a"]
        await cluster.restart()
        await client.merge(MAPS, SPACE, "a", {"data": {"x": "1"}})
        while True:
            sight = await sights.get()
            found = sight.objects if isinstance(sight, Listed) else [sight.object]
            if any(one.get("data") == {"x": "1"} for one in found):
                break


async def test_a_watch_that_ends_goes_on_from_its_last_bookmark(cluster: Cluster, client: Recording) -> None:
    """Nothing of the kind changes meanwhile: without bookmarks it would go on from where it began, for ever."""
    # A real API server sends a bookmark two seconds before a watch ends.
    seconds = 4 if cluster.real else 1
    await make(cluster, "a")
    reflector = Reflector(client, seconds=seconds)
    async with seen(reflector) as sights:
        assert names_of(await sights.get()) == ["a"]
        listed = reflector.watches.heard["ConfigMap"]
        await unnoticed(cluster)
        # Somebody lists them: only then a real API server finds out how far its view of the kind has got.
        await client.request("GET", path_of(MAPS))
        while len(versions := watched_from(client)) < 2:  # noqa: ASYNC110 - the next watch is what is waited for
            await asyncio.sleep(0.05)
        assert versions[1] > versions[0]
        assert reflector.watches.heard["ConfigMap"] > listed, "it is told that nothing has changed"
        await make(cluster, "b")
        assert names_of(await sights.get()) == ["b"], "and nothing was listed again"


async def test_a_kind_that_is_watched_no_longer_is_not_silent(cluster: Cluster, client: Recording) -> None:
    """A replica goes on when another one has taken over its watches; `KuelogWatchSilent` would fire for it for ever."""
    await make(cluster, "a")
    reflector = Reflector(client)
    async with seen(reflector) as sights:
        assert names_of(await sights.get()) == ["a"]
        assert set(reflector.watches.heard) == {"ConfigMap"}
    assert reflector.watches.heard == {}
    async with seen(reflector) as sights:
        assert names_of(await sights.get()) == ["a"]
        assert set(reflector.watches.heard) == {"ConfigMap"}


class Uninstalled:
    """An API server that serves a kind until it is watched, and not any more."""

    def __init__(self) -> None:
        self.asked = 0

    async def request(self, method: str, path: str) -> JsonObject:
        self.asked += 1
        if self.asked > 1:
            raise ObjectMissing(path)
        return {"items": [], "metadata": {"resourceVersion": "1"}}

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        raise ListExpired(path)
        yield b""


async def test_a_kind_that_is_installed_no_longer_is_not_silent() -> None:
    gone = Uninstalled()
    reflector = Reflector(cast(Any, gone))
    async with seen(reflector) as sights:
        assert isinstance(await sights.get(), Listed)
        while gone.asked < 2:  # noqa: ASYNC110 - it rests before it asks again
            await asyncio.sleep(0.01)
        assert reflector.watches.heard == {}


def watched_from(client: Recording) -> list[int]:
    queries = [parse_qs(urlsplit(path).query) for _, path, _ in client.answers if "watch=true" in path]
    return [int(query["resourceVersion"][0]) for query in queries]


async def test_who_is_given_the_right_later_sees_from_then_on(tmp_path: Path, real: Real) -> None:
    server = real.installation.server
    assert server is not None
    await real.start()
    await make(real, "a")
    (tmp_path / "stranger").write_text(server.kubeconfig_of(STRANGER))
    stranger = await connect(str(tmp_path / "stranger"))
    try:
        async with seen(Reflector(stranger)) as sights:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(sights.get(), 0.5)
            for value in rights():
                await real.add(value)
            assert names_of(await sights.get()) == ["a"]
    finally:
        await stranger.close()
        await real.stop()


def rights() -> list[JsonObject]:
    api, meta = "rbac.authorization.k8s.io", {"name": "sees-maps"}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    bound = {
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", **meta},
        "subjects": [{"apiGroup": api, "kind": "User", "name": "stranger"}],
    }
    return [
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": meta, "rules": [rule]},
        {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": meta, **bound},
    ]


FLAVORS = Resource(
    group="kueue.x-k8s.io", version="v9", plural="resourceflavors", kind="ResourceFlavor", namespaced=False
)


async def first_of(reflector: Reflector, resource: Resource) -> Sight:
    async with aclosing(reflector.watch(resource)) as sights, asyncio.timeout(60):
        return await anext(sights)


async def test_a_kind_is_seen_in_the_best_version_that_is_served(cluster: Cluster, client: Recording) -> None:
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}
    await cluster.add(flavor)
    found = await first_of(Reflector(client), replace(FLAVORS, older=("v8", "v1beta2", "v1beta1")))
    assert isinstance(found, Listed) and [one["metadata"]["name"] for one in found.objects] == ["f"]
    asked = [path.split("/")[3] for _, path, _ in client.answers if "resourceflavors" in path]
    assert asked[:3] == ["v9", "v8", "v1beta2"] and "v1beta1" not in asked


async def test_a_kind_that_is_served_in_no_version_is_named_with_those_that_can_be_read(client: Recording) -> None:
    unserved, told = replace(FLAVORS, older=("v8",)), asyncio.Queue[EventDict]()

    def hear(_logger: object, _method: str, line: EventDict) -> EventDict:
        told.put_nowait(line)
        raise DropEvent

    with capture_logs(processors=[hear]):
        task = asyncio.create_task(first_of(Reflector(client), unserved))
        async with asyncio.timeout(60):
            said = await told.get()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "in any version that can be read" in said["event"]
    assert (said["kind"], said["group"], said["versions"]) == ("ResourceFlavor", "kueue.x-k8s.io", "v9, v8")
    with pytest.raises(ObjectMissing):
        await first_of(Reflector(client, patient=False), unserved)
