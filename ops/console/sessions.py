"""Sessions of browsers: a token that somebody has shown stays on the server, the browser holds a random name for it alone."""

import secrets
from collections.abc import Callable

from aiohttp import web

COOKIE = "__Host-kuelog"
LASTS_S = 12 * 3600.0
MOST, OF_ONE = 1024, 16
"""So many are kept at most, in all and of one person; the oldest goes first."""


class Sessions:
    """The tokens behind cookies. A session ends with its token, after twelve hours, when it is closed, or with the process."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: dict[str, tuple[float, str, str]] = {}

    def open(self, answer: web.StreamResponse, token: str, user: str) -> None:
        """Begin one, and give the browser its name."""
        name = secrets.token_urlsafe(32)
        # Who signs in again and again ends sessions of their own, and not those of everybody else.
        of_user = [one for one, (_, _, owner) in self._kept.items() if owner == user]
        for one in of_user[: max(len(of_user) + 1 - OF_ONE, 0)]:
            del self._kept[one]
        self._kept[name] = (self._now() + LASTS_S, token, user)
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        # No script reads it, no other site has it sent, and over plain HTTP it goes to this machine alone.
        answer.set_cookie(COOKIE, name, max_age=int(LASTS_S), path="/", secure=True, httponly=True, samesite="Strict")

    def close(self, request: web.Request, answer: web.StreamResponse) -> None:
        """End the one of a request."""
        self._kept.pop(request.cookies.get(COOKIE, ""), None)
        answer.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")

    def token(self, request: web.Request) -> str:
        """The token behind a request; empty where it has no session."""
        until, token, _ = self._kept.get(request.cookies.get(COOKIE, ""), (0.0, "", ""))
        return token if self._now() < until else ""
