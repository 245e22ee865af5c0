"""Requests over connections that are kept: every form of answer, whatever breaks off, and nothing that is not asked."""

import asyncio
import gzip
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.production.kubernetes.kept_connections import AnswerBroken, HttpAnswer, KeptConnections
from ops.production.process.event_loop import run
from ops.production.webhook.certificates import renewed

OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"Content-Length: 2\r\n\r\n{}"
PATIENCE_S = 60


class Server:
    """Answers every request with what it is told to, and then closes the connection if it is told that, too."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.closes = False
        self.pieces = 1 << 20
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.left: list[asyncio.StreamWriter] = []
        self.asked = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.left.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                length = next((line for line in head.splitlines() if line.startswith("Content-Length: ")), ": 0")
                self.bodies.append(await reader.readexactly(int(length.partition(": ")[2])))
                self.asked.set()
                if self.answers:
                    await self.say(writer, self.answers.pop(0))
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async def say(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        for begin in range(0, len(answer), self.pieces):
            writer.write(answer[begin : begin + self.pieces])
            await writer.drain()
            await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    found = Server()
    listening = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"  # pyright: ignore[reportAttributeAccessIssue]
    yield found
    listening.close()


def to(server: Server, root: str = "") -> KeptConnections:
    return KeptConnections(f"{server.url}{root}", None)  # pyright: ignore[reportAttributeAccessIssue]


async def asked(connections: KeptConnections, method: str = "GET", data: bytes | None = None) -> HttpAnswer:
    async with asyncio.timeout(PATIENCE_S):
        return await connections.ask(method, "/api", {"Accept": "application/json"}, data)


async def asked_at_last(connections: KeptConnections) -> HttpAnswer:
    """As the client does it: once more, where the end of the connection was not noticed before it was used."""
    try:
        return await asked(connections)
    except AnswerBroken:
        return await asked(connections)


@pytest.mark.parametrize("pieces", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (WHOLE, HttpAnswer(200, b"{}")),
        (OK + b"content-length: 0\r\n\r\n", HttpAnswer(200, b"")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", HttpAnswer(204, b"")),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + WHOLE, HttpAnswer(200, b"{}")),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nDate: x\r\n\r\n",
            HttpAnswer(200, b"abc0123456789"),
        ),
        (
            OK
            + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(b"{}", mtime=0))
            + gzip.compress(b"{}", mtime=0),
            HttpAnswer(200, b"{}"),
        ),
        (
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 1\r\n\r\nx",
            HttpAnswer(429, b"x", "3"),
        ),
        (OK + b"Connection: Close\r\nContent-Length: 2\r\n\r\n{}", HttpAnswer(200, b"{}", "", keeps=False)),
    ],
)
async def test_every_form_of_answer_is_read_in_whatever_pieces_it_comes(
    server: Server, pieces: int, answer: bytes, expected: HttpAnswer
) -> None:
    server.answers, server.pieces = [answer, WHOLE], pieces
    connections = to(server)
    assert await asked(connections) == expected
    assert await asked(connections) == HttpAnswer(200, b"{}")
    assert server.connections == (1 if expected.keeps else 2)
    connections.close()


async def test_an_answer_without_a_length_ends_with_the_connection(server: Server) -> None:
    server.answers, server.closes = [OK + b"\r\nall of it"], True
    assert await asked(to(server)) == HttpAnswer(200, b"all of it", "", keeps=False)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no answer at all\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        OK[:-4],
        OK + b"Content-Length: 5\r\n\r\n{}",
        OK + b"Content-Length: -5\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: deflate\r\n\r\nab",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_what_is_no_whole_answer_is_an_error_of_the_connection_which_is_not_used_again(
    server: Server, answer: bytes
) -> None:
    server.answers, server.closes = [answer], True
    connections = to(server)
    with pytest.raises(AnswerBroken):
        await asked(connections)
    server.answers, server.closes = [WHOLE], False
    assert await asked(connections) == HttpAnswer(200, b"{}")
    assert server.connections == 2
    connections.close()


async def test_a_connection_is_used_again_unless_it_has_ended_meanwhile_or_says_what_was_not_asked(
    server: Server,
) -> None:
    server.answers = [WHOLE] * 9
    connections = to(server)
    for method, data in (("GET", None), ("POST", b"abc"), ("DELETE", None)):
        await asked(connections, method, data)
    assert (server.connections, server.bodies) == (1, [b"", b"abc", b""])
    server.left[0].close()
    await server.left[0].wait_closed()
    await asked_at_last(connections)
    assert server.connections == 2
    await server.say(server.left[1], WHOLE)
    await server.left[1].wait_closed()
    await asked_at_last(connections)
    assert server.connections == 3
    connections.close()


async def test_requests_at_once_have_connections_of_their_own(server: Server) -> None:
    server.answers = [WHOLE] * 6
    connections = to(server)
    await asyncio.gather(*(asked(connections) for _ in range(3)))
    await asyncio.gather(*(asked(connections) for _ in range(3)))
    assert server.connections == 3
    connections.close()


async def test_an_answer_that_nobody_waits_for_any_more_is_no_answer_to_the_next_request(server: Server) -> None:
    connections = to(server)
    waiting = asyncio.create_task(asked(connections))
    await server.asked.wait()
    waiting.cancel()
    await asyncio.wait({waiting})
    server.answers = [OK + b"Content-Length: 4\r\n\r\nnext"]
    assert (await asked(connections)).body == b"next"
    connections.close()


async def test_names_and_tokens_that_are_none_say_nothing_else_to_the_server(server: Server) -> None:
    server.answers = [WHOLE]
    connections = to(server, "/clusters/one/")
    async with asyncio.timeout(PATIENCE_S):
        await connections.ask("GET", "/api/a b\r\nX: y/ü", {}, None)
    assert server.heads[0].startswith("GET /clusters/one/api/a%20b%0D%0AX:%20y/%C3%BC HTTP/1.1\r\nHost: 127.0.0.1:")
    with pytest.raises(ConnectionError, match="the header Authorization can't be sent"):
        await connections.ask("GET", "/api", {"Authorization": "Bearer x\r\nY: z"}, None)
    connections.close()


async def test_who_can_not_be_reached_is_an_error_of_the_connection(server: Server) -> None:
    nowhere = KeptConnections("http://127.0.0.1:1", None)
    with pytest.raises(OSError):  # noqa: PT011 - in the system's words
        await asked(nowhere)
    assert not server.heads


def test_under_the_event_loop_of_the_services_it_speaks_tls_to_whom_it_trusts_and_to_nobody_else(
    tmp_path: Path,
) -> None:
    held = renewed(None, ["localhost"], time.time_ns() // 1_000_000)
    assert held is not None
    (tmp_path / "pair").write_text(held.certificate + held.key)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(tmp_path / "pair")

    async def both() -> None:
        server = Server()
        listening = await asyncio.start_server(server.serve, "localhost", 0, ssl=ours)
        server.answers = [WHOLE, WHOLE]
        url = f"https://localhost:{listening.sockets[0].getsockname()[1]}"
        trusting = KeptConnections(url, ssl.create_default_context(cadata=held.authorities))
        assert [(await asked(trusting)).status for _ in range(2)] == [200, 200]
        assert server.connections == 1
        with pytest.raises(ssl.SSLCertVerificationError):
            await asked(KeptConnections(url, ssl.create_default_context()))
        trusting.close()
        listening.close()

    run(both())
