"""How full the streams of the log are, and how long they last as they have grown so far."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from ops.production.log.jetstream.generations import Generation

WARN_PERCENT = 80
"""A stream that is this full, in per cent, is named by `/readyz`, though nothing fails yet."""
_DAY_S = 86_400


class StreamFill(msgspec.Struct, frozen=True, kw_only=True):
    """How full a stream is that takes in messages."""

    stream: str
    bytes: int
    limit: int
    """0 when nothing limits it."""
    days: float | None = None
    """Until it is full, if it grows on as it has since its first message; None while that is not known."""
    last: int = 0
    """Its last sequence."""

    @property
    def percent(self) -> int:
        """How much of its limit the stream holds, in percent; 0 without a limit."""
        return self.bytes * 100 // self.limit if self.limit else 0

    @property
    def full(self) -> bool:
        """Whether hardly a message has room: what is refused then depends on its size."""
        return bool(self.limit) and self.limit - self.bytes < _ROOM

    def describe(self) -> str:
        """How full the stream is, and when it will be, in a line for people."""
        days = "" if self.days is None else f", full in about {self.days:.0f} days as it has grown"
        return f"{self.stream} holds {self.bytes:,} of {self.limit:,} bytes ({self.percent} %){days}"


_ROOM = 64 << 10
"""So much a large commit takes."""


def stream_fill(stream: str, one: Generation, now: datetime | None = None) -> StreamFill:
    """How full a stream of the server is."""
    days = _days(one, now or datetime.now(UTC))
    return StreamFill(stream=stream, bytes=one.bytes, limit=one.limit, days=days, last=one.last)


def _days(one: Generation, now: datetime) -> float | None:
    if not one.begun or not one.limit or not one.bytes:
        return None
    days = (now - datetime.fromisoformat(one.begun)).total_seconds() / _DAY_S
    return (one.limit - one.bytes) / (one.bytes / days) if days > 0 else None


class CapacityMetrics:
    """The same as metrics, as of the last time that it was asked."""

    def __init__(self, found: Sequence[StreamFill]) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """Bytes, limit, last sequence and days of each stream."""
        for name, text in (
            ("kuelog_log_bytes", "Bytes that the stream of the log holds which takes in now."),
            ("kuelog_log_limit_bytes", "Bytes that it may hold; when they are reached, nothing is admitted."),
            ("kuelog_log_last_sequence", "The last sequence of the stream."),
            ("kuelog_log_days_until_full", "Days until then, as it has grown since its first message."),
        ):
            family = GaugeMetricFamily(name, text, labels=["stream"])
            for one in self._found:
                value = _told(one).get(name, one.days)
                if value is not None:
                    family.add_metric([one.stream], value)
            yield family


def _told(one: StreamFill) -> dict[str, int]:
    return {
        "kuelog_log_bytes": one.bytes,
        "kuelog_log_limit_bytes": one.limit,
        "kuelog_log_last_sequence": one.last,
    }
