"""The console as an HTTP application: pages from package data, and the same answers as JSON under /api/v1."""

import asyncio
import hashlib
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import PurePosixPath

import msgspec
from aiohttp import web

from events.event import Millis
from events.json_object import JsonObject
from ops.console import views
from ops.console.changes import LogChanges, Positions
from ops.console.differences import differences
from ops.console.gate import AskersAccess, GateAnswer, Now, QuestionGate
from ops.console.guard import Guard, check_address
from ops.console.kept_answers import AnswersByPlace
from ops.console.live import Live
from ops.console.log_lag import LogLag
from ops.console.questions import OF_A_WORLD, OF_THE_LOG, Question
from ops.console.recorded import Recorded, Recordings
from ops.console.rights import EVERYTHING, Rights
from ops.console.signing_in import SESSION, SigningIn, unreviewed
from ops.console.stream import streamed
from ops.console.turns import AskersTurns
from ops.console.whatif import WhatIfs
from ops.console.whatif_pages import WHATIFS, WhatIfPages, choices
from ops.production.listeners.endpoint import LOOPBACK
from ops.production.listeners.listening import listening
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.visibility.server import follower
from ops.queries.answers import explained, life_of
from ops.queries.explaining import stops
from ops.queries.near_words import heading, near_rows
from ops.queries.patience import Patience
from ops.queries.point import Point
from ops.queries.topology_view import stands_of
from projections.world import World
from services.runtime.log_port import Bus
from services.runtime.own_task import stopped

PORT = 8083
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NOT_MODIFIED, _NOT_READY = 304, 503
_MOST_SENT = 64 << 10
"""Bytes that a request may send."""
_NOW_BYTES = 8 << 20
"""Bytes of answers about what stands now that are kept for whoever asks the same."""
_PATIENCE_S, _PATIENCE_LIVE_S = 10.0, 1.0
"""How long it is tried what would let a workload in: of the past, and of what stands now, while nobody else is answered."""
_FOR_EVER, _NOT_KEPT = "private, max-age=31536000, immutable", "no-store"


class ConsoleApp:
    """Answers from the world that follows the log, and about the past from the log itself."""

    def __init__(
        self,
        live: Live,
        recordings: Recordings,
        changes: LogChanges,
        whatifs: WhatIfs,
        lag: LogLag,
        access: AskersAccess | None = None,
    ) -> None:
        self._lag = lag
        self._live, self._recordings, self._changes = live, recordings, changes
        self._now = AnswersByPlace(_NOW_BYTES)
        self._gate, self._turns = QuestionGate(live, access), AskersTurns()
        self._asking = WhatIfPages(self._gate, whatifs)
        self._pages = {
            one.name: (one.read_bytes(), kind)
            for one in files("ops.console").joinpath("pages").iterdir()
            if (kind := _KINDS.get(PurePosixPath(one.name).suffix))
        }

    def app(self) -> web.Application:
        """The application with all routes. Whatever lies below /api asks the gate who may read it."""
        places = (WHATIFS, SESSION) if self._gate.access is not None else (WHATIFS,)
        written = frozenset((method, place) for method in ("POST", "DELETE") for place in places)
        guard = Guard(names=self._gate.access is None, written=written)
        app = web.Application(middlewares=[guard.middleware()], client_max_size=_MOST_SENT)
        add, ask = app.router.add_get, self._gate.answering
        for path in ("/healthz", "/livez"):
            add(path, self._healthy)
        add("/readyz", self._ready)
        add("/", self._page)
        add("/pages/{name}", self._page)
        for name, question in OF_A_WORLD.items():
            add(f"/api/v1/{name}", ask(partial(self._of_a_world, question)))
        for name, question in OF_THE_LOG.items():
            add(f"/api/v1/{name}", ask(partial(self._of_the_log, question)))
        add("/api/v1/differences", ask(self._differences))
        add("/api/v1/workloads/{namespace}/{name}", ask(self._workload))
        # Who asks for its head alone would be sent what goes on as well.
        add("/api/v1/changes", self._gate.streaming(self._streamed), allow_head=False)
        add("/api/v1/choices", ask(partial(self._of_a_world, Question(choices, of_cluster=True))))
        app.router.add_post(WHATIFS, ask(self._asking.begun))
        add(f"{WHATIFS}/{{id}}", ask(self._asking.stands))
        app.router.add_delete(f"{WHATIFS}/{{id}}", ask(self._asking.cancelled))
        if self._gate.access is None:
            add(SESSION, unreviewed)
        else:
            signing = SigningIn(self._gate, self._gate.access)
            add(SESSION, signing.said)
            app.router.add_post(SESSION, signing.begun)
            app.router.add_delete(SESSION, signing.ended)
        return app

    async def _healthy(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.Response:
        del request
        ready = self._live.ready
        if ready:
            # The first list is made of all workloads: better before anybody looks.
            self._live.listed()
        return web.Response(text="ok" if ready else "the log is not folded yet", status=200 if ready else _NOT_READY)

    async def _page(self, request: web.Request) -> web.Response:
        found = self._pages.get(request.match_info.get("name", "index.html"))
        if found is None:
            raise web.HTTPNotFound
        body, kind = found
        return web.Response(body=body, content_type=kind, charset="utf-8", headers={"Cache-Control": "no-cache"})

    async def _of_a_world(self, question: Question, request: web.Request, rights: Rights) -> GateAnswer:
        if request.query.get("at"):
            return await self._answer(request, rights, lambda then: question.ask(then, request.query, rights))
        at, positions = self._live.at(), self._live.positions()
        if not question.timeless:
            return self._answer_now(question.ask(self._live, request.query, rights), at, positions)
        asked = (request.path, tuple(sorted(request.query.items())), _mark(rights), tuple(sorted(positions.items())))
        # Whoever else asks the same before anything happens is given the same.
        answer = self._now.of(asked, lambda: question.ask(self._live, request.query, rights))
        return self._answer_now(answer, at, positions)

    async def _of_the_log(self, question: Question, request: web.Request, rights: Rights) -> GateAnswer:
        return await self._answer(request, rights, lambda then: question.ask(then, request.query, rights))

    async def _differences(self, request: web.Request, rights: Rights) -> GateAnswer:
        before, after = request.query.get("at", ""), request.query.get("with", "")

        def asked(one: Recorded, other: Recorded) -> tuple[JsonObject, str]:
            known = one.settled and other.settled and request.query.get("log", "") == one.identity
            return differences(one, other, rights), _FOR_EVER if known and self._gate.access is None else _NOT_KEPT

        async with await self._turn(request):
            answer, caching = await self._recordings.compare(before, after, asked)
        return GateAnswer(value={"data": answer}, headers={"Cache-Control": caching})

    async def _workload(self, request: web.Request, rights: Rights) -> GateAnswer:
        rights.check_namespace(request.match_info["namespace"])
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        wanted = f"workload/{key}"
        if request.query.get("at"):
            return await self._answer(
                request,
                rights,
                lambda then: {
                    **_explained(
                        explained(
                            then.world_about(wanted), then.point, wanted, rights.reads, patience=Patience(_PATIENCE_S)
                        ),
                        rights,
                    ),
                    "history": msgspec.to_builtins(life_of(wanted, then.point, reads=rights.reads)),
                    "stands": _stands(then.world_about(wanted), key, rights),
                },
            )
        async with await self._turn(request):
            return await self._workload_now(wanted, key, rights)

    async def _workload_now(self, wanted: str, key: str, rights: Rights) -> GateAnswer:
        # What it waits for is asked of the world that is folded; what lies behind it only the log knows.
        stopped_before, life = await self._recordings.ask(
            "", lambda then: (stops(then.point, key), life_of(wanted, then.point, reads=rights.reads))
        )
        point = Point(entries={}, at=self._live.at())
        world = self._live.world_about(wanted)
        patience, last = Patience(_PATIENCE_LIVE_S), next(reversed(life), None)
        now = explained(world, point, wanted, rights.reads, patience=patience, last=last)
        answer = {
            **_explained({**now, "stops": msgspec.to_builtins(stopped_before)}, rights),
            "history": msgspec.to_builtins(life),
            "stands": _stands(world, key, rights),
        }
        return self._answer_now(answer, self._live.at(), self._live.positions())

    async def _answer(
        self, request: web.Request, rights: Rights, question: Callable[[Recorded], JsonObject]
    ) -> GateAnswer:
        """The answer of the log as of the moment that the address names, or as it is now."""
        text, log = request.query.get("at", ""), request.query.get("log", "")
        known = request.headers.get("If-None-Match", "")

        def asked(found: Recorded) -> GateAnswer:
            kept = _cached(found, text, log, reviewed=self._gate.access is not None)
            headers = {"ETag": f'"{found.tag}{_mark(rights)}"', "Cache-Control": kept}
            if text and headers["ETag"] == known:
                return GateAnswer(value=None, headers=headers, status=_NOT_MODIFIED)
            as_of = views.as_of(found.point.at, found.point.upto, live=not text)
            query = sorted((name, value) for name, value in request.query.items() if name not in ("at", "log"))
            key = (found.place, request.path, tuple(query), _mark(rights))
            answer = self._recordings.answers.of(key, lambda: question(found))
            return GateAnswer(value={"data": answer, "as_of": {**as_of, "log": found.identity}}, headers=headers)

        async with await self._turn(request):
            return await self._recordings.ask(text, asked)

    async def _turn(self, request: web.Request) -> asyncio.Lock:
        """The turn of who asks. Raises as `person`."""
        return self._turns.of(await self._gate.owner(request))

    def _answer_now(self, data: JsonObject | msgspec.Raw, at: Millis, positions: Positions) -> GateAnswer:
        as_of = views.as_of(at, dict(positions), live=True)
        halted = self._live.halted
        told = {**as_of, "halted": halted, "behind": msgspec.to_builtins(self._lag.behind)}
        return GateAnswer(value={"data": data, "as_of": told}, headers={"Cache-Control": _NOT_KEPT})

    async def _streamed(self, request: web.Request, rights: Now) -> web.StreamResponse:
        self._live.world()
        return await streamed(request, self._changes, rights)


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A console that is served."""

    port: int
    following: "asyncio.Task[None]"
    """What follows the log; it ends only where that fails."""


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """Where the console is reached, and who is let in; without `access` everybody on this machine is."""

    port: int = PORT
    """A free one when it is 0."""
    address: str = LOOPBACK
    tls: ssl.SSLContext | None = None
    access: AskersAccess | None = None

    def check(self) -> None:
        """Raise `ConsoleUnserved` for what would show everybody everything."""
        check_address(self.address, reviewed=self.access is not None, encrypted=self.tls is not None)


@asynccontextmanager
async def console_served(
    bus: Bus, door: Door, *, archive: str = "", scale: float = 1.0
) -> AsyncGenerator[Served, None]:
    """Follow the log of a bus and serve the console.

    Raises `ConsoleUnserved`, `PortTaken`.
    """
    door.check()
    running = follower(bus, scale)
    live, recordings = Live(running), Recordings(bus, archive)
    changes, lag = LogChanges(running, live.positions), LogLag(running)
    following = [asyncio.create_task(one.run()) for one in (running, changes, lag)]
    crowd = door.access.crowd if door.access is not None else None
    whatifs = WhatIfs(bus.address if isinstance(bus, JetStreamBus) else "", archive)
    try:
        app = ConsoleApp(live, recordings, changes, whatifs, lag, door.access).app()
        serving = listening(
            app,
            door.port,
            what="the console",
            host=door.address,
            tls=door.tls,
            grace_s=1,
            crowd=crowd,
            while_awaited=True,
        )
        async with serving as found:
            yield Served(port=found, following=following[0])
    finally:
        await whatifs.close()
        recordings.close()
        for one in following:
            await stopped(one)


def _stands(world: World, key: str, rights: Rights) -> Sequence[JsonObject]:
    """Where a workload stands, for who may read what is of the whole cluster: hosts and racks are."""
    return msgspec.to_builtins(stands_of(world, key)) if rights.queues else []


def _explained(explanation: JsonObject, rights: Rights) -> JsonObject:
    """The explanation, and the domains that come nearest in words, for who may read what is of the whole cluster."""
    found = explanation["domains"] if rights.queues else None
    near = None if found is None else {"heading": heading(found), "rows": near_rows(found)}
    return {"explanation": {**explanation, "domains": found}, "near": near}


def _cached(found: Recorded, text: str, log: str, *, reviewed: bool) -> str:
    """How long a browser may keep an answer: for ever where its address names a settled moment and the log it is of.

    Without the name of the log it is asked for again each time: another log may be served under the same address tomorrow. Where
    rights are asked for it is too: they may be others tomorrow, and so may be the person at the browser.
    """
    if not text:
        return _NOT_KEPT
    settled = found.settled and log == found.identity and not reviewed
    return _FOR_EVER if settled else "private, no-cache"


def _mark(rights: Rights) -> str:
    """What keeps the answers of people with other rights apart."""
    if rights == EVERYTHING:
        return ""
    namespaces = None if rights.namespaces is None else sorted(rights.namespaces)
    return hashlib.sha256(msgspec.json.encode((namespaces, rights.queues))).hexdigest()[:16]
