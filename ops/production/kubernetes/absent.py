"""The cluster of services that need none: every request fails, because only watcher and applier may send any."""

from collections.abc import AsyncIterator

from events.json_object import JsonObject
from services.runtime.cluster_port import Resource, Sight


class ClusterNotMine(Exception):
    """A service that decides has sent a request to the cluster: only watcher and applier may."""

    def __init__(self) -> None:
        super().__init__(
            "this service was given no cluster: only the watcher sees it, and only the applier writes to it"
        )


class AbsentCluster:
    """Reader and writer of nothing."""

    def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """Refused."""
        raise ClusterNotMine

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Refused."""
        raise ClusterNotMine

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        """Refused."""
        raise ClusterNotMine

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """Refused."""
        raise ClusterNotMine

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """Refused."""
        raise ClusterNotMine

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        """Refused."""
        raise ClusterNotMine
