"""Who may ask what, as the API server answers by SubjectAccessReview; each answer is good for some seconds."""

import hashlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from events.json_object import JsonObject
from ops.production.listeners.front_proxy import Person
from ops.production.listeners.kept_answers import KeptAnswers

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
    """Asks at most once at a time about the same thing, and again when an answer is old.

    A yes is `good` seconds old then; a no is `refused` seconds old, which may be more: who is given a right can wait for it.
    """

    def __init__(
        self,
        server: ApiServer,
        now: Callable[[], float],
        good: float = GOOD_S,
        *,
        refused: float = GOOD_S,
        most: int = MOST,
    ) -> None:
        self._server = server
        self._answers = KeptAnswers[bool](now, lambda allowed: good if allowed else refused, most)

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
        key = hashlib.sha256(msgspec.json.encode(spec, order="sorted")).digest()
        known = self._answers.known(key)
        return known if known is not None else await self._answers.of(key, lambda: self._review(spec))

    async def _review(self, spec: JsonObject) -> bool:
        body: JsonObject = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        found = await self._server.request("POST", PATH, body)
        status: JsonObject = found.get("status") or {}
        return status.get("allowed") is True and status.get("denied") is not True
