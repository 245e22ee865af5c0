"""The rights of a person, as the API server answers by SubjectAccessReview: never our own idea of them."""

import asyncio
import hashlib
from collections.abc import Callable, Collection

import msgspec

from events.json_object import JsonObject
from ops.console.rights import Rights
from ops.production.listeners.access_review import AccessReviews, ApiServer
from ops.production.listeners.front_proxy import Person
from ops.production.listeners.kept_answers import KeptAnswers

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
GOOD_S, REFUSED_S = 10.0, 60.0
"""A right that is taken away counts no longer after this time, one that is given counts after that."""
TOGETHER_S = 2.0
"""What somebody may read is put together anew after this time."""
MOST_REVIEWS, MOST_PERSONS = 65_536, 1024
AT_ONCE = 16
"""So many reviews are asked for at once: a cluster has many namespaces, and its API server other work."""


class RightsReviews:
    """Asks what a person may read, namespace by namespace where they may not read all."""

    def __init__(self, server: ApiServer, now: Callable[[], float]) -> None:
        self._reviews = AccessReviews(server, now, GOOD_S, refused=REFUSED_S, most=MOST_REVIEWS)
        self._together = KeptAnswers[Rights](now, lambda _: TOGETHER_S, MOST_PERSONS)
        self._room = asyncio.Semaphore(AT_ONCE)

    async def of(self, person: Person, namespaces: Collection[str]) -> Rights:
        """The rights of a person as far as these namespaces go. May raise `ClusterUnavailable` and what else the API server says."""
        key = hashlib.sha256(msgspec.json.encode((person, sorted(namespaces)), order="sorted")).digest()
        known = self._together.known(key)
        return (
            known if known is not None else await self._together.of(key, lambda: self._put_together(person, namespaces))
        )

    async def _put_together(self, person: Person, namespaces: Collection[str]) -> Rights:
        queues, every = await asyncio.gather(
            self._lists(person, "clusterqueues", ""), self._lists(person, "workloads", "")
        )
        if every:
            return Rights(namespaces=None, queues=queues)
        names = sorted(namespaces)
        allowed = await asyncio.gather(*(self._lists(person, "workloads", name) for name in names))
        readable = frozenset(name for name, may in zip(names, allowed, strict=True) if may)
        return Rights(namespaces=readable, queues=queues)

    async def _lists(self, person: Person, plural: str, namespace: str) -> bool:
        attributes: JsonObject = {"verb": "list", "group": GROUP, "version": VERSION, "resource": plural}
        if namespace:
            attributes["namespace"] = namespace
        async with self._room:
            return await self._reviews.allowed(person, {"resourceAttributes": attributes})
