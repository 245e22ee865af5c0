"""Spans by OpenTelemetry: one around each append, and one trace for each workload, from its creation to its start.

A commit decides about many workloads, so its span is no parent of theirs: they link to each other. The root span of a workload
begins and ends elsewhere than most of its children: its ids follow from the UID, and it is exported when the job was started.
"""

import atexit
import hashlib
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from events.commit import Commit
from ops.production.process.span_exporter import ChosenIds, exporting_provider, exports, silent_provider
from projections.workloads.lifecycle import Workload
from services.runtime.log_port import Message
from services.runtime.tracing import CommitSpan

_TRACE_BYTES, _SPAN_BYTES = 16, 8
_MOST_LINKS = 128
"""OpenTelemetry's limit."""
_NANOS_PER_MILLI = 1_000_000
ROOT = "start workload"
Attributes = dict[str, str | int]


class SpanTracer:
    """Spans of one process; exported as the environment says, else nothing but the ids of appends is made."""

    def __init__(self, service: str = "kuelog", replica: str = "") -> None:
        self._ids = ChosenIds()
        exporting = exporting_provider(self._ids, service, replica) if exports(os.environ) else None
        provider, self._exports = exporting or silent_provider(), exporting is not None
        self._provider, self._sampler = provider, provider.sampler
        self._tracer = provider.get_tracer("kuelog")
        self._propagator = TraceContextTextMapPropagator()
        if self._exports:
            atexit.register(self.close)

    def close(self) -> None:
        """Export what is left, for as long as the exporter's timeout allows."""
        atexit.unregister(self.close)
        self._provider.shutdown()

    @contextmanager
    def commit(self, commit: Commit, workloads: Mapping[str, Workload]) -> Generator[CommitSpan]:
        """The span around an append; when it was stored, one of the same time for each event about a workload."""
        about = list(_about(commit, workloads)) if self._exports else []
        begun = time.time_ns()
        attributes = _message(commit.partition, commit.id) | {"kuelog.author": commit.author}
        roots = {uid: self._root(uid) for _, _, uid in about}
        links = [Link(root) for root in islice(roots.values(), _MOST_LINKS)]
        with self._span(f"send {commit.partition}", SpanKind.PRODUCER, attributes, links=links) as span:
            context = span.get_span_context()
            exported = self._exports and context.trace_flags.sampled
            found = CommitSpan(self._headers(), trace.format_trace_id(context.trace_id) if exported else "")
            yield found
            span.set_attribute("kuelog.sequence", found.sequence)
        if not found.sequence:
            return
        stored: Attributes = {
            "kuelog.author": commit.author,
            "kuelog.stream": commit.partition,
            "kuelog.sequence": found.sequence,
        }
        for name, key, uid in about:
            self._tracer.start_span(
                name,
                context=_within(roots[uid]),
                attributes=stored | _of(key, uid),
                links=[Link(span.get_span_context())],
                start_time=begun,
            ).end()

    @contextmanager
    def facts(self, stream: str, facts: Sequence[tuple[Message, str]]) -> Generator[Sequence[Message]]:
        """A span for each fact about a workload, whose context its message carries."""
        if not self._exports:
            yield [message for message, _ in facts]
            return
        spans: list[Span] = []
        messages: list[Message] = []
        for message, uid in facts:
            if uid:
                attributes = _message(stream, message.message_id) | {"kuelog.workload.uid": uid}
                span = self._tracer.start_span(
                    f"send {stream}", context=_within(self._root(uid)), kind=SpanKind.PRODUCER, attributes=attributes
                )
                spans.append(span)
                message = message._replace(headers=self._headers(trace.set_span_in_context(span, Context())))
            messages.append(message)
        try:
            yield messages
        except Exception as problem:
            for span in spans:
                _failed(span, problem)
            raise
        finally:
            for span in spans:
                span.end()

    @contextmanager
    def application(self, workload: Workload, sequence: int) -> Generator[None]:
        """The span around writing to the cluster."""
        attributes: Attributes = {"kuelog.sequence": sequence} | _of(workload.key, workload.uid)
        if not self._exports:
            yield
            return
        with self._span("apply", SpanKind.CLIENT, attributes, context=_within(self._root(workload.uid))):
            yield

    def started(self, workload: Workload) -> None:
        """Export the first span of a workload, from its creation until now."""
        if not self._exports:
            return
        root, now = self._root(workload.uid), time.time_ns()
        self._ids.choose(root.trace_id, root.span_id)
        self._tracer.start_span(
            ROOT,
            context=Context(),
            attributes=_of(workload.key, workload.uid),
            start_time=min(workload.created_at * _NANOS_PER_MILLI, now),
        ).end(now)

    def trace_of(self, uid: str) -> str:
        """The id of the trace of a workload; empty where it is not exported, or this one is not sampled."""
        root = self._root(uid) if self._exports and uid else None
        return trace.format_trace_id(root.trace_id) if root is not None and root.trace_flags.sampled else ""

    @contextmanager
    def _span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Attributes,
        *,
        links: Sequence[Link] = (),
        context: Context | None = None,
    ) -> Generator[Span]:
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=kind,
            attributes=attributes,
            links=links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as problem:
                _failed(span, problem)
                raise

    def _headers(self, context: Context | None = None) -> dict[str, str]:
        headers: dict[str, str] = {}
        self._propagator.inject(headers, context)
        return headers

    def _root(self, uid: str) -> SpanContext:
        """The context of the first span of a workload, whether it is exported already, elsewhere, or not yet."""
        digest = hashlib.sha256(f"kuelog workload {uid}".encode()).digest()
        trace_id = int.from_bytes(digest[:_TRACE_BYTES])
        span_id = int.from_bytes(digest[_TRACE_BYTES : _TRACE_BYTES + _SPAN_BYTES])
        # What follows from the id alone, every process decides alike.
        kept = self._sampler.should_sample(None, trace_id, ROOT).decision.is_sampled()
        flags = TraceFlags(TraceFlags.SAMPLED if kept else TraceFlags.DEFAULT)
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)


def _within(root: SpanContext) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(root), Context())


def _about(commit: Commit, workloads: Mapping[str, Workload]) -> Iterator[tuple[str, str, str]]:
    """Of each event about a workload that is known: its type, and key and UID of the workload."""
    for event in commit.events:
        workload = workloads.get(getattr(event, "workload", ""))
        if workload is not None and workload.uid:
            yield type(event).__name__, workload.key, workload.uid


def _message(stream: str, message_id: str) -> Attributes:
    """OpenTelemetry's conventions for messaging."""
    return {
        "messaging.system": "nats",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.destination.name": stream,
        "messaging.message.id": message_id,
    }


def _of(key: str, uid: str) -> Attributes:
    return {"kuelog.workload": key, "kuelog.workload.uid": uid}


def _failed(span: Span, problem: Exception) -> None:
    span.set_attribute("error.type", type(problem).__name__)
    span.set_status(Status(StatusCode.ERROR, str(problem)))
