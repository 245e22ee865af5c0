"""The trace that a message names: what is no trace is none, whoever stored it."""

from pathlib import Path

import pytest

from events.subjects import FACTS
from ops.production.archive.restore import check_filed
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.pull import trace_in
from ops.production.log.server.server import NatsServer
from services.runtime.log_port import Message

GOOD = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "trace"),
    [
        (f"00-{GOOD}-{SPAN}-01", GOOD),
        (f"cc-{GOOD}-{SPAN}-01-what-will-be", GOOD),
        ("", ""),
        ("00", ""),
        (f"00-{GOOD[:-1]}-{SPAN}-01", ""),
        (f"00-{GOOD.upper()}-{SPAN}-01", ""),
        (f"00-{'0' * 32}-{SPAN}-01", ""),
        (f"00-\x1b[2J\0{GOOD[5:]}-{SPAN}-01", ""),
        (f"00-{GOOD}{SPAN}-01", ""),
        ("team/somebody's secret that is long enough", ""),
    ],
)
def test_only_what_w3c_calls_a_trace_is_one(header: str, trace: str) -> None:
    assert trace_in({"traceparent": header}) == trace
    assert trace_in(None) == ""


async def test_a_message_with_a_trace_that_is_none_is_read_without_it_and_can_be_restored(tmp_path: Path) -> None:
    """Filed with the header as it was, no backup that holds it could ever be put back."""
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    stream = await bus.stream(FACTS)
    await stream.publish(
        [Message("kuelog.facts._cluster.x", b"{}", "a", headers={"traceparent": f"00-\0{GOOD[1:]}-{SPAN}-01"})]
    )
    followed = await anext(aiter(stream.follow(0)))
    for entry in (followed[0], await stream.get(1)):
        assert entry.trace == ""
        check_filed(entry)
    await bus.close()
    await server.stop()
