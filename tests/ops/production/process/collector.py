"""A collector of traces for tests: what is sent to it by OTLP over HTTP is decoded, and stays here."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """One span as it arrived."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    attributes: dict[str, str | int]
    links: tuple[tuple[str, str], ...]
    """The trace and the span of each."""
    begin: int
    end: int
    failed: bool


class Collector:
    """Listens while it is entered."""

    def __init__(self) -> None:
        self.spans: list[Collected] = []
        self.endpoint = ""
        self._news = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Collector"]:
        app = web.Application()
        app.router.add_post("/v1/traces", self._take)
        async with TestServer(app) as server:
            self.endpoint = str(server.make_url("/")).rstrip("/")
            yield self

    async def until(self, holds: Callable[[list[Collected]], bool]) -> None:
        """Wait for spans until something holds."""
        async with asyncio.timeout(60):
            while not holds(self.spans):
                self._news.clear()
                await self._news.wait()

    async def _take(self, request: web.Request) -> web.Response:
        assert request.content_type == "application/x-protobuf"
        found = ExportTraceServiceRequest.FromString(await request.read())
        for of in found.resource_spans:
            service = str(_values(of.resource.attributes)["service.name"])
            self.spans += [_collected(service, one) for scope in of.scope_spans for one in scope.spans]
        self._news.set()
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )


def _collected(service: str, span: Span) -> Collected:
    return Collected(
        service=service,
        name=span.name,
        kind=span.kind,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        attributes=_values(span.attributes),
        links=tuple((one.trace_id.hex(), one.span_id.hex()) for one in span.links),
        begin=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
    )


def _values(attributes: "list[KeyValue]") -> dict[str, str | int]:
    return {one.key: one.value.int_value or one.value.string_value for one in attributes}
