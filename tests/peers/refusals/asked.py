"""Two real API servers with Kueue's definitions: one asks Kueue's webhooks, the other kuelog's."""

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from events.json_object import JsonObject
from ops.production.kubernetes.client import KubeClient, connect, path_of
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing
from tests.peers.build import API_SERVER, KINDS, KUEUE
from tests.peers.refusals.drawn_objects import DrawnObject
from tests.peers.worlds.doing import resource_of
from tests.peers.worlds.job_kinds import PLAYED
from tests.peers.worlds.serving import FRAMEWORK
from tests.peers.worlds.there import GATES
from tests.stage.api_server import ApiServer
from tests.stage.definitions import definitions_of
from tests.stage.installation import Installation, put_there
from tests.stage.kueue_manager import KueueManager

_WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request: ?')
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
        value = drawn.value
        resource = resource_of(value["kind"])
        group, _, version = value["apiVersion"].rpartition("/")
        resource = msgspec.structs.replace(resource, group=group, version=version)
        space, name = value["metadata"].get("namespace", ""), value["metadata"]["name"]
        try:
            if drawn.before is None:
                made = await self._client.request("POST", f"{path_of(resource, space)}?dryRun=All", value)
                return _taken(made)
            made = await self._client.request("POST", path_of(resource, space), drawn.before)
            try:
                stored = {
                    **value,
                    "metadata": {**value["metadata"], "resourceVersion": made["metadata"]["resourceVersion"]},
                }
                for _ in range(5):
                    try:
                        put = await self._client.request("PUT", f"{path_of(resource, space, name)}?dryRun=All", stored)
                        return _taken(put)
                    except ObjectConflict:
                        now = await self._client.get(resource, space, name)
                        stored["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
                return Verdict(by="conflict")
            finally:
                with suppress(ObjectMissing):
                    await self._client.merge(resource, space, name, {"metadata": {"finalizers": None}})
                    await self._client.delete(resource, space, name)
        except (ObjectInvalid, ClusterUnavailable, ObjectMissing, ObjectConflict) as refused:
            return _refused(str(refused))


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
    kinds = [yaml.load(one.read_text(), Loader=yaml.CSafeLoader) for one in sorted((peers / KINDS).glob("*.yaml"))]
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
                for value in definitions:
                    await put_there(client, {**value, "spec": {**value["spec"], "conversion": {"strategy": "None"}}})
                await manager.install(client, definitions)
                stack.push_async_callback(manager.stop)
                await manager.start(client, definitions)
            else:
                installed = Installation(server.kubeconfig, server.folder, server=server, defined=definitions)
                stack.callback(installed.stop)
                await installed.install(client)
        yield Asking(clients[0]), Asking(clients[1])
