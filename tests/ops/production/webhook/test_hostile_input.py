"""What anybody can send to the webhooks: each question gets an answer, and nobody keeps the honest ones from theirs."""

import asyncio
import gzip
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.listener_limits import ListenerLimits
from ops.production.webhook.certificates import renewed
from ops.production.webhook.conversion import answer_conversion
from ops.production.webhook.default_local_queues import DefaultLocalQueues
from ops.production.webhook.review import ReviewBroken
from ops.production.webhook.server import served_webhooks, webhook_app
from tests.ops.production.webhook.test_https import ANYWHERE, NAMES, Now
from tests.ops.production.webhook.test_review import NAMED, job, queue, review

HONEST = review("Job", job(NAMED), group="batch")
DEEP = 200_000
LIMITS = ListenerLimits(connections=40, handshake_s=0.5, body_s=0.5, together=4 << 20)


class Server:
    """The webhooks with small limits, and clients of theirs."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self.port, self.context = port, context

    def session(self, limit: int = 100) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self.context, limit=limit))

    async def post(self, session: aiohttp.ClientSession, path: str, body: Any, **more: Any) -> tuple[int, bytes]:
        url = f"https://127.0.0.1:{self.port}{path}"
        data = io.BytesIO(body) if isinstance(body, bytes) else body
        async with session.post(url, data=data, server_hostname=NAMES[0], **more) as answer:
            return answer.status, await answer.read()

    async def honest(self) -> None:
        """A connection and a question of the API server's."""
        async with self.session() as session:
            status, answer = await self.post(session, "/mutate", HONEST)
            assert status == 200 and b'"patch"' in answer

    async def raw(self, *, tls: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        more: JsonObject = {"ssl": self.context, "server_hostname": NAMES[0]} if tls else {}
        return await asyncio.open_connection("127.0.0.1", self.port, **more)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    held = renewed(None, NAMES, Now().at)
    assert held is not None
    certificate = Certificate()
    certificate.show(held.certificate, held.key)
    doors = DefaultLocalQueues(Reflector.__new__(Reflector))
    app = webhook_app(SettingsObserved(), doors, ANYWHERE, lambda: True, LIMITS)
    async with served_webhooks(app, certificate, 0, "127.0.0.1") as port:
        yield Server(port, ssl.create_default_context(cadata=held.authorities))


def review_of(value: str, kind: str = "ClusterQueue", group: str = "kueue.x-k8s.io") -> bytes:
    """A review with an object that is any JSON."""
    request = f'"uid":"u","operation":"CREATE","kind":{{"group":"{group}","kind":"{kind}"}},"object":{value}'
    return f'{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{{request}}}}}'.encode()


NO_REVIEWS = {
    "nothing": b"",
    "no JSON": b"nonsense",
    "not UTF-8": HONEST.replace(b'"team"', b'"\xff\xfe"') + b"\xff",
    "not UTF-8 in a text": review_of('{"metadata":{"name":"X"}}').replace(b"X", b"\xff\xfe"),
    "nested in lists": b"[" * DEEP,
    "nested in objects": review_of('{"a":' * DEEP + "1" + "}" * DEEP),
    "a list": b"[]",
    "of another version": HONEST.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v0"),
    "without a uid": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}',
    "with a number for a uid": HONEST.replace(b'"uid": "', b'"uid": 1, "x": "').replace(b'"uid":"', b'"uid":1,"x":"'),
    "with a list for a request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}',
}


@pytest.mark.parametrize("name", NO_REVIEWS)
async def test_what_is_no_review_is_the_mistake_of_who_sends_it(server: Server, name: str) -> None:
    async with server.session() as session:
        for path in ("/mutate", "/validate", "/convert"):
            status, answer = await server.post(session, path, NO_REVIEWS[name])
            assert status == 400, (path, answer)
            assert len(answer) < 1000 and b"Traceback" not in answer
    await server.honest()


@pytest.mark.parametrize(
    "value",
    [
        '{"metadata":"text"}',
        '{"metadata":{"labels":["a"]}}',
        '{"metadata":{"name":{"a":1}},"spec":[1,2]}',
        '{"spec":{"resourceGroups":{"a":1}}}',
        '{"spec":{"resourceGroups":[1,"x",null]}}',
        '{"spec":' + '{"a":' * 300 + "1" + "}" * 300 + "}",
        '{"spec":{"resourceGroups":[{"flavors":[{"resources":[{"name":"cpu","nominalQuota":' + "9" * 5000 + "}]}]}]}}",
        '{"spec":{"resourceGroups":[{"flavors":[{"resources":[{"name":"cpu","nominalQuota":"1e999999999"}]}]}]}}',
        '{"apiVersion":5,"kind":[],"spec":7}',
    ],
)
async def test_an_object_of_an_unexpected_shape_is_answered_within_a_review(server: Server, value: str) -> None:
    async with server.session() as session:
        for kind, group in (
            ("ClusterQueue", "kueue.x-k8s.io"),
            ("Job", "batch"),
            ("Pod", ""),
            ("Workload", "kueue.x-k8s.io"),
        ):
            for path in ("/mutate", "/validate"):
                status, answer = await server.post(session, path, review_of(value, kind, group))
                assert status in (200, 400), (path, answer)
                assert status == 400 or json.loads(answer)["response"]["uid"] == "u"


async def test_bodies_that_are_too_large_or_packed_are_not_taken_in(server: Server) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * (1 << 19)

    async with server.session() as session:
        for body in (b" " * (9 << 20), endless()):
            with suppress(aiohttp.ClientError):  # It is let go before it has sent all of it.
                assert (await server.post(session, "/validate", body))[0] in (413, 503)
        packed = gzip.compress(b" " * (64 << 20))
        status, _ = await server.post(session, "/validate", packed, headers={"Content-Encoding": "gzip"})
        assert status == 400
    await server.honest()


async def test_all_that_arrives_at_once_is_bounded_and_small_questions_are_answered_meanwhile(server: Server) -> None:
    entered = asyncio.Event()
    waiting = 0

    async def slow() -> AsyncIterator[bytes]:
        nonlocal waiting
        for _ in range(6):
            yield b" " * (1 << 19)
        waiting += 1
        if waiting == 4:
            entered.set()
        await entered.wait()

    async def send(session: aiohttp.ClientSession) -> int:
        try:
            return (await server.post(session, "/convert", slow()))[0]
        except aiohttp.ClientError:
            return 503

    async with server.session() as session:
        sending = [asyncio.create_task(send(session)) for _ in range(4)]
        await server.honest()
        statuses = [await one for one in sending]
        assert 503 in statuses, "three megabytes four times are more than four"
    await server.honest()


async def test_who_sends_slowly_or_nothing_or_no_tls_is_let_go_for_who_asks(server: Server) -> None:
    held: list[asyncio.StreamWriter] = []
    for tls in (True, False):
        for _ in range(LIMITS.connections * 2):
            _, writer = await server.raw(tls=tls)
            writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nX-Slow: " if tls else b"\x16\x03\x01garbage")
            held.append(writer)
        await server.honest()
    reader, writer = await server.raw()
    writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert b"408" in await asyncio.wait_for(reader.readline(), 30)
    for one in (*held, writer):
        one.close()
    await server.honest()


async def test_the_honest_are_answered_while_others_send_garbage_without_end(server: Server) -> None:
    over, sent = False, 0

    async def garbage(session: aiohttp.ClientSession, body: bytes) -> None:
        nonlocal sent
        while not over and sent < 20_000:
            status, _ = await server.post(session, "/validate", body)
            assert status == 400
            sent += 1

    bodies = [b"nonsense", b"[" * 5000, b"\xff" * 1000, review_of('{"metadata":"text"}')[:-5]]
    async with server.session() as session:
        senders = [asyncio.create_task(garbage(session, body)) for body in bodies * 4]
        for _ in range(30):
            await server.honest()
        over = True
        await asyncio.gather(*senders)
    assert sent > len(senders)


async def answered(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The next answer on a connection: its status and what it says."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return head.split()[1], await reader.readexactly(length)


def posted(path: str, body: bytes) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def test_between_garbage_of_each_kind_each_honest_question_gets_its_own_answer(server: Server) -> None:
    reader, writer = await server.raw()
    allowed = review("Job", job(NAMED), group="batch")
    refused = review("ClusterQueue", queue(resourceGroups=[{}]))
    for name, body in NO_REVIEWS.items():
        # All at once: an answer that came to the wrong question would stand in its place.
        asked = [("/mutate", HONEST), ("/validate", body), ("/validate", refused), ("/convert", body)]
        asked += [("/validate", allowed), ("/mutate", body), ("/mutate", HONEST)]
        writer.write(b"".join(posted(*one) for one in asked))
        statuses, answers = zip(*[await answered(reader) for _ in asked], strict=True)
        assert statuses == ("200", "400", "200", "400", "200", "400", "200"), name
        assert b'"patch"' in answers[0] and b'"patch"' in answers[6]
        assert json.loads(answers[2])["response"]["allowed"] is False
        assert json.loads(answers[4])["response"]["allowed"] is True
    writer.close()


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
NAMES_OF_FIELDS = st.sampled_from(
    [
        "metadata",
        "name",
        "namespace",
        "labels",
        "annotations",
        "spec",
        "status",
        "resourceGroups",
        "flavors",
        "resources",
        "nominalQuota",
        "cohort",
        "cohortName",
        "template",
        "containers",
        "requests",
        "podSets",
        "suspend",
        "preemption",
        "queueName",
        "kueue.x-k8s.io/queue-name",
        "ownerReferences",
    ]
)
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES_OF_FIELDS, inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(NAMES_OF_FIELDS, ANY_JSON, max_size=5)
ASKED_ABOUT = (
    ("ClusterQueue", "kueue.x-k8s.io", ""),
    ("Job", "batch", ""),
    ("Pod", "", ""),
    ("Workload", "kueue.x-k8s.io", "status"),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    value=OBJECTS,
    kind=st.sampled_from(["ClusterQueue", "Cohort", "Workload", "LocalQueue", "Topology", "ResourceFlavor"]),
)
def test_any_object_is_converted_or_said_to_be_inconvertible(value: JsonObject, kind: str) -> None:
    for found, wanted in (("v1beta1", "v1beta2"), ("v1beta2", "v1beta1")):
        one = {**queue(), **value, "apiVersion": f"kueue.x-k8s.io/{found}", "kind": kind}
        asked = {"uid": "u", "desiredAPIVersion": f"kueue.x-k8s.io/{wanted}", "objects": [one]}
        raw = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": asked})
        try:
            response = answer_conversion(raw.encode())["response"]
        except ReviewBroken:
            continue
        assert response["result"]["status"] == "Success" or response["convertedObjects"] == []


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=st.lists(st.tuples(OBJECTS, OBJECTS), min_size=5, max_size=5))
def test_any_object_is_judged(values: list[tuple[JsonObject, JsonObject]]) -> None:
    async def ask() -> None:
        app = webhook_app(SettingsObserved(), DefaultLocalQueues(Reflector.__new__(Reflector)), ANYWHERE, lambda: True)
        async with TestClient(TestServer(app)) as client:
            for index, (new, old) in enumerate(values):
                kind, group, part = ASKED_ABOUT[index % len(ASKED_ABOUT)]
                request: JsonObject = {"uid": "u", "operation": "UPDATE", "kind": {"kind": kind, "group": group}}
                request |= {"subResource": part} if part else {}
                request |= {"object": new, "oldObject": old, "namespace": "team"}
                body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
                for path in ("/mutate", "/validate"):
                    async with client.post(path, data=json.dumps(body)) as answer:
                        assert answer.status in (200, 400), await answer.text()

    asyncio.run(ask())
