"""The telemetry of a running service: log lines by structlog, spans by OpenTelemetry."""

import logging
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TextIO

import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


class _StandardError(TextIO):
    """Standard error as it is when something is written, not as it was when logging was set up."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class SpanTracer:
    """A span around each decision and its append; its context travels in the message's headers."""

    def __init__(self) -> None:
        provider = trace.get_tracer_provider()
        # Without a provider of the deployment's own there would be no ids: the log keeps them even if nobody collects.
        made = TracerProvider(shutdown_on_exit=False) if isinstance(provider, trace.ProxyTracerProvider) else provider
        self._tracer = made.get_tracer("kuelog")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def turn(self, author: str, partition: str) -> Generator[Mapping[str, str], None, None]:
        """Open the span, give the headers that carry it on."""
        with self._tracer.start_as_current_span(
            f"{author} decides", attributes={"partition": partition, "author": author}
        ):
            headers: dict[str, str] = {}
            self._propagator.inject(headers)
            yield headers


def configure_logging(level: str = "") -> None:
    """One line per turn, key=value; the level by `KUELOG_LOG`, by default warnings and worse."""
    named = (level or os.environ.get("KUELOG_LOG", "warning")).upper()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, named, logging.WARNING)),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=_StandardError()),
    )
