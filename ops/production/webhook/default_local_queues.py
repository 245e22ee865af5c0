"""The local queues that there are: which namespaces have one named `default`, and whether one that a new job names is there."""

import asyncio

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject, object_at, objects_at
from events.settings import MissingQueuePolicy
from ops.production.webhook.review import ReviewRequest
from services.jobs.default_queue import DEFAULT_QUEUE
from services.jobs.kinds.named_queue import named_queue
from services.runtime.cluster_port import Changed, Listed, ObjectMissing, Reader, Resource, Vanished, Writer
from services.validation.fields.names import why_no_subdomain
from services.validation.problem import Problem, invalid

LOCAL_QUEUES = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="localqueues", kind="LocalQueue")
_KUEUES = LOCAL_QUEUES.group


class DefaultLocalQueues:
    """Namespaces that have a LocalQueue called `default`, and all that they have, kept up to date by one watch."""

    def __init__(self, reader: Reader) -> None:
        self.listed = asyncio.Event()
        self.names: dict[str, set[str]] = {}
        """By namespace."""
        self._reader = reader

    @property
    def open(self) -> set[str]:
        """The namespaces with one for everybody."""
        return {namespace for namespace, names in self.names.items() if DEFAULT_QUEUE in names}

    async def run(self) -> None:
        """Watch until cancelled."""
        async for sight in self._reader.watch(LOCAL_QUEUES):
            match sight:
                case Listed():
                    self.names = {}
                    for one in sight.objects:
                        self._note(one)
                    self.listed.set()
                case Changed():
                    self._note(sight.object)
                case Vanished():
                    namespace, name = _place(sight.object)
                    self.names.get(namespace, set()).discard(name)

    def _note(self, value: JsonObject) -> None:
        namespace, name = _place(value)
        self.names.setdefault(namespace, set()).add(name)


class MissingQueues:
    """Whether local queues are there that new jobs name; one that is new to the watch is asked for.

    Rule: docs/rules/queues.md#missing-queues
    """

    def __init__(self, known: DefaultLocalQueues, writer: Writer, policy: MissingQueuePolicy) -> None:
        self._known, self._writer, self._policy = known, writer, policy

    async def problems_of(self, asked: ReviewRequest) -> list[Problem]:
        """That a job names a queue that is not there, unless it may wait for it. May raise `ClusterUnavailable`."""
        queue = _asked_anew(asked)
        if self._policy is MissingQueuePolicy.WAIT or not queue:
            return []
        if queue in self._known.names.get(asked.namespace, ()):
            return []
        if not why_no_subdomain(queue) and await self._is_there(asked.namespace, queue):
            return []
        there = ", ".join(sorted(self._known.names.get(asked.namespace, ())))
        what = f"there is no LocalQueue {queue} in namespace {asked.namespace}"
        what += f"; there are: {there}" if there else "; there are none"
        return [invalid(f"metadata.labels[{QUEUE_NAME}]", queue, what, "a LocalQueue of the namespace")]

    async def _is_there(self, namespace: str, queue: str) -> bool:
        try:
            await self._writer.get(LOCAL_QUEUES, namespace, queue)
        except ObjectMissing:
            return False
        return True


def _asked_anew(asked: ReviewRequest) -> str:
    """The queue that a new job names, or another one than before; empty where its owner was asked already, or it leaves."""
    value = asked.object or {}
    meta = object_at(value, "metadata")
    owned = any(one.get("controller") for one in objects_at(meta, "ownerReferences"))
    if asked.kind.get("group") == _KUEUES or asked.sub_resource or owned or meta.get("deletionTimestamp"):
        return ""
    queue = named_queue(value)
    return "" if queue == named_queue(asked.old_object or {}) else queue


def _place(value: JsonObject) -> tuple[str, str]:
    return str(value["metadata"]["namespace"]), str(value["metadata"]["name"])
