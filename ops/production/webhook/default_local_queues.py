"""The namespaces in which a local queue named `default` takes in every job that names none."""

import asyncio

from events.json_object import JsonObject
from ops.production.webhook.verdicts import DEFAULT_QUEUE
from services.runtime.cluster_port import Changed, Listed, Reader, Resource, Vanished

LOCAL_QUEUES = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="localqueues", kind="LocalQueue")


class DefaultLocalQueues:
    """Namespaces that have a LocalQueue called `default`, kept up to date by one watch."""

    def __init__(self, reader: Reader) -> None:
        self.open: set[str] = set()
        self.listed = asyncio.Event()
        self._reader = reader

    async def run(self) -> None:
        """Watch until cancelled."""
        async for sight in self._reader.watch(LOCAL_QUEUES):
            match sight:
                case Listed():
                    self.open = {_namespace(one) for one in sight.objects if _is_default(one)}
                    self.listed.set()
                case Changed():
                    if _is_default(sight.object):
                        self.open.add(_namespace(sight.object))
                case Vanished():
                    if _is_default(sight.object):
                        self.open.discard(_namespace(sight.object))


def _is_default(value: JsonObject) -> bool:
    return value["metadata"]["name"] == DEFAULT_QUEUE


def _namespace(value: JsonObject) -> str:
    return str(value["metadata"]["namespace"])
