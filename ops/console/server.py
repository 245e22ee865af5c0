"""The console as an HTTP application: pages from package data, and the same answers as JSON under /api/v1."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import msgspec
from aiohttp import web

from events.json_object import JsonObject
from ops.console import views
from ops.console.changes import Changes
from ops.console.guard import BadQuestion, check_address, guarded
from ops.console.live import Live
from ops.console.recorded import Recorded, Recordings
from ops.console.stream import streamed
from ops.production.cards_view import card_views
from ops.production.listeners.endpoint import LOOPBACK
from ops.production.listeners.listening import listening
from ops.production.visibility.server import follower
from ops.production.wiring import stopped
from ops.queries.answers import cards_answer, explained, life_of
from ops.queries.explaining import stops
from ops.queries.point import Point
from projections.explanation.read_models import workload_rows
from services.runtime.log_port import Bus

PORT = 8083
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NOT_MODIFIED, _NOT_READY = 304, 503
_DIGITS = 9


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
        add("/api/v1/overview", self._overview)
        add("/api/v1/queues", self._queues)
        add("/api/v1/workloads", self._workloads)
        add("/api/v1/workloads/{namespace}/{name}", self._workload)
        add("/api/v1/cards", self._cards)
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

    async def _overview(self, request: web.Request) -> web.Response:
        return await self._answer(
            request,
            lambda: views.overview(self._live.world(), self._live.rows(), card_views(self._live.world())),
            lambda then: views.overview(then.world(), workload_rows(then.world()), card_views(then.cards().world)),
        )

    async def _queues(self, request: web.Request) -> web.Response:
        return await self._answer(
            request, lambda: views.queues(self._live.world()), lambda then: views.queues(then.world())
        )

    async def _workloads(self, request: web.Request) -> web.Response:
        query = _query_of(request)
        return await self._answer(
            request,
            lambda: views.workloads(self._live.rows(), query),
            lambda then: views.workloads(workload_rows(then.world()), query),
        )

    async def _cards(self, request: web.Request) -> web.Response:
        node, model = request.query.get("node", ""), request.query.get("model", "")
        return await self._answer(
            request,
            lambda: cards_answer(self._live.cards(), node=node, model=model),
            lambda then: cards_answer(then.cards(), node=node, model=model),
        )

    async def _workload(self, request: web.Request) -> web.Response:
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        wanted = f"workload/{key}"
        if request.query.get("at"):
            return await self._answer(
                request,
                dict,
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

    async def _answer(
        self, request: web.Request, now: Callable[[], JsonObject], then: Callable[[Recorded], JsonObject]
    ) -> web.Response:
        """The answer as of now, or as of the moment that the address names."""
        text = request.query.get("at", "")
        if not text:
            return self._answer_now(now())
        known = request.headers.get("If-None-Match", "")

        def asked(found: Recorded) -> tuple[str, JsonObject | None]:
            tag = f'"{found.tag}"'
            if tag == known:
                return tag, None
            as_of = views.as_of(found.point.at, found.point.upto, live=False)
            return tag, {"data": then(found), "as_of": as_of}

        tag, answer = await self._recordings.ask(text, asked)
        # Asked for again each time: another log may be served under the same address tomorrow.
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if answer is None:
            return web.Response(status=_NOT_MODIFIED, headers=headers)
        return _json(answer, headers)

    def _answer_now(self, data: JsonObject) -> web.Response:
        as_of = views.as_of(self._live.at(), dict(self._live.positions()), live=True)
        halted = self._live.halted
        return _json({"data": data, "as_of": {**as_of, "halted": halted}}, {"Cache-Control": "no-store"})

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


def _json(value: JsonObject, headers: dict[str, str]) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", headers=headers)


def _query_of(request: web.Request) -> views.WorkloadQuery:
    """The filter, order and part of the workloads that an address asks for. Raises `BadQuestion`."""
    query: Any = request.query
    sort = query.get("sort", "key")
    if sort.removeprefix("-") not in views.SORTS:
        raise BadQuestion(f"sort: {sort!r} is no column: write one of {', '.join(views.SORTS)}, with - for descending")
    return views.WorkloadQuery(
        text=query.get("text", ""),
        state=query.get("state", ""),
        cluster_queue=query.get("queue", ""),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        offset=_number(query, "offset", 0),
        limit=min(_number(query, "limit", views.MOST_ROWS), views.MOST_ROWS),
    )


def _number(query: Any, name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise BadQuestion(f"{name}: {text!r} is not a whole number, at least 0")
    return int(text)
