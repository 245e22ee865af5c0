"""Signing in and out, and what somebody is told about themselves: who they are here, and what they may read."""

import msgspec
from aiohttp import web

from ops.console.gate import AskersAccess, QuestionGate
from ops.console.guard import UNREVIEWED, BadQuestion, NoReview
from ops.production.listeners.front_proxy import Unproven

SESSION = "/api/v1/session"
_KEPT = {"Cache-Control": "no-store"}
_NOTHING = 204


class _Shown(msgspec.Struct, frozen=True):
    """What somebody signs in with."""

    token: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody is told about themselves."""

    reviewed: bool
    """Whether it is asked here who may read what."""
    user: str = ""
    """Empty for who is not known, and where nobody is asked."""
    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] | None = None
    """Those whose workloads may be read; None stands for all."""
    queues: bool = True
    signs_in: bool = False
    """Whether a token is taken here."""
    problem: str = ""
    """Why who asks is not known."""


async def unreviewed(request: web.Request) -> web.Response:
    """Nobody is asked who they are."""
    del request
    return _json(Said(reviewed=False))


class SigningIn:
    """The session of a browser."""

    def __init__(self, gate: QuestionGate, access: AskersAccess) -> None:
        self._gate, self._access = gate, access

    async def said(self, request: web.Request) -> web.Response:
        """Who asks, and what they may read; a stranger is told how to sign in."""
        signs_in = self._access.identity.takes_tokens
        try:
            person, rights = await self._gate.person(request, self._access), await self._gate.rights(request)
        except Unproven as problem:
            return _json(Said(reviewed=True, namespaces=(), queues=False, signs_in=signs_in, problem=str(problem)))
        namespaces = None if rights.namespaces is None else tuple(sorted(rights.namespaces))
        return _json(
            Said(
                reviewed=True,
                user=person.user,
                groups=person.groups,
                namespaces=namespaces,
                queues=rights.queues,
                signs_in=signs_in,
            )
        )

    async def begun(self, request: web.Request) -> web.Response:
        """Sign in with a bearer token."""
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        body = await self._access.crowd.body(request, _MOST)
        try:
            shown = msgspec.json.decode(body, type=_Shown)
        except msgspec.DecodeError as problem:
            raise BadQuestion(f'write {{"token": "…"}}: {problem}') from problem
        answer = web.Response(status=_NOTHING, headers=_KEPT)
        try:
            await self._access.identity.sign_in(shown.token, answer)
        except UNREVIEWED as problem:
            raise NoReview("the API server does not say whose token this is: ask again in a moment") from problem
        return answer

    async def ended(self, request: web.Request) -> web.Response:
        """Sign out."""
        answer = web.Response(status=_NOTHING, headers=_KEPT)
        self._access.identity.sign_out(request, answer)
        return answer


_MOST = 20_000
"""Bytes of what somebody signs in with."""


def _json(value: Said) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", headers=_KEPT)
