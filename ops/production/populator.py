"""Which namespaces lack the local queue that everybody is to have, and that they get it, as with Kueue's populator.

Rule: docs/populator.md
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing

import msgspec
import structlog

from events.api.labels import AUTO_GENERATED
from events.json_object import JsonObject, object_at
from events.selector import LabelSelector
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from ops.production.webhook.multikueue_queues import CLUSTER_QUEUES
from projections.nodes.affinity import selects
from services.runtime.cluster_port import (
    NAMESPACES,
    AccessRefused,
    Changed,
    ClusterUnavailable,
    Listed,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Sight,
    Vanished,
)
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import cluster_queue

log = structlog.get_logger()

READ = (NAMESPACES, CLUSTER_QUEUES, LOCAL_QUEUES)
_AGAIN_S = 5.0
Key = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""


class WantedQueue(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A local queue that a namespace is to have: of this cluster queue."""

    namespace: str
    name: str
    cluster_queue: str
    taken_by: str = ""
    """The other cluster queue of which there is a local queue of that name already; it is left alone."""

    def manifest(self) -> JsonObject:
        """The object as it is made."""
        meta = {"name": self.name, "namespace": self.namespace, "labels": {AUTO_GENERATED: "true"}}
        spec = {"clusterQueue": self.cluster_queue}
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": meta, "spec": spec}


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: the name of the queues, and the namespaces that may get one; all of them without a selector."""

    name: str
    namespaces: LabelSelector | None = None

    def wanted(self, seen: Mapping[str, Mapping[Key, JsonObject]]) -> Iterator[WantedQueue]:
        """By kind what there is in the cluster; each namespace that lacks the queue, or has it of a queue that does not select it."""
        queues = [(name, found) for (_, name), found in sorted(seen["ClusterQueue"].items()) if not _leaves(found)]
        selectors = [(name, one) for name, found in queues if (one := _selector_of(found)) is not None]
        for (_, space), found in sorted(seen["Namespace"].items()):
            labels = {**object_at(found, "metadata", "labels"), "kubernetes.io/metadata.name": space}
            if _leaves(found) or (self.namespaces is not None and not selects(self.namespaces, labels)):
                continue
            fitting = [name for name, one in selectors if selects(one, labels)]
            there = seen["LocalQueue"].get((space, self.name))
            of = "" if there is None else str(object_at(there, "spec").get("clusterQueue", ""))
            if fitting and of not in fitting:
                yield WantedQueue(namespace=space, name=self.name, cluster_queue=fitting[0], taken_by=of)


def _leaves(value: JsonObject) -> bool:
    return bool(object_at(value, "metadata").get("deletionTimestamp"))


def _selector_of(queue: JsonObject) -> LabelSelector | None:
    """Whom a cluster queue selects; nobody where it does not say, or can't be understood."""
    try:
        found = cluster_queue(queue)
    except Refused as problem:
        log.warning(
            "not understood", kind="ClusterQueue", name=object_at(queue, "metadata").get("name"), problem=str(problem)
        )
        return None
    return getattr(found, "namespaces", None)


async def populated(client: KubeClient, population: Population, *, writes: bool = True) -> list[WantedQueue]:
    """Make what is missing now, or only say it. Raises what the API server answers."""
    seen: dict[str, dict[Key, JsonObject]] = {}
    for resource in READ:
        async with aclosing(_sights(client, resource, patient=False)) as sights:
            _, sight = await anext(sights)
            _note(seen, resource, sight)
    found = list(population.wanted(seen))
    for one in found if writes else ():
        if not one.taken_by:
            await make(client, one)
    return found


async def make(client: KubeClient, queue: WantedQueue) -> None:
    """Make one; that somebody else was faster is as well. Raises what the API server answers."""
    try:
        await client.create(LOCAL_QUEUES, queue.namespace, queue.manifest())
        log.info("local queue made", namespace=queue.namespace, name=queue.name, cluster_queue=queue.cluster_queue)
    except ObjectConflict:
        pass


async def keep_populated(client: KubeClient, population: Population) -> None:
    """Make what is missing whenever anything changes, for ever; what the API server refuses is tried again with the next change."""
    news: asyncio.Queue[tuple[Resource, Sight]] = asyncio.Queue()
    seen: dict[str, dict[Key, JsonObject]] = {}
    said: dict[tuple[str, str], WantedQueue] = {}
    async with asyncio.TaskGroup() as tasks:
        for resource in READ:
            tasks.create_task(_follow(client, resource, news))
        while True:
            failed = False
            if news.empty() and len(seen) == len(READ):
                failed = await _catch_up(client, list(population.wanted(seen)), said)
            try:
                resource, sight = await asyncio.wait_for(news.get(), _AGAIN_S if failed else None)
            except TimeoutError:
                continue
            _note(seen, resource, sight)


async def _catch_up(client: KubeClient, wanted: list[WantedQueue], said: dict[tuple[str, str], WantedQueue]) -> bool:
    """Make these, and say of each once why it is not made; whether any is to be tried again."""
    failed = False
    for one in wanted:
        try:
            if not one.taken_by:
                await make(client, one)
            elif said.get((one.namespace, one.name)) != one:
                said[one.namespace, one.name] = one
                log.warning("not made", namespace=one.namespace, name=one.name, problem=why_not(one))
        except (AccessRefused, ClusterUnavailable, ObjectInvalid, ObjectMissing) as problem:
            failed = True
            log.warning("not made", namespace=one.namespace, name=one.name, problem=str(problem))
    return failed


def why_not(queue: WantedQueue) -> str:
    """Why a queue is not made."""
    return (
        f"there is a LocalQueue {queue.name} of ClusterQueue {queue.taken_by} in namespace {queue.namespace} already, "
        f"which {queue.cluster_queue} selects: delete it, or take the namespace out of its namespaceSelector"
    )


async def _follow(client: KubeClient, resource: Resource, news: "asyncio.Queue[tuple[Resource, Sight]]") -> None:
    async with aclosing(_sights(client, resource)) as sights:
        async for one in sights:
            await news.put(one)


async def _sights(
    client: KubeClient, resource: Resource, *, patient: bool = True
) -> AsyncGenerator[tuple[Resource, Sight]]:
    async with aclosing(Reflector(client, patient=patient).watch(resource)) as sights:
        async for sight in sights:
            yield resource, sight


def _note(seen: dict[str, dict[Key, JsonObject]], resource: Resource, sight: Sight) -> None:
    table = seen.setdefault(resource.kind, {})
    match sight:
        case Listed(objects=objects):
            seen[resource.kind] = {_key(one): one for one in objects}
        case Changed(object=value):
            table[_key(value)] = value
        case Vanished(object=value):
            table.pop(_key(value), None)


def _key(value: JsonObject) -> Key:
    meta = object_at(value, "metadata")
    return str(meta.get("namespace", "")), str(meta.get("name", ""))
