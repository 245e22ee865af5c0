"""Requests to one server over HTTP/1.1 connections that are kept, one request at a time on each.

A small write takes a quarter of the time here that a general client needs around it, and services write most of what they send.
What goes on for long, or through a proxy, is for the general client.
"""

import asyncio
import gzip
import ssl
from collections import deque
from collections.abc import Generator, Mapping
from typing import NamedTuple, cast
from urllib.parse import quote, urlsplit

_CONNECT_S, _ANSWER_S = 30.0, 300.0
_IDLE_S = 15.0
"""So long a connection is kept that nobody uses: what lies between may forget it soon after."""
_END, _LINE = b"\r\n\r\n", b"\r\n"
_MOST_HEAD = 1 << 20
_FIRST_FINAL, _NO_BODY = 200, frozenset({204, 304})
_SAFE = "/?&=%:+,;@!$'()*~"


class HttpAnswer(NamedTuple):
    """What a server has answered."""

    status: int
    body: bytes
    retry_after: str = ""
    keeps: bool = True
    """Whether the server keeps the connection."""


class AnswerBroken(ConnectionError):
    """What came is no answer by HTTP/1.1, or not all of it has come."""


class KeptConnections:
    """Connections to one server. Calls raise `OSError` where it can't be reached or breaks off, `TimeoutError` where it is too slow."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        place = urlsplit(url)
        self._tls = tls if place.scheme == "https" else None
        self._host, self._port = place.hostname or "", place.port or (443 if self._tls else 80)
        self._name = place.netloc.rpartition("@")[2]
        self._root = place.path.rstrip("/")
        self._idle: deque[tuple[float, _Connection]] = deque()

    async def ask(self, method: str, path: str, headers: Mapping[str, str], data: bytes | None) -> HttpAnswer:
        """The answer to one request, which is sent once."""
        words = self._head(method, path, headers, data)
        connection = self._kept() or await self._connected()
        try:
            async with asyncio.timeout(_ANSWER_S):
                answer = await connection.ask(words)
        except BaseException:
            connection.cut()
            raise
        if answer.keeps:
            self._idle.append((asyncio.get_running_loop().time(), connection))
        else:
            connection.cut()
        return answer

    def close(self) -> None:
        """Close what nobody uses."""
        while self._idle:
            self._idle.pop()[1].cut()

    def _head(self, method: str, path: str, headers: Mapping[str, str], data: bytes | None) -> bytes:
        target = self._root + path
        if not target.isascii() or not target.isprintable() or " " in target:
            target = quote(target, safe=_SAFE)  # Objects name other objects, and may name what is no name.
        length = {} if data is None and method == "GET" else {"Content-Length": str(len(data or b""))}
        said = {"Host": self._name, "Accept-Encoding": "gzip", **headers, **length}
        for name, value in said.items():
            if not value.isprintable():
                raise ConnectionError(
                    f"the header {name} can't be sent: it holds what is not printed, such as a line's end"
                )
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items())]
        return "\r\n".join(lines).encode() + _END + (data or b"")

    def _kept(self) -> "_Connection | None":
        """The connection that was used last; those that were not used for long are closed."""
        oldest = asyncio.get_running_loop().time() - _IDLE_S
        while self._idle and (self._idle[0][0] < oldest or self._idle[0][1].lost):
            self._idle.popleft()[1].cut()
        while self._idle:
            _, connection = self._idle.pop()
            if not connection.lost:
                return connection
        return None

    async def _connected(self) -> "_Connection":
        async with asyncio.timeout(_CONNECT_S):
            _, connection = await asyncio.get_running_loop().create_connection(
                _Connection, self._host, self._port, ssl=self._tls
            )
        return connection


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.lost = False
        self._transport: asyncio.Transport | None = None
        self._arrived = bytearray()
        self._reading: Generator[None, None, HttpAnswer] | None = None
        self._answer: asyncio.Future[HttpAnswer] | None = None

    async def ask(self, words: bytes) -> HttpAnswer:
        """The answer to what is sent. Raises `OSError`."""
        if self._transport is None or self.lost:
            raise AnswerBroken("the connection has ended")
        self._answer = asyncio.get_running_loop().create_future()
        self._reading = self._read()
        self._transport.write(words)
        return await self._answer

    def cut(self) -> None:
        """End it at once."""
        self.lost = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by their class.

    def data_received(self, data: bytes) -> None:
        """Read on in the answer; what nobody has asked for ends the connection."""
        self._arrived += data
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended; an answer without a length ends with it."""
        self.lost = True
        self._go_on()
        self._fail(exc or AnswerBroken("the connection has ended before the answer had"))

    def _go_on(self) -> None:
        if self._reading is None:
            if self._arrived:
                self.cut()
            return
        try:
            next(self._reading)
        except StopIteration as end:
            self._reading = None
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(end.value)
        except (ValueError, OSError, EOFError) as problem:
            self._fail(AnswerBroken(f"the answer can't be read: {problem}"))
            self.cut()

    def _fail(self, problem: Exception) -> None:
        self._reading = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(problem)

    def _read(self) -> Generator[None, None, HttpAnswer]:
        """One answer, read on whenever more has arrived. Raises `ValueError` where it is none."""
        status = 0
        version, headers = b"", dict[bytes, bytes]()
        while status < _FIRST_FINAL:
            first, *others = (yield from self._until(_END)).split(_LINE)
            version, status = first[:8], int(first[9:12])
            headers = {name.lower(): value.strip() for name, _, value in (one.partition(b":") for one in others)}
        keeps = version == b"HTTP/1.1" and headers.get(b"connection", b"").lower() != b"close"
        if status in _NO_BODY:
            body = b""
        elif headers.get(b"transfer-encoding", b"identity").lower() != b"identity":
            if headers[b"transfer-encoding"].lower() != b"chunked":
                raise ValueError(f"it is encoded as {headers[b'transfer-encoding'].decode(errors='replace')}")
            body = yield from self._chunks()
        elif b"content-length" in headers:
            body = yield from self._of_length(_whole(headers[b"content-length"], 10))
        else:
            keeps = False
            while not self.lost:
                yield
            body = bytes(self._arrived)
        if headers.get(b"content-encoding") == b"gzip":
            body = gzip.decompress(body)
        return HttpAnswer(status, body, headers.get(b"retry-after", b"").decode("latin-1"), keeps and not self._arrived)

    def _chunks(self) -> Generator[None, None, bytes]:
        body = bytearray()
        while size := _whole((yield from self._until(_LINE)).partition(b";")[0].strip(), 16):
            body += yield from self._of_length(size)
            if (yield from self._until(_LINE)):
                raise ValueError("a chunk is longer than it says")
        while (yield from self._until(_LINE)):
            pass  # What stands behind the last chunk concerns nobody here.
        return bytes(body)

    def _until(self, mark: bytes) -> Generator[None, None, bytes]:
        while (end := self._arrived.find(mark)) < 0:
            if len(self._arrived) > _MOST_HEAD:
                raise ValueError("a line does not end")
            if self.lost:
                raise AnswerBroken("it breaks off")
            yield
        found = bytes(self._arrived[:end])
        del self._arrived[: end + len(mark)]
        return found

    def _of_length(self, length: int) -> Generator[None, None, bytes]:
        while len(self._arrived) < length:
            if self.lost:
                raise AnswerBroken("it breaks off")
            yield
        found = bytes(self._arrived[:length])
        del self._arrived[:length]
        return found


def _whole(text: bytes, base: int) -> int:
    """A number without a sign. Raises `ValueError`."""
    if not text.isalnum():
        raise ValueError(f"{text[:20]!r} is no length")
    return int(text, base)
