"""The webhooks over HTTPS: four paths, a certificate that may change while they are served."""

import asyncio
import ssl
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec
import structlog
from aiohttp import web

from events.settings import SettingsObserved
from ops.listening import listening
from ops.webhook.configurations import CONVERT, MUTATE, VALIDATE
from ops.webhook.conversion import answer_conversion
from ops.webhook.doors import Doors
from ops.webhook.review import ReviewBroken, changed, judged, read_review
from ops.webhook.rooms import Rooms
from ops.webhook.verdicts import problems_of, stored

log = structlog.get_logger()

Plain = dict[str, Any]
_MOST = 16 << 20


class Certificate:
    """What is shown to whoever connects; a new one counts from the next connection on."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.shown = asyncio.Event()
        self._text = ""

    def show(self, certificate: str, key: str) -> None:
        """Show this certificate from now on. Raises `ssl.SSLError` when the key is not its own."""
        if certificate + key == self._text:
            return
        # The ssl module reads keys from files only; nobody else may read this one, and it is gone at once.
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
            files[1].touch(mode=0o600)
            files[0].write_text(certificate)
            files[1].write_text(key)
            self.context.load_cert_chain(*files)
        self._text = certificate + key
        self.shown.set()
        log.info("certificate shown")


def webhook_app(settings: SettingsObserved, doors: Doors, rooms: Rooms, ready: Callable[[], bool]) -> web.Application:
    """The application: reviews are answered from what was sent alone, and from what is known of namespaces."""

    async def mutate(request: web.Request) -> web.Response:
        asked = read_review(await request.read())
        managed = await rooms.managed(asked.namespace)
        return _reply(changed(asked, stored(asked, doors.open, settings, managed=managed)))

    async def validate(request: web.Request) -> web.Response:
        asked = read_review(await request.read())
        return _reply(judged(asked, problems_of(asked, settings)))

    async def convert(request: web.Request) -> web.Response:
        return _reply(answer_conversion(await request.read()))

    async def live(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok\n")

    async def readiness(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok\n") if ready() else web.Response(status=503, text="local queues not listed yet\n")

    app = web.Application(client_max_size=_MOST, middlewares=[_broken])
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
    return listening(app, port, what="webhooks", host=host, tls=certificate.context)


@web.middleware
async def _broken(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """What is no review is the caller's mistake; an object of a shape that nobody expected is refused, not let through."""
    try:
        return await handler(request)
    except ReviewBroken as problem:
        return web.Response(status=400, text=f"{problem}\n")
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        log.exception("review failed", path=request.path)
        return web.Response(status=500, text=f"the object can't be judged: {type(problem).__name__}: {problem}\n")


def _reply(value: Plain) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
