"""Two real API servers with Kueue's definitions: one asks Kueue's webhooks, the other kuelog's."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from events.json_object import JsonObject
from ops.production.kubernetes.client import KubeClient, connect, path_of
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.build import API_SERVER, KINDS, KUEUE
from tests.peers.refusals.drawn_objects import DrawnObject
from tests.peers.worlds.doing import resource_of
from tests.peers.worlds.job_kinds import PLAYED
from tests.peers.worlds.serving import FRAMEWORK
from tests.peers.worlds.there import GATES
from tests.stage.api_server import ApiServer
from tests.stage.definitions import definitions_in, definitions_of
from tests.stage.installation import Installation, put_there
from tests.stage.kueue_manager import KueueManager

_WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request: ?')
_TRIES = 5
_OF_SERVER = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"})


class Verdict(msgspec.Struct, frozen=True):
    """What an API server has answered."""

    taken: JsonObject | None = None
    """As it would be stored; None where it is refused."""
    by: str = ""
    """Who refuses it: `webhook`, or `schema` for the API server itself."""
    message: str = ""


class Asked(NamedTuple):
    """An object, and what both say of it."""

    drawn: DrawnObject
    there: Verdict
    here: Verdict


class Asking:
    """An API server that is asked what it would store."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def answer(self, drawn: DrawnObject) -> Verdict:
        """What it says of an object, of which nothing stays."""
        group, _, version = drawn.value["apiVersion"].rpartition("/")
        resource = msgspec.structs.replace(resource_of(drawn.value["kind"]), group=group, version=version)
        try:
            if drawn.before is None:
                return await self._created(resource, drawn.value)
            if drawn.part:
                return await self._written(resource, drawn.before, drawn.value, drawn.part)
            return await self._put(resource, drawn.before, drawn.value)
        except (ObjectInvalid, ClusterUnavailable, ObjectMissing, ObjectConflict) as refused:
            return _refused(str(refused))

    async def _created(self, resource: Resource, value: JsonObject) -> Verdict:
        space = value["metadata"].get("namespace", "")
        return _taken(await self._client.request("POST", f"{path_of(resource, space)}?dryRun=All", value))

    async def _put(self, resource: Resource, before: JsonObject, value: JsonObject) -> Verdict:
        """In the place of what is there."""
        path = path_of(resource, value["metadata"].get("namespace", ""), value["metadata"]["name"])

        async def put(now: JsonObject) -> Verdict:
            meta = {**value["metadata"], "resourceVersion": now["metadata"]["resourceVersion"]}
            return _taken(await self._client.request("PUT", f"{path}?dryRun=All", {**value, "metadata": meta}))

        return await self._over(resource, before, put)

    async def _written(self, resource: Resource, before: JsonObject, value: JsonObject, part: str) -> Verdict:
        """A part of it in the place of that part which is written first."""
        path = f"{path_of(resource, value['metadata'].get('namespace', ''), value['metadata']['name'])}/{part}"

        async def written(now: JsonObject) -> Verdict:
            now = await self._client.request("PUT", path, {**now, part: before[part]})
            whole = {**now, part: value.get(part, {})}
            return _taken(await self._client.request("PUT", f"{path}?dryRun=All", whole))

        return await self._over(resource, before, written)

    async def _over(
        self, resource: Resource, before: JsonObject, write: Callable[[JsonObject], Awaitable[Verdict]]
    ) -> Verdict:
        """What is said of a write over an object that is made for it, once more where controllers have changed that meanwhile."""
        space, name = before["metadata"].get("namespace", ""), before["metadata"]["name"]
        now = await self._client.request("POST", path_of(resource, space), before)
        try:
            for _ in range(_TRIES):
                try:
                    return await write(now)
                except ObjectConflict:
                    now = await self._client.get(resource, space, name)
            return Verdict(by="conflict")
        finally:
            with suppress(ObjectMissing):
                await self._client.merge(resource, space, name, {"metadata": {"finalizers": None}})
                await self._client.delete(resource, space, name)


def _taken(made: JsonObject) -> Verdict:
    text = msgspec.json.encode(made).decode().replace(made["metadata"]["uid"], "UID")
    value: Any = msgspec.json.decode(text)
    value["metadata"] = {key: one for key, one in value["metadata"].items() if key not in _OF_SERVER}
    value.pop("status", None)
    return Verdict(taken=value)


def _refused(message: str) -> Verdict:
    found = _WEBHOOK.search(message)
    return Verdict(by="webhook" if found else "schema", message=message[found.end() :] if found else message)


@asynccontextmanager
async def both(peers: Path, folder: Path) -> AsyncGenerator[tuple[Asking, Asking]]:
    """Kueue's, and kuelog's; they end with the block."""
    kinds = definitions_in(peers / KINDS)
    definitions = definitions_of("kueue")
    async with AsyncExitStack() as stack:
        clients: list[KubeClient] = []
        for whose in ("kueue", "kuelog"):
            server = ApiServer(peers / API_SERVER, folder / whose)
            stack.callback(server.stop)
            server.start()
            client = await connect(str(server.kubeconfig))
            stack.push_async_callback(client.close)
            clients.append(client)
            for value in kinds:
                await put_there(client, value)
            if whose == "kueue":
                frameworks = (*(one.framework for one in PLAYED.values()), FRAMEWORK)
                manager = KueueManager(peers / KUEUE / "manager", server.kubeconfig, folder, *frameworks, gates=GATES)
                await manager.install(client, definitions)
                stack.push_async_callback(manager.stop)
                await manager.start(client, definitions)
            else:
                installed = Installation(server.kubeconfig, server.folder, server=server, defined=definitions)
                stack.callback(installed.stop)
                await installed.install(client)
        yield Asking(clients[0]), Asking(clients[1])
