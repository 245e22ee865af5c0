"""The one way to an answer: who asks is known, what they may read is known, and no name of others is in what they are told."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from events.json_object import JsonObject
from ops.console.guard import REFUSED, UNREVIEWED, NoReview, refused
from ops.console.identity import Identity
from ops.console.live import Live
from ops.console.rights import EVERYTHING, Rights
from ops.console.rights_review import RightsReviews
from ops.production.listeners.front_proxy import Person
from ops.production.listeners.listener_limits import ConnectionLimiter
from projections.explanation.redaction import Redaction


class GateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered: a plain value, or nothing but headers."""

    value: JsonObject | None
    headers: dict[str, str]
    status: int = 200


Question = Callable[[web.Request, Rights], Awaitable[GateAnswer]]
Now = Callable[[], Awaitable[Rights]]
"""What somebody may read by now."""
Streamed = Callable[[web.Request, Now], Awaitable[web.StreamResponse]]


class AskersAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what they may read."""

    identity: Identity
    reviews: RightsReviews
    crowd: ConnectionLimiter
    """The connections of the listener: those of people who are known are kept the longest."""


_SHORT = 64 << 10
"""Bytes of an answer in which names are replaced at once."""


class QuestionGate:
    """Stands before each question; without `access` everybody who reaches it may read everything."""

    def __init__(self, live: Live, access: AskersAccess | None = None) -> None:
        self._live, self.access = live, access
        self._one_long = asyncio.Semaphore()

    def answering(self, question: Question) -> Callable[[web.Request], Awaitable[web.Response]]:
        """The handler of a question whose answer is a plain value."""

        async def handler(request: web.Request) -> web.Response:
            rights = await self.rights(request)
            hidden = self._redaction(rights)
            try:
                answer = await question(request, rights)
            except REFUSED as problem:
                return refused(problem, hidden.text if hidden is not None else str)
            if answer.value is None:
                return web.Response(status=answer.status, headers=answer.headers)
            body = msgspec.json.encode(answer.value)
            if hidden is not None:
                body = await self._hidden(hidden, body)
            return web.Response(
                body=body, status=answer.status, content_type="application/json", headers=answer.headers
            )

        return handler

    def streaming(self, stream: Streamed) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The handler of an answer that goes on: it asks what may be read each time that it tells something."""

        async def handler(request: web.Request) -> web.StreamResponse:
            await self.rights(request)
            return await stream(request, lambda: self.rights(request))

        return handler

    async def rights(self, request: web.Request) -> Rights:
        """What who has sent a request may read. Raises `Unproven`, `TooManyTokens`, `NoReview`, `NotFolded`."""
        access = self.access
        if access is None:
            return EVERYTHING
        person = await self.person(request, access)
        access.crowd.known(request)
        asked = request.match_info.get("namespace", "")
        namespaces = self._live.queue_namespaces() | ({asked} if asked else frozenset())
        try:
            return await access.reviews.of(person, namespaces)
        except UNREVIEWED as problem:
            raise NoReview("the API server does not say who may read this: ask again in a moment") from problem

    async def owner(self, request: web.Request) -> str:
        """To whom what a request begins belongs; the same for all where nobody is asked who they are. Raises as `person`."""
        return (await self.person(request, self.access)).user if self.access is not None else ""

    async def person(self, request: web.Request, access: AskersAccess) -> Person:
        """Who has sent a request. Raises `Unproven`, `TooManyTokens`, `NoReview`."""
        try:
            return await access.identity.person(request)
        except UNREVIEWED as problem:
            raise NoReview("the API server does not say whose token this is: ask again in a moment") from problem

    async def _hidden(self, hidden: Redaction, body: bytes) -> bytes:
        """An answer with every foreign name replaced; of a long one that takes a second, in which others are answered."""
        if len(body) <= _SHORT:
            return _replaced(hidden, body)
        async with self._one_long:
            return await asyncio.to_thread(_replaced, hidden, body)

    def _redaction(self, rights: Rights) -> Redaction | None:
        if rights.namespaces is None:
            return None
        return Redaction(rights.namespaces, self._live.namespaces(), self._live.world().nodes)


def _replaced(hidden: Redaction, body: bytes) -> bytes:
    return msgspec.json.encode(hidden.of(msgspec.json.decode(body)))
