"""The console as an HTTP application: pages from package data, and the same answers as JSON under /api/v1."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import PurePosixPath

import msgspec
from aiohttp import web

from events.json_object import JsonObject
from ops.console import views
from ops.console.changes import Changes
from ops.console.differences import differences
from ops.console.guard import check_address, guarded
from ops.console.live import Live
from ops.console.questions import OF_A_WORLD, OF_THE_LOG, Folded, Query
from ops.console.recorded import Recorded, Recordings
from ops.console.stream import streamed
from ops.production.listeners.endpoint import LOOPBACK
from ops.production.listeners.listening import listening
from ops.production.visibility.server import follower
from ops.production.wiring import stopped
from ops.queries.answers import explained, life_of
from ops.queries.explaining import stops
from ops.queries.point import Point
from services.runtime.log_port import Bus

PORT = 8083
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NOT_MODIFIED, _NOT_READY = 304, 503
_FOR_EVER, _NOT_KEPT = "private, max-age=31536000, immutable", "no-store"


class ConsoleApp:
    """Answers from the world that follows the log, and about the past from the log itself."""

    def __init__(self, live: Live, recordings: Recordings, changes: Changes) -> None:
        self._live, self._recordings, self._changes = live, recordings, changes
        self._pages = {
            one.name: (one.read_bytes(), kind)
            for one in files("ops.console").joinpath("pages").iterdir()
            if (kind := _KINDS.get(PurePosixPath(one.name).suffix))
        }

    def app(self) -> web.Application:
        """The application with all routes."""
        app = web.Application(middlewares=[guarded])
        add = app.router.add_get
        add("/healthz", self._healthy)
        add("/readyz", self._ready)
        add("/", self._page)
        add("/pages/{name}", self._page)
        for name, question in OF_A_WORLD.items():
            add(f"/api/v1/{name}", partial(self._of_a_world, question))
        for name, question in OF_THE_LOG.items():
            add(f"/api/v1/{name}", partial(self._of_the_log, question))
        add("/api/v1/differences", self._differences)
        add("/api/v1/workloads/{namespace}/{name}", self._workload)
        add("/api/v1/changes", self._streamed)
        return app

    async def _healthy(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.Response:
        del request
        ready = self._live.ready
        return web.Response(text="ok" if ready else "the log is not folded yet", status=200 if ready else _NOT_READY)

    async def _page(self, request: web.Request) -> web.Response:
        found = self._pages.get(request.match_info.get("name", "index.html"))
        if found is None:
            raise web.HTTPNotFound
        body, kind = found
        return web.Response(body=body, content_type=kind, charset="utf-8", headers={"Cache-Control": "no-cache"})

    async def _of_a_world(self, question: Callable[[Folded, Query], JsonObject], request: web.Request) -> web.Response:
        if request.query.get("at"):
            return await self._answer(request, lambda then: question(then, request.query))
        return self._answer_now(question(self._live, request.query))

    async def _of_the_log(
        self, question: Callable[[Recorded, Query], JsonObject], request: web.Request
    ) -> web.Response:
        return await self._answer(request, lambda then: question(then, request.query))

    async def _differences(self, request: web.Request) -> web.Response:
        before, after = request.query.get("at", ""), request.query.get("with", "")

        def asked(one: Recorded, other: Recorded) -> tuple[JsonObject, str]:
            known = one.settled and other.settled and request.query.get("log", "") == one.identity
            return differences(one, other), _FOR_EVER if known else _NOT_KEPT

        answer, caching = await self._recordings.compare(before, after, asked)
        return _json({"data": answer}, {"Cache-Control": caching})

    async def _workload(self, request: web.Request) -> web.Response:
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        wanted = f"workload/{key}"
        if request.query.get("at"):
            return await self._answer(
                request,
                lambda then: {
                    "explanation": explained(then.world(), then.point, wanted),
                    "history": msgspec.to_builtins(life_of(wanted, then.point)),
                },
            )
        # What it waits for is asked of the world that is folded; what lies behind it only the log knows.
        before = await self._recordings.ask(
            "",
            lambda then: {
                "stops": msgspec.to_builtins(stops(then.point, key)),
                "history": msgspec.to_builtins(life_of(wanted, then.point)),
            },
        )
        now = explained(self._live.world(), Point(entries={}, at=self._live.at()), wanted)
        answer = {"explanation": {**now, "stops": before["stops"]}, "history": before["history"]}
        return self._answer_now(answer)

    async def _answer(self, request: web.Request, question: Callable[[Recorded], JsonObject]) -> web.Response:
        """The answer of the log as of the moment that the address names, or as it is now."""
        text, log = request.query.get("at", ""), request.query.get("log", "")
        known = request.headers.get("If-None-Match", "")

        def asked(found: Recorded) -> tuple[dict[str, str], JsonObject | None]:
            headers = {"ETag": f'"{found.tag}"', "Cache-Control": _cached(found, text, log)}
            if text and headers["ETag"] == known:
                return headers, None
            as_of = views.as_of(found.point.at, found.point.upto, live=not text)
            return headers, {"data": question(found), "as_of": {**as_of, "log": found.identity}}

        headers, answer = await self._recordings.ask(text, asked)
        if answer is None:
            return web.Response(status=_NOT_MODIFIED, headers=headers)
        return _json(answer, headers)

    def _answer_now(self, data: JsonObject) -> web.Response:
        as_of = views.as_of(self._live.at(), dict(self._live.positions()), live=True)
        halted = self._live.halted
        return _json({"data": data, "as_of": {**as_of, "halted": halted}}, {"Cache-Control": _NOT_KEPT})

    async def _streamed(self, request: web.Request) -> web.StreamResponse:
        self._live.world()
        return await streamed(request, self._changes)


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A console that is served."""

    port: int
    following: "asyncio.Task[None]"
    """What follows the log; it ends only where that fails."""


@asynccontextmanager
async def console_served(
    bus: Bus, *, port: int = PORT, address: str = LOOPBACK, archive: str = "", scale: float = 1.0
) -> AsyncGenerator[Served, None]:
    """Follow the log of a bus and serve the console; on a free port when it is 0.

    Raises `ConsoleUnserved`, `PortTaken`.
    """
    check_address(address)
    running = follower(bus, scale)
    live, recordings = Live(running), Recordings(bus, archive)
    changes = Changes(running, live.positions)
    following = [asyncio.create_task(running.run()), asyncio.create_task(changes.run())]
    try:
        app = ConsoleApp(live, recordings, changes).app()
        async with listening(app, port, what="the console", host=address, grace_s=1) as found:
            yield Served(port=found, following=following[0])
    finally:
        recordings.close()
        for one in following:
            await stopped(one)


def _cached(found: Recorded, text: str, log: str) -> str:
    """How long a browser may keep an answer: for ever where its address names a settled moment and the log it is of.

    Without the name of the log it is asked for again each time: another log may be served under the same address tomorrow.
    """
    if not text:
        return _NOT_KEPT
    return _FOR_EVER if found.settled and log == found.identity else "private, no-cache"


def _json(value: JsonObject, headers: dict[str, str]) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", headers=headers)
