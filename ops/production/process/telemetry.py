"""The log lines of a running service, by structlog; those within a span say which."""

import logging
import os
import sys
from typing import TextIO

import structlog
from opentelemetry import trace
from opentelemetry.trace import format_span_id, format_trace_id
from structlog.typing import EventDict


class _StandardError(TextIO):
    """Standard error as it is when something is written, not as it was when logging was set up."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _with_trace(logger: object, method: str, line: EventDict) -> EventDict:
    """The ids of the span in which a line is logged, as OpenTelemetry names them."""
    del logger, method
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        line["trace_id"], line["span_id"] = format_trace_id(context.trace_id), format_span_id(context.span_id)
    return line


def configure_logging(level: str = "") -> None:
    """One line per turn, key=value; the level by `KUELOG_LOG`, by default warnings and worse."""
    named = (level or os.environ.get("KUELOG_LOG", "warning")).upper()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, named, logging.WARNING)),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _with_trace,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=_StandardError()),
    )
