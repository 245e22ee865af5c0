"""A real API server as the cluster of a test, which leaves it empty for the next one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests as definitions
from ops.production.deploy.chart import NAMESPACE
from ops.production.kubernetes.client import KubeClient, connect, path_of
from ops.production.process.clock import ScaledClock
from services.jobs.kinds.table import KINDS, SERVING
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource
from tests.stage.caches import Caches
from tests.stage.cluster import PATIENCE_S, WORKLOADS, Name
from tests.stage.installation import APPLY, DEFINED, JOBS, SPACES, Installation, served
from tests.stage.players import Players

READ = (
    *("nodes", "pods", "podtemplates", "jobs.batch", "events", "resourceclaims.resource.k8s.io"),
    *(
        f"{one}.kueue.x-k8s.io"
        for one in (
            "clusterqueues",
            "localqueues",
            "cohorts",
            "resourceflavors",
            "topologies",
            "admissionchecks",
            "multikueueclusters",
            "workloads",
        )
    ),
)
"""What stories look at, besides the kinds that they define."""
SWEPT = (
    "jobs.batch",
    "pods",
    "podtemplates",
    "events",
    "limitranges",
    "resourcequotas",
    *(one["metadata"]["name"] for one in definitions()),
)
"""Kinds of which nothing outlives a test; of others goes what it has made itself."""
KNOWN = frozenset({one.group for one in (*KINDS, *SERVING.values())})
_FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
_TOO_MANY = 429
_GOOD_BYE_S = 0.1
NOT_READY = "node.kubernetes.io/not-ready"


class Real:
    """A cluster behind a real API server."""

    real = True

    def __init__(
        self,
        installation: Installation,
        clock: ScaledClock,
        *,
        webhooks: bool = True,
        controllers: bool = True,
        older: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.installation, self.kubeconfig = installation, installation.kubeconfig
        self._clock, self._webhooks, self._controllers = clock, webhooks, controllers
        self._older = older
        """By group, the version in which alone it is served."""
        server = installation.server
        self.managed = server is None or server.has("kube-controller-manager")
        self._made: list[JsonObject] = []
        self._playing: asyncio.Task[None] | None = None
        self._client: KubeClient
        self._caches: Caches

    async def start(self) -> None:
        self._client = await connect(str(self.kubeconfig), service="tests")
        self._caches = Caches(self._client)
        for group, version in self._older.items():
            self._caches.serve_older(group, version)
        await self.installation.install(self._client)
        for value in (await self._client.request("GET", path_of(DEFINED)))["items"]:
            self._caches.learn(value)
        await self._caches.follow(*READ)
        await self._sweep()
        if not self._webhooks:
            await self.installation.spare_webhooks(self._client)
        server = self.installation.server
        if server is not None and self._controllers:
            players = Players(
                self._client,
                self._caches,
                self._clock,
                SPACES,
                jobs=not self.managed,
                garbage=not self.managed,
                scheduler=not server.has("kube-scheduler"),
            )
            self._playing = asyncio.create_task(players.run())

    async def stop(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)
        try:
            if self._caches.followed:
                await self._sweep()
                if not self._webhooks:
                    await self.installation.ask_webhooks(self._client)
        finally:
            await self._caches.close()
            await self._client.close()
            # Connections of requests that were given up end by themselves, and the event loop must still be there.
            await asyncio.sleep(_GOOD_BYE_S)

    async def connect(self, service: str) -> KubeClient:
        kubeconfig = await self.kubeconfig_of(service) if service else self.kubeconfig
        return await connect(str(kubeconfig), service=service or "tests")

    async def kubeconfig_of(self, service: str) -> Path:
        return await self.installation.kubeconfig_of(self._client, service)

    async def add(self, value: JsonObject) -> None:
        resource, meta = self._caches.resource_of(value), value["metadata"]
        space = meta.get("namespace", "")
        self._made.append(value)
        try:
            made = await self._client.create(resource, space, value)
        except ObjectConflict:
            made = value
        if (key := self._caches.kind_of(value).key) in self._caches.followed:
            await self._caches.refresh(key)  # Whoever adds an object may ask for it at once.
        if resource == DEFINED:
            await served(self._client, value)
            await self._caches.follow(self._caches.learn(value))
        elif resource.kind == "Node":
            await self._make_ready(made)
        elif "status" in value and "status" not in made:
            await self._client.merge(resource, space, meta["name"], {"status": value["status"]}, subresource="status")

    def get(self, key: str, name: Name) -> JsonObject | None:
        return self._caches.of(key).get(name)

    def of(self, key: str) -> Mapping[Name, JsonObject]:
        return self._caches.of(key)

    def changes(self, key: str) -> int:
        return self._caches.followed[key].changes

    async def until(self, holds: Callable[[], bool]) -> None:
        news: asyncio.Queue[str] = asyncio.Queue()
        self._caches.news.add(news)
        try:
            while not holds():
                if self._playing is not None and self._playing.done():
                    self._playing.result()
                try:
                    await asyncio.wait_for(news.get(), PATIENCE_S)
                except TimeoutError:
                    raise AssertionError(await self._what_stands_still()) from None
            await self._caches.refresh()
        finally:
            self._caches.news.discard(news)

    async def _what_stands_still(self) -> str:
        seen = {name: one.get("status", {}).get("conditions") for name, one in self.of(WORKLOADS).items()}
        await self._caches.refresh()
        there = {name: one.get("status", {}).get("conditions") for name, one in self.of(WORKLOADS).items()}
        return f"nothing changed for {PATIENCE_S:g} s; workloads as the watch told them: {seen}; as they are: {there}"

    async def restart(self, *, forget: bool = False) -> None:
        server = self.installation.server
        assert server is not None, "a cluster that is not ours is not restarted"
        server.kill_api()
        if forget:
            server.compact()
        await asyncio.to_thread(server.start_api)

    @asynccontextmanager
    async def overloaded(self, service: str) -> AsyncGenerator[None]:
        """By the API server's own priority and fairness: a level that has room for one request at a time."""
        name = f"little-room-for-{service}"
        for plural, value in _little_room_for(service):
            await self._client.request(
                "PATCH", f"{_FLOWS}/{plural}/{name}?fieldManager=tests&force=true", value, form=APPLY
            )
        asking = await self.connect(service)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not any(await asyncio.gather(*(_is_put_off(asking) for _ in range(20)))):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)  # It takes effect some time later.
        finally:
            await asking.close()
        yield
        for plural, _ in _little_room_for(service):
            await self._client.request("DELETE", f"{_FLOWS}/{plural}/{name}")

    async def _make_ready(self, node: JsonObject) -> None:
        """A new node bears a taint until its controller has seen that it is ready."""
        taints = [one for one in node["spec"].get("taints") or () if one["key"] != NOT_READY]
        resource = self._caches.resource_of(node)
        await self._client.merge(resource, "", node["metadata"]["name"], {"spec": {"taints": taints or None}})

    async def _sweep(self) -> None:
        """Delete what tests have made until nothing of it is left, whoever holds it or makes it anew meanwhile."""
        async with asyncio.timeout(PATIENCE_S):
            while found := await self._left():
                await asyncio.gather(*(self._delete(resource, one) for resource, one in found))
        self._made.clear()

    async def _left(self) -> list[tuple[Resource, JsonObject]]:
        found: list[tuple[Resource, JsonObject]] = []
        spaces = {*SPACES, *(one["metadata"]["name"] for one in self._made if one["kind"] == "Namespace")}
        for key in (*SWEPT, *(one for one in self._caches.followed if one not in READ)):
            resource = self._caches.resource(key)
            with suppress(ObjectMissing):  # Its definition may have gone already.
                told = await self._client.request("GET", path_of(resource))
                found.extend(
                    (resource, one)
                    for one in told["items"]
                    if not resource.namespaced or one["metadata"]["namespace"] in spaces
                )
        for value in self._made:
            resource, meta = self._caches.resource_of(value), value["metadata"]
            if resource.kind == "Namespace" or value.get("spec", {}).get("group") in KNOWN:
                continue
            with suppress(ObjectMissing):
                found.append((resource, await self._client.get(resource, meta.get("namespace", ""), meta["name"])))
        return found

    async def _delete(self, resource: Resource, value: JsonObject) -> None:
        meta = value["metadata"]
        space, name = meta.get("namespace", ""), meta["name"]
        with suppress(ObjectMissing):
            if meta.get("finalizers") and resource != DEFINED:
                await self._client.merge(resource, space, name, {"metadata": {"finalizers": None}})
            await self._client.request("DELETE", path_of(resource, space, name), {"gracePeriodSeconds": 0})


async def _is_put_off(client: KubeClient) -> bool:
    url = client.host + path_of(JOBS, SPACES[0], "none")
    async with client.session.get(url, headers=await client.headers()) as answer:
        return answer.status == _TOO_MANY


def _little_room_for(service: str) -> list[tuple[str, JsonObject]]:
    name = f"little-room-for-{service}"
    limited = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": {**limited, "limitResponse": {"type": "Reject"}}}
    account = {"kind": "ServiceAccount", "serviceAccount": {"namespace": NAMESPACE, "name": f"kuelog-{service}"}}
    jobs = {"verbs": ["*"], "apiGroups": ["batch"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    schema = {
        "priorityLevelConfiguration": {"name": name},
        "matchingPrecedence": 2,
        "rules": [{"subjects": [account], "resourceRules": [jobs]}],
    }
    api = _FLOWS.removeprefix("/apis/")
    return [
        (
            "prioritylevelconfigurations",
            {"apiVersion": api, "kind": "PriorityLevelConfiguration", "metadata": {"name": name}, "spec": level},
        ),
        ("flowschemas", {"apiVersion": api, "kind": "FlowSchema", "metadata": {"name": name}, "spec": schema}),
    ]
