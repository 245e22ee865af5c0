"""What the console refuses, and the headers of each answer: nothing is loaded from elsewhere, nothing is written."""

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from ops.console.live import NotFolded
from ops.console.rights import Forbidden
from ops.console.whatif_words import NotRunHere, TooManyRuns
from ops.production.archive.errors import LOG_UNREADABLE
from ops.production.listeners.endpoint import is_loopback
from ops.production.listeners.front_proxy import Unproven
from ops.production.listeners.token_review import TooManyTokens
from ops.queries.billing.problems import BillRefused
from ops.queries.point import NotOnTheLog
from ops.queries.settings_change import BadChange
from ops.queries.time_travel import BadTime
from services.runtime.cluster_port import (
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
)

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED = 400, 401, 403, 404, 405
_MISDIRECTED, _TOO_LARGE, _WRONG_FORM, _UNAVAILABLE = 421, 413, 415, 503
_READING = frozenset({"GET", "HEAD"})
_HTTP = {
    _NOT_FOUND: "there is no such page",
    _NOT_ALLOWED: "that is not how it is asked",
    _TOO_LARGE: "that is more than the console takes",
    _WRONG_FORM: "write application/json",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BadQuestion(ValueError):
    """A parameter of an address that can't be understood."""


class ConsoleUnserved(Exception):
    """The console can't be served as it was asked for."""


class FromElsewhere(Exception):
    """A page of another site has a browser send something here."""


class NoReview(Exception):
    """The API server does not say who asks, or what they may read."""


UNREVIEWED = (ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing)
"""Why an API server gives no review."""
_CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((BadTime, BadChange, BadQuestion, BillRefused), _BAD_REQUEST),
    ((Unproven,), _UNAUTHORIZED),
    ((Forbidden, FromElsewhere), _FORBIDDEN),
    ((NotOnTheLog,), _NOT_FOUND),
    ((NotFolded, *LOG_UNREADABLE, NoReview, NotRunHere, TooManyRuns, TooManyTokens), _UNAVAILABLE),
)
REFUSED = tuple(kind for kinds, _ in _CODES for kind in kinds)


def check_address(address: str, *, reviewed: bool, encrypted: bool) -> None:
    """Raise `ConsoleUnserved` for an address that others than this machine can reach, unless it is known who may read, and tokens
    are not sent in plain text.
    """
    if is_loopback(address):
        return
    if not reviewed:
        raise ConsoleUnserved(
            f"the console can't be served on {address} to everybody: say --access token (people show bearer tokens of the cluster) or "
            "--access proxy (a proxy signs them in), or keep it on 127.0.0.1 and reach it by `ssh -L` or `kubectl port-forward`"
        )
    if not encrypted:
        raise ConsoleUnserved(
            f"the console can't be served on {address} in plain text, tokens and secrets would be read on the way: name a "
            "certificate with --tls-cert and --tls-key, or with --service the Service whose certificate it is to make itself"
        )


def refusal(code: int, message: str, **more: str) -> web.Response:
    """An error as programs and pages read it."""
    body = msgspec.json.encode({"code": code, "message": message})
    headers = {"Cache-Control": "no-store", **more}
    return web.Response(body=body, status=code, content_type="application/json", headers=headers)


class Guard:
    """What stands before every answer; with `names` only those of this machine are answered under.

    `written` are the methods besides GET and HEAD, each with the path that something is sent to, or that begins with it and a slash.
    """

    def __init__(self, *, names: bool, written: frozenset[tuple[str, str]]) -> None:
        self._names, self._written = names, written

    def middleware(self) -> Callable[..., Awaitable[web.StreamResponse]]:
        """As an application takes it."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            answer = await self._answer(request, handler)
            if not answer.prepared:
                answer.headers.update(HEADERS)
            return answer

        return guarded

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        # DNS rebinding: a foreign page whose name now resolves to this machine would be of one origin with the console.
        if self._names and not is_loopback(_host_of(request.headers.get("Host", ""))):
            message = "this console answers under the names of this machine alone: localhost, 127.0.0.1"
            return refusal(_MISDIRECTED, message)
        if request.method not in _READING and not self._is_written(request.method, request.path):
            return refusal(_NOT_ALLOWED, "the console only answers questions: GET and HEAD")
        try:
            if request.method not in _READING:
                check_origin(request)
            return await handler(request)
        except web.HTTPException as problem:
            if problem.status not in _HTTP:
                raise
            return refusal(problem.status, _HTTP[problem.status])
        except REFUSED as problem:
            return refused(problem)

    def _is_written(self, method: str, path: str) -> bool:
        return any(method == one and (path == start or path.startswith(f"{start}/")) for one, start in self._written)


def check_origin(request: web.Request) -> None:
    """Raise `FromElsewhere` where a browser sends this for a page that is not ours. Programs are no browsers, and say nothing."""
    fetched, origin = request.headers.get("Sec-Fetch-Site", ""), request.headers.get("Origin", "")
    ours = (
        fetched == "same-origin" if fetched else not origin or origin.partition("://")[2] == request.headers.get("Host")
    )
    if not ours:
        raise FromElsewhere("a page of another site asks for this")


def refused(problem: Exception, words: Callable[[str], str] = str) -> web.Response:
    """One of `REFUSED` as an answer; `words` leaves out what who asks may not read."""
    code = next(code for kinds, code in _CODES if isinstance(problem, kinds))
    more: dict[str, str] = {}
    if code == _UNAUTHORIZED:
        more["WWW-Authenticate"] = 'Bearer realm="kuelog"'
    if isinstance(problem, TooManyTokens):
        more["Retry-After"] = "1"
    return refusal(code, words(str(problem)), **more)


def _host_of(text: str) -> str:
    """The host of a Host header, without port and brackets."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
