"""Who may ask what, as the API server answers by SubjectAccessReview; each answer is good for some seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from events.json_object import JsonObject
from ops.production.visibility.front_proxy import Person

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MASTERS = "system:masters"
"""Whom an API server allows everything: it never has to be asked about them."""
GOOD_S = 10.0
MOST = 4096
"""So many answers are kept at most."""


class ApiServer(Protocol):
    """Where reviews are asked for."""

    async def request(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """One request. May raise `ClusterUnavailable` and what else the API server says."""
        ...


class AccessReviews:
    """Asks at most once at a time about the same thing, and again when an answer is `good` seconds old."""

    def __init__(self, server: ApiServer, now: Callable[[], float], good: float = GOOD_S) -> None:
        self._server, self._now, self._good = server, now, good
        self._kept: dict[bytes, tuple[float, bool]] = {}
        self._asking: dict[bytes, asyncio.Task[bool]] = {}

    async def allowed(self, person: Person, attributes: JsonObject) -> bool:
        """Whether this person may do that: `attributes` as in the spec of a SubjectAccessReview."""
        if MASTERS in person.groups:
            return True
        spec = {
            "user": person.user,
            "uid": person.uid,
            "groups": list(person.groups),
            "extra": person.extra,
            **attributes,
        }
        key = msgspec.json.encode(spec, order="sorted")
        until, answer = self._kept.get(key, (0.0, False))
        return answer if self._now() < until else await self._ask(key, spec)

    def _ask(self, key: bytes, spec: JsonObject) -> Awaitable[bool]:
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._review(key, spec))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return asyncio.shield(task)

    async def _review(self, key: bytes, spec: JsonObject) -> bool:
        body: JsonObject = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        found = await self._server.request("POST", PATH, body)
        status: JsonObject = found.get("status") or {}
        answer = status.get("allowed") is True and status.get("denied") is not True
        self._kept.pop(key, None)
        self._kept[key] = (self._now() + self._good, answer)
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        return answer
