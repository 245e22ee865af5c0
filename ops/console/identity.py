"""Who asks: whoever shows a bearer token, or whom a trusted proxy names that has signed people in."""

from pathlib import Path
from typing import Protocol

import msgspec
from aiohttp import web

from ops.console.sessions import Sessions
from ops.production.listeners.bearer import bearer_token, is_secret
from ops.production.listeners.front_proxy import FrontProxy, Person, Unproven, check_certificate, person_in
from ops.production.listeners.token_review import TokenReviews

SECRET_HEADER = "X-Kuelog-Proxy-Secret"  # noqa: S105 - the name of a header
_RESERVED = "system:"
"""Names that Kubernetes gives itself: nobody who signs in elsewhere bears one."""
AUTHENTICATED = "system:authenticated"


class Identity(Protocol):
    """Knows who has sent a request."""

    async def person(self, request: web.Request) -> Person:
        """The person. Raises `Unproven`, `TooManyTokens`, and what the API server says."""
        ...

    async def sign_in(self, token: str, answer: web.StreamResponse) -> None:
        """Begin a session with a token. Raises as `person`."""
        ...

    def sign_out(self, request: web.Request, answer: web.StreamResponse) -> None:
        """End the session of a request."""
        ...

    @property
    def takes_tokens(self) -> bool:
        """Whether people sign in here."""
        ...


class ByToken:
    """Bearer tokens of the cluster: in the Authorization header, or behind the cookie of a session."""

    takes_tokens = True

    def __init__(self, reviews: TokenReviews, sessions: Sessions) -> None:
        self._reviews, self._sessions = reviews, sessions

    async def person(self, request: web.Request) -> Person:
        """Whose token it is."""
        token = bearer_token(request) or self._sessions.token(request)
        if not token:
            raise Unproven("sign in with a bearer token of the cluster: `kubectl create token NAME`, or your own")
        return await self._reviews.person(token)

    async def sign_in(self, token: str, answer: web.StreamResponse) -> None:
        """Begin a session."""
        person = await self._reviews.person(token)
        self._sessions.open(answer, token, person.user)

    def sign_out(self, request: web.Request, answer: web.StreamResponse) -> None:
        """End it."""
        self._sessions.close(request, answer)


class TrustedProxy(msgspec.Struct, frozen=True, kw_only=True):
    """How a proxy that signs people in is known, and how it names them."""

    secret: Path | None = None
    """A file with what it has to show in the header `X-Kuelog-Proxy-Secret`; None where that is not asked for."""
    certificate: bool = False
    """Whether it has to show a client certificate, of an authority that the listener believes."""
    names: tuple[str, ...] = ()
    """The common names that its certificate may bear; any when there is none."""
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    """Groups stand between commas."""
    user_prefix: str = ""
    group_prefix: str = ""
    """What the API server puts before the names of the same issuer, so that one role binding is good for both."""


class ByProxy:
    """Whom a trusted proxy names. Its headers count for nothing from anybody else, also not from this machine."""

    takes_tokens = False

    def __init__(self, proxy: TrustedProxy) -> None:
        if proxy.secret is None and not proxy.certificate:
            raise ValueError("a proxy is known by a secret, by a certificate, or by both")
        self._proxy = proxy
        self._named = FrontProxy(
            authorities="",
            user_headers=(proxy.user_header,),
            group_headers=(proxy.groups_header,),
            uid_headers=(),
            extra_prefixes=(),
        )

    async def person(self, request: web.Request) -> Person:
        """Whom the proxy names."""
        proxy = self._proxy
        if proxy.certificate:
            check_certificate(request, proxy.names, "the proxy that signs people in")
        if proxy.secret is not None and not is_secret(request.headers.get(SECRET_HEADER, ""), proxy.secret):
            raise Unproven("only the proxy that signs people in is answered")
        for header in (proxy.user_header, proxy.groups_header):
            if len(request.headers.getall(header, ())) > 1:
                raise Unproven(
                    f"{header} stands there twice: the proxy has to put its own in place of what it was sent"
                )
        found = person_in(request, self._named)
        user = proxy.user_prefix + found.user
        named = [one.strip() for text in found.groups for one in text.split(",")]
        groups = [proxy.group_prefix + one for one in named if one]
        if user.startswith(_RESERVED):
            raise Unproven(f"{user} is a name of Kubernetes' own: nobody signs in by it")
        kept = [one for one in groups if not one.startswith(_RESERVED)]
        return Person(user=user, groups=(*kept, AUTHENTICATED))

    async def sign_in(self, token: str, answer: web.StreamResponse) -> None:
        """Nobody signs in here."""
        del token, answer
        raise Unproven("people sign in at the proxy before this console")

    def sign_out(self, request: web.Request, answer: web.StreamResponse) -> None:
        """Nor out."""
