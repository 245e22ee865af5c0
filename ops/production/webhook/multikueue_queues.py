"""Which local queues lead to other clusters, so that jobs of theirs are given to MultiKueue when they are made.

Rule: docs/rules/multikueue.md#managed-by
"""

import asyncio
from collections.abc import Callable

from events.api.check_controllers import MULTIKUEUE
from events.json_object import JsonObject, object_at, objects_at
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from services.runtime.cluster_port import Changed, Listed, Reader, Resource, Vanished

_GROUP, _VERSION = "kueue.x-k8s.io", "v1beta2"
CLUSTER_QUEUES = Resource(group=_GROUP, version=_VERSION, plural="clusterqueues", kind="ClusterQueue", namespaced=False)
CHECKS = Resource(group=_GROUP, version=_VERSION, plural="admissionchecks", kind="AdmissionCheck", namespaced=False)

Lookup = Callable[[Resource, str, str], JsonObject | None]
"""An object of a kind, by namespace and name; None where there is none."""


def leads_elsewhere(lookup: Lookup, namespace: str, queue: str) -> bool:
    """Whether a local queue leads to a cluster queue that has a check of other clusters."""
    local = lookup(LOCAL_QUEUES, namespace, queue)
    name = object_at(local or {}, "spec").get("clusterQueue")
    found = lookup(CLUSTER_QUEUES, "", str(name)) if name else None
    checks = objects_at(found or {}, "spec", "admissionChecksStrategy", "admissionChecks")
    named = (lookup(CHECKS, "", str(one.get("name", ""))) for one in checks)
    return any(object_at(one or {}, "spec").get("controllerName") == MULTIKUEUE for one in named)


class MultiKueueQueues:
    """LocalQueues, ClusterQueues and AdmissionChecks, kept up to date by a watch of each."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seen: dict[str, dict[tuple[str, str], JsonObject]] = {}

    @property
    def listed(self) -> bool:
        """Whether all of them were seen once."""
        return len(self._seen) == len((LOCAL_QUEUES, CLUSTER_QUEUES, CHECKS))

    async def run(self) -> None:
        """Watch until cancelled."""
        await asyncio.gather(*(self._follow(one) for one in (LOCAL_QUEUES, CLUSTER_QUEUES, CHECKS)))

    def lead_elsewhere(self, namespace: str, queue: str) -> bool:
        """Whether jobs of a local queue run on other clusters."""
        return leads_elsewhere(self._find, namespace, queue)

    def _find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        return self._seen.get(resource.kind, {}).get((namespace, name))

    async def _follow(self, resource: Resource) -> None:
        async for sight in self._reader.watch(resource):
            match sight:
                case Listed():
                    self._seen[resource.kind] = {_place(one): one for one in sight.objects}
                case Changed():
                    self._seen[resource.kind][_place(sight.object)] = sight.object
                case Vanished():
                    self._seen[resource.kind].pop(_place(sight.object), None)


def _place(value: JsonObject) -> tuple[str, str]:
    meta = object_at(value, "metadata")
    return str(meta.get("namespace", "")), str(meta.get("name", ""))
