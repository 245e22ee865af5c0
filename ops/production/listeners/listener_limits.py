"""How much of strangers one listener bears: connections, the size and time of what they send, and the memory for all of it."""

import asyncio

import msgspec
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

_MIB = 1 << 20


class ListenerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is borne at most."""

    connections: int = 512
    handshake_s: float = 5.0
    """How long TLS may take to begin."""
    body_s: float = 10.0
    """How long a request may take to arrive behind its head."""
    idle_s: float = 100.0
    """How long a connection may rest. An API server lets go of one that rests for 90 seconds: it has to be the first."""
    together: int = 64 * _MIB
    """What all requests that are still arriving may hold; the small ones are not counted."""
    small: int = 256 << 10


class ConnectionLimiter:
    """The connections of a listener: when there are too many, the one that sent no whole request for the longest time is closed."""

    def __init__(self, limits: ListenerLimits) -> None:
        self.limits = limits
        self._held = 0
        self._requests = 0
        self._last: dict[RequestHandler, int] = {}
        """By connection, which request was the last of it that came whole."""

    def make_room(self, server: web.Server) -> None:
        """Let somebody go, where one more would be too many."""
        connections = server.connections
        if len(self._last) > 2 * self.limits.connections:
            self._last = {one: self._last[one] for one in connections if one in self._last}
        if len(connections) >= self.limits.connections:
            min(connections, key=lambda one: self._last.get(one, 0)).force_close()

    async def body(self, request: web.Request, most: int) -> bytes:
        """All that a request sends. Raises an HTTP error when it is too much or too slow, or when others need the memory."""
        if (request.content_length or 0) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(self.limits.body_s):
                found = await self._read(request, most)
        except TimeoutError as problem:
            raise web.HTTPRequestTimeout(text="the request takes too long to arrive\n") from problem
        self.known(request)
        return found

    def known(self, request: web.Request) -> None:
        """A request came whole, from somebody whom the application knows: its connection is closed after those of strangers."""
        self._requests += 1
        self._last[request.protocol] = self._requests

    async def _read(self, request: web.Request, most: int) -> bytes:
        found, counted = bytearray(), 0
        try:
            async for chunk in request.content.iter_any():
                found += chunk
                if len(found) > most:
                    raise _too_large(most)
                if len(found) > self.limits.small:
                    self._held += len(found) - counted
                    counted = len(found)
                    if self._held > self.limits.together:
                        raise web.HTTPServiceUnavailable(
                            text="too much is arriving at once\n", headers={"Retry-After": "1"}
                        )
        finally:
            self._held -= counted
        return bytes(found)


def _too_large(most: int) -> web.HTTPRequestEntityTooLarge:
    return web.HTTPRequestEntityTooLarge(max_size=most, actual_size=most + 1, text=f"more than {most} bytes\n")
