"""What the console refuses, and the headers of each answer: nothing is loaded from elsewhere, nothing is written."""

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from ops.console.live import NotFolded
from ops.production.archive.errors import (
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveOfAnotherLog,
    FolderUnreadable,
    HistoryIncomplete,
)
from ops.production.listeners.endpoint import is_loopback
from ops.queries.billing.problems import BillRefused
from ops.queries.point import NotOnTheLog
from ops.queries.time_travel import BadTime
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.partition_errors import MessageHalts

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_BAD_REQUEST, _NOT_FOUND, _NOT_ALLOWED, _MISDIRECTED, _UNAVAILABLE = 400, 404, 405, 421, 503

UNREADABLE = (
    NotFolded,
    LogUnavailable,
    LogGap,
    LogRegressed,
    MessageHalts,
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveOfAnotherLog,
    FolderUnreadable,
    HistoryIncomplete,
)
"""Why a log can't be read as it is; each says what to do."""


class BadQuestion(ValueError):
    """A parameter of an address that can't be understood."""


class ConsoleUnserved(Exception):
    """The console can't be served as it was asked for."""


def check_address(address: str) -> None:
    """Raise `ConsoleUnserved` for an address that others than this machine can reach: who may read is not asked yet."""
    if not is_loopback(address):
        raise ConsoleUnserved(
            f"the console can't be served on {address}: it asks nobody who may read, so it listens on this machine alone "
            "(127.0.0.1); reach it from elsewhere by `ssh -L` or `kubectl port-forward`"
        )


def refusal(code: int, message: str) -> web.Response:
    """An error as programs and pages read it."""
    body = msgspec.json.encode({"code": code, "message": message})
    return web.Response(body=body, status=code, content_type="application/json", headers={"Cache-Control": "no-store"})


@web.middleware
async def guarded(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer GET and HEAD under the names of this machine, and nothing else."""
    answer = await _answer(request, handler)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer


async def _answer(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    # DNS rebinding: a foreign page whose name now resolves to this machine would be of one origin with the console.
    if not is_loopback(_host_of(request.headers.get("Host", ""))):
        return refusal(_MISDIRECTED, "this console answers under the names of this machine alone: localhost, 127.0.0.1")
    if request.method not in ("GET", "HEAD"):
        return refusal(_NOT_ALLOWED, "the console only answers questions: GET and HEAD")
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return refusal(_NOT_FOUND, "there is no such page")
    except (BadTime, BadQuestion, BillRefused) as problem:
        return refusal(_BAD_REQUEST, str(problem))
    except NotOnTheLog as problem:
        return refusal(_NOT_FOUND, str(problem))
    except UNREADABLE as problem:
        return refusal(_UNAVAILABLE, str(problem))


def _host_of(text: str) -> str:
    """The host of a Host header, without port and brackets."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
