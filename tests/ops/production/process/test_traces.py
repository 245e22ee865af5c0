"""Spans as a collector receives them: one trace for a job, from its creation over all commits to its start, across the bus."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.trace import TraceFlags

from events.commit import Commit, Sighting
from events.subjects import FACTS
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.process.span_exporter import ExporterUnknown, exports
from ops.production.process.span_tracer import SpanTracer
from ops.production.process.telemetry import configure_logging
from ops.production.served import SERVICES, service_name
from ops.production.wiring import Running
from projections.workloads.lifecycle import Workload
from services.runtime.control_log import Control
from services.runtime.log_errors import LogMovedOn
from services.runtime.log_port import Entry, Message
from services.runtime.partition.stored_message import Opened, open_message
from tests.ops.production.process.collector import Collected, Collector
from tests.stage.cluster import Embedded
from tests.stage.stage import Stage, job
from tests.stories.small_world import job as submitted

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """A collector that the environment names."""
    async with Collector().listening() as found:
        monkeypatch.setenv(ENDPOINT, found.endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield found


def known(uid: str = "u") -> Workload:
    spec = submitted("a").spec
    return Workload(key="team/a", uid=uid, owner=None, created_at=1_000, generation=1, spec=spec)


def commit(*events: Any) -> Commit:
    return Commit(
        id="c",
        prev_hash="",
        partition=PARTITION,
        base=6,
        inputs=(),
        author="admitter",
        epoch=0,
        rules="",
        at=1,
        events=events,
    )


@pytest.fixture
async def in_real_time(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage whose clock is that of the spans."""
    clock = ScaledClock()
    async with Stage(tmp_path, Embedded(tmp_path, clock), clock) as found:
        yield found


async def everything(stage: Stage, name: str) -> list[Entry]:
    stream = await stage.bus.stream(name)
    return [entry async for batch in stream.read() for entry in batch]


async def test_one_trace_leads_from_the_creation_of_a_job_over_all_commits_to_its_start_across_the_bus(
    in_real_time: Stage, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = in_real_time
    configure_logging("info")
    tracers = {name: SpanTracer(service_name((name,)), "r") for name in SERVICES}
    for name, tracer in tracers.items():
        stage.tasks.append(asyncio.create_task(Running(stage.ports, (name,), replica=name, tracer=tracer).run()))
    await stage.add(job("a", 3600))
    await stage.until(lambda: stage.running("a"))
    [uid] = [one["metadata"]["uid"] for one in stage.of("jobs.batch")]
    await collector.until(lambda spans: any(one.name == "start workload" for one in spans))
    for tracer in tracers.values():
        await asyncio.to_thread(tracer.close)
    structlog.reset_defaults()
    [root] = [one for one in collector.spans if one.name == "start workload"]
    spans = [one for one in collector.spans if one.trace == root.trace and one is not root]
    assert root.attributes["kuelog.workload.uid"] == uid and not root.parent
    assert {one.trace_of(uid) for one in tracers.values()} == {root.trace}, "the id that exemplars of waits name"
    assert root.begin <= min(one.begin for one in spans) < root.end
    assert {one.parent for one in spans} == {root.id}
    assert {(one.service, one.name) for one in spans} >= {
        ("kuelog-watcher", f"send {FACTS}"),
        ("kuelog-queue-manager", "WorkloadQueued"),
        ("kuelog-admitter", "QuotaReserved"),
        ("kuelog-accountant", "DevicesReserved"),
        ("kuelog-applier", "apply"),
        ("kuelog-applier", f"send {FACTS}"),
    }
    assert "WorkloadAdmitted" in {one.name for one in spans}
    for stream in (PARTITION, DEVICE_PARTITION):
        appended(collector.spans, spans, root, await everything(stage, stream))
    facts = {one.message_id: one.trace for one in await everything(stage, FACTS)}
    sent = [one for one in spans if one.name == f"send {FACTS}"]
    assert {facts[str(one.attributes["messaging.message.id"])] for one in sent} == {root.trace}
    lines = [line for line in capsys.readouterr().err.splitlines() if "event='decided'" in line]
    traces = {
        one.attributes["kuelog.sequence"]: one.trace for one in collector.spans if one.name == f"send {PARTITION}"
    }
    logged = [one for one in lines if f"partition='{PARTITION}'" in one]
    assert logged
    for line in logged:
        sequence = int(line.partition(" sequence=")[2].partition(" ")[0])
        assert f"trace_id='{traces[sequence]}'" in line


def appended(found: list[Collected], spans: list[Collected], root: Collected, entries: list[Entry]) -> None:
    """Every event of the workload on a stream has a span, which links to the append that stored it, and that to the workload."""
    by_id = {one.id: one for one in found}
    decided = 0
    for entry in entries:
        opened = open_message(entry, Control())
        assert isinstance(opened, Opened) and not isinstance(opened.message, Sighting)
        for event in opened.message.events:
            if getattr(event, "workload", "") != root.attributes["kuelog.workload"]:
                continue
            decided += 1
            [span] = [
                one
                for one in spans
                if (one.name, one.attributes.get("kuelog.stream"), one.attributes.get("kuelog.sequence"))
                == (type(event).__name__, entry.stream, entry.sequence)
            ]
            [(trace, number)] = span.links
            send = by_id[number]
            assert (send.trace, send.kind, send.name) == (trace, Span.SPAN_KIND_PRODUCER, f"send {entry.stream}")
            assert (root.trace, root.id) in send.links
            assert entry.trace == trace, "the log names the trace of each append"
            assert send.attributes == {
                "messaging.system": "nats",
                "messaging.operation.name": "publish",
                "messaging.operation.type": "send",
                "messaging.destination.name": entry.stream,
                "messaging.message.id": entry.message_id,
                "kuelog.author": opened.message.author,
                "kuelog.sequence": entry.sequence,
            }
    assert decided


async def test_an_append_that_comes_too_late_says_so_and_adds_nothing_to_the_trace_of_a_job(
    collector: Collector,
) -> None:
    tracer = SpanTracer()
    late = commit(*[submitted("a")])
    with pytest.raises(LogMovedOn), tracer.commit(late, {"team/a": known()}) as sending:
        raise LogMovedOn(stream=PARTITION, base=6)
    await asyncio.to_thread(tracer.close)
    [span] = collector.spans
    assert span.failed and span.attributes["error.type"] == "LogMovedOn"
    assert sending.trace == span.trace


async def test_a_job_is_sampled_in_all_processes_or_in_none(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    uids = [f"u{number}" for number in range(40)]
    for _ in range(2):
        tracer = SpanTracer()
        for uid in uids:
            with tracer.application(known(uid), 1):
                pass
            tracer.started(known(uid))
        await asyncio.to_thread(tracer.close)
    counts = [sum(one.attributes["kuelog.workload.uid"] == uid for one in collector.spans) for uid in uids]
    assert set(counts) == {0, 4}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({ENDPOINT: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({ENDPOINT: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_spans_are_exported_where_the_environment_says_so(environment: Mapping[str, str], expected: bool) -> None:
    assert exports(environment) is expected


@pytest.mark.parametrize(
    "environment",
    [{"OTEL_TRACES_EXPORTER": "zipkin"}, {ENDPOINT: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}],
)
def test_an_exporter_that_is_not_there_is_refused_with_what_to_write(environment: Mapping[str, str]) -> None:
    with pytest.raises(ExporterUnknown, match="write (otlp or none|http/protobuf)"):
        exports(environment)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "abc"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "-1"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-3"),
    ],
)
def test_a_variable_that_means_nothing_ends_no_service_and_is_one_line(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("warning")
    monkeypatch.setenv(variable, value)
    SpanTracer().close()
    assert capsys.readouterr().err == "", "nothing is exported anyway"
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    SpanTracer().close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "spans are not exported" in lines[0] and "problem=" in lines[0]


def test_without_the_variables_messages_stay_as_they_are_and_appends_have_ids_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    tracer = SpanTracer()
    message = Message("kuelog.facts._cluster.X", b"{}", "x")
    with tracer.facts(FACTS, [(message, "u")]) as messages:
        assert list(messages) == [message]
    with tracer.commit(commit(), cast(Any, None)) as span:
        flags = int(span.headers["traceparent"].rpartition("-")[2], 16)
        assert not flags & TraceFlags.SAMPLED and not span.trace
