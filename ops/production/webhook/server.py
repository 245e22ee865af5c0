"""The webhooks over HTTPS: four paths, a certificate that may change while they are served."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import structlog
from aiohttp import web

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.listeners.bearer import trusted
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.listener_limits import ConnectionLimiter, ListenerLimits
from ops.production.listeners.listening import listening
from ops.production.webhook.configurations import CONVERT, MUTATE, VALIDATE
from ops.production.webhook.conversion import answer_conversion
from ops.production.webhook.default_local_queues import DefaultLocalQueues, MissingQueues
from ops.production.webhook.managed_namespaces import ManagedNamespaces
from ops.production.webhook.owners import Owners
from ops.production.webhook.review import (
    ReviewBroken,
    ReviewRequest,
    cannot_be_read,
    changed,
    judged,
    read_review,
    refused,
)
from ops.production.webhook.verdicts import nowhere, problems_of, stored
from services.runtime.cluster_port import ClusterUnavailable

log = structlog.get_logger()

_MOST_REVIEWED = 8 << 20
"""Bytes: an API server takes requests of 3 MiB, and shows an object as it was and as it will be."""
_MOST_CONVERTED = 32 << 20
"""Bytes: a whole list may be converted at once."""
_CROWD: web.AppKey[ConnectionLimiter] = web.AppKey("crowd", ConnectionLimiter)


def webhook_app(
    settings: SettingsObserved,
    local_queues: DefaultLocalQueues,
    rooms: ManagedNamespaces,
    ready: Callable[[], bool],
    limits: ListenerLimits | None = None,
    elsewhere: Callable[[str, str], bool] = nowhere,
    missing: MissingQueues | None = None,
    owners: Owners | None = None,
    why_not: Callable[[], str] = str,
    worth_knowing: Callable[[], list[str]] = list,
) -> web.Application:
    """The application: reviews are answered from what was sent, and from what is known of namespaces and queues.

    `ready` says whether queues are listed, `why_not` what else keeps it from being ready, `worth_knowing` what will if nobody acts. `elsewhere` says whether a local queue, by namespace and name, leads to other clusters, `missing` what is wrong with one that is not there,
    `owners` whether a managed job owns what is asked about.
    """
    crowd = ConnectionLimiter(limits or ListenerLimits())

    async def mutate(request: web.Request) -> web.Response:
        asked = read_review(await crowd.body(request, _MOST_REVIEWED))
        managed = await rooms.managed(asked.namespace)
        owned = await owners.manage(asked) if managed and owners is not None else None

        def judge() -> JsonObject:
            value = stored(asked, local_queues.open, settings, managed=managed, elsewhere=elsewhere, owned=owned)
            return changed(asked, value)

        return _reply(reviewed(asked, judge))

    async def validate(request: web.Request) -> web.Response:
        asked = read_review(await crowd.body(request, _MOST_REVIEWED))
        absent = [] if missing is None else await missing.problems_of(asked)
        managed = settings.without_queue and await rooms.managed(asked.namespace)

        def judge() -> JsonObject:
            return judged(asked, [*problems_of(asked, settings, local_queues.open, managed=managed), *absent])

        return _reply(reviewed(asked, judge))

    async def convert(request: web.Request) -> web.Response:
        return _reply(answer_conversion(await crowd.body(request, _MOST_CONVERTED)))

    async def live(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok\n")

    async def readiness(request: web.Request) -> web.Response:
        problem = why_not() or ("" if ready() else "queues not listed yet")
        status = 503 if problem else 200
        if not trusted(request, None):
            return web.Response(status=status, text="not ready\n" if problem else "ok\n")
        lines = [problem or "ok", *worth_knowing()]
        return web.Response(status=status, text="\n".join(lines) + "\n")

    app = web.Application(middlewares=[_broken])
    app[_CROWD] = crowd
    app.router.add_post(MUTATE, mutate)
    app.router.add_post(VALIDATE, validate)
    app.router.add_post(CONVERT, convert)
    app.router.add_get("/livez", live)
    app.router.add_get("/readyz", readiness)
    return app


def served_webhooks(
    app: web.Application, certificate: Certificate, port: int, host: str | None = None
) -> AbstractAsyncContextManager[int]:
    """Serve over TLS; the port that is listened on. Raises `PortTaken`."""
    return listening(app, port, what="webhooks", host=host, tls=certificate.context, crowd=app[_CROWD])


@web.middleware
async def _broken(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """What is no review is the caller's mistake."""
    try:
        return await handler(request)
    except ReviewBroken as problem:
        return web.Response(status=400, text=f"{problem}\n")
    except ClusterUnavailable as problem:
        log.warning("not judged", path=request.path, problem=str(problem))
        return web.Response(status=503, text="the API server does not answer\n")


def reviewed(request: ReviewRequest, judge: Callable[[], JsonObject]) -> JsonObject:
    """The verdict; an object of a shape that nobody expected is refused, not let through."""
    try:
        return judge()
    except Exception as problem:  # noqa: BLE001 - anything can be sent, and each question gets an answer
        return refused(request, cannot_be_read("the object", problem, "not judged"))


def _reply(value: JsonObject) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
