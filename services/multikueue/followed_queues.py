"""What is seen of the queues of one worker cluster, where the quota of queues here follows them.

Rule: docs/rules/multikueue.md#quota
"""

import asyncio
from contextlib import aclosing, suppress
from itertools import count

from events.amount import Requests, add_requests
from events.json_object import JsonObject, object_at, objects_at
from events.multikueue import RemoteQueue, RemoteQueuesObserved
from events.quantity import BadQuantity, to_units
from services.multikueue.remote_workloads import key_of
from services.multikueue.seen import SeenElsewhere
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Listed, RemoteCluster, Resource, Vanished

LOCAL_QUEUES = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="localqueues", kind="LocalQueue")
CLUSTER_QUEUES = Resource(
    group="kueue.x-k8s.io", version="v1beta2", plural="clusterqueues", kind="ClusterQueue", namespaced=False
)


class FollowedQueues:
    """Tells how the queues of a cluster stand: once for each connection as soon as all were seen, then after each change."""

    def __init__(self, cluster: str, seen: SeenElsewhere, clock: Clock) -> None:
        self.known = asyncio.Event()
        """Set while what there is was told, or nobody asks for it."""
        self._cluster, self._seen, self._clock = cluster, seen, clock
        self._asked: frozenset[str] | None = None
        self._leads: dict[str, str] = {}
        """By key of a LocalQueue there, the ClusterQueue to which it leads."""
        self._nominal: dict[str, Requests] = {}
        """By ClusterQueue there, its nominal quotas."""
        self._listed: set[str] = set()
        self._news = asyncio.Event()
        self._count = count()

    def ask(self, local_queues: frozenset[str] | None) -> bool:
        """The keys of which the namesakes there have to be known, None for nothing at all; whether a connection has to begin anew for that."""
        anew = (self._asked is None) is not (local_queues is None)
        if self._asked != local_queues:
            self._asked = local_queues
            self._news.set()
        return anew

    def begin(self, remote: RemoteCluster) -> list[asyncio.Task[None]]:
        """What goes on as long as a connection does; each raises what a watch raises."""
        self.known.clear()
        self._listed.clear()
        self._leads.clear()
        self._nominal.clear()
        if self._asked is None:
            self.known.set()
            return []
        return [
            asyncio.create_task(self._follow(remote, LOCAL_QUEUES)),
            asyncio.create_task(self._follow(remote, CLUSTER_QUEUES)),
            asyncio.create_task(self._tell()),
        ]

    async def _follow(self, remote: RemoteCluster, resource: Resource) -> None:
        async with aclosing(remote.watch(resource)) as sights:
            async for sight in sights:
                if isinstance(sight, Listed):
                    self._table(resource.kind).clear()
                    for value in sight.objects:
                        self._note(resource.kind, value)
                    self._listed.add(resource.kind)
                elif isinstance(sight, Vanished):
                    self._table(resource.kind).pop(_name_of(resource.kind, sight.object), None)
                else:
                    self._note(resource.kind, sight.object)
                self._news.set()

    async def _tell(self) -> None:
        told: RemoteQueuesObserved | None = None
        while True:
            if len(self._listed) == len((LOCAL_QUEUES, CLUSTER_QUEUES)):
                fact = RemoteQueuesObserved(
                    cluster=self._cluster, queues=remote_queues(self._leads, self._nominal, self._asked or frozenset())
                )
                if fact != told:
                    await self._seen.tell_of_cluster(self._cluster, fact, f"{self._clock.now()}:{next(self._count)}")
                    told = fact
                self.known.set()
            await self._news.wait()
            self._news.clear()

    def _table(self, kind: str) -> dict[str, str] | dict[str, Requests]:
        return self._leads if kind == LOCAL_QUEUES.kind else self._nominal

    def _note(self, kind: str, value: JsonObject) -> None:
        name = _name_of(kind, value)
        if kind == LOCAL_QUEUES.kind:
            self._leads[name] = str(object_at(value, "spec").get("clusterQueue", ""))
        else:
            self._nominal[name] = nominal_in(value)


def _name_of(kind: str, value: JsonObject) -> str:
    return key_of(value) if kind == LOCAL_QUEUES.kind else str(object_at(value, "metadata").get("name", ""))


def nominal_in(cluster_queue: JsonObject) -> Requests:
    """The nominal quotas of a ClusterQueue over all of its groups and flavors, by resource; what can't be read is left out."""
    total: Requests = {}
    for group in objects_at(cluster_queue, "spec", "resourceGroups"):
        for flavor in objects_at(group, "flavors"):
            for one in objects_at(flavor, "resources"):
                name = str(one.get("name", ""))
                with suppress(BadQuantity):
                    total = add_requests(total, {name: to_units(name, one.get("nominalQuota", 0))})
    return dict(sorted(total.items()))


def remote_queues(
    leads: dict[str, str], nominal: dict[str, Requests], asked: frozenset[str]
) -> tuple[RemoteQueue, ...]:
    """The ClusterQueues of a cluster to which any LocalQueue leads that is asked for, by name; one that is not there has no quota to count."""
    doors: dict[str, list[str]] = {}
    for key in sorted(asked & leads.keys()):
        doors.setdefault(leads[key], []).append(key)
    return tuple(
        RemoteQueue(name=name, local_queues=tuple(doors[name]), nominal=nominal[name])
        for name in sorted(doors.keys() & nominal.keys())
    )
