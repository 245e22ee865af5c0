"""Whose a bearer token is, as the API server answers by TokenReview; each answer is good for some seconds."""

import hashlib
from collections.abc import Callable

from events.json_object import JsonObject
from ops.production.listeners.access_review import ApiServer
from ops.production.listeners.front_proxy import Person, Unproven
from ops.production.listeners.kept_answers import KeptAnswers

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
GOOD_S, REFUSED_S = 10.0, 5.0
MOST = 1024
"""So many answers are kept at most; of a token only its hash is."""
LONGEST = 16_384
"""No token has more characters."""
AT_ONCE = 16
"""So many tokens that are not known yet may be asked about at once: strangers make up as many as they like."""


class TooManyTokens(Exception):
    """More unknown tokens are shown at once than the API server is asked about."""

    def __init__(self) -> None:
        super().__init__("too many tokens are being looked at: ask again in a moment")


class TokenReviews:
    """Asks whose a token is; with `audiences` it counts only where it was made for one of them."""

    def __init__(self, server: ApiServer, now: Callable[[], float], audiences: tuple[str, ...] = ()) -> None:
        self._server, self._audiences = server, audiences
        self._answers = KeptAnswers[Person | str](now, _good_s, MOST)

    async def person(self, token: str) -> Person:
        """Whose it is. Raises `Unproven`, `TooManyTokens`, and what the API server says."""
        if not token or len(token) > LONGEST or not token.isascii() or not token.isprintable():
            raise Unproven("that is no bearer token")
        key = hashlib.sha256(token.encode()).digest()
        found = self._answers.known(key)
        if found is None:
            if self._answers.asking >= AT_ONCE:
                raise TooManyTokens
            found = await self._answers.of(key, lambda: self._review(token))
        if isinstance(found, str):
            raise Unproven(found)
        return found

    async def _review(self, token: str) -> Person | str:
        spec: JsonObject = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        body: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        status: JsonObject = (await self._server.request("POST", PATH, body)).get("status") or {}
        user: JsonObject = status.get("user") or {}
        if status.get("authenticated") is not True or not user.get("username"):
            return "the API server does not know this token, or it has expired"
        if self._audiences and not set(self._audiences) & set(status.get("audiences") or ()):
            return f"this token was not made for {', '.join(self._audiences)}"
        return Person(
            user=user["username"],
            uid=user.get("uid") or "",
            groups=tuple(user.get("groups") or ()),
            extra={name: list(values) for name, values in (user.get("extra") or {}).items()},
        )


def _good_s(answer: Person | str) -> float:
    return GOOD_S if isinstance(answer, Person) else REFUSED_S
