"""How full the log is, is told before it matters: as a metric, in the answer to probes, and as a failure only when it is full."""

from contextlib import suppress
from pathlib import Path

import aiohttp

from ops.production.health import Health, health_app
from ops.production.listeners.listening import listening
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.capacity import StreamFill
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION
from ops.production.metrics.endpoint import exposition
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.log_errors import LogFull
from tests.services.runtime.partition.test_host import NoCluster


async def test_a_stream_is_told_of_from_80_per_cent_on_and_fails_when_it_is_full(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url, max_bytes=1 << 20)
    nobody = NoCluster()
    ports = Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock(), filled=bus.filled)
    running = Running(ports, ())
    health = Health(running)
    partition = await bus.stream(PARTITION)

    async def fill(percent: int) -> None:
        base = (await partition.last()).sequence
        while (await running.filled())[0].percent < percent:
            base = await partition.append("kuelog.log.0.x", bytes(50_000), message_id=str(base), base=base)

    await fill(50)
    assert await health.worth_knowing() == []
    await fill(80)
    [told] = await health.worth_knowing()
    assert told.startswith(f"{PARTITION} holds ") and "of 1,048,576 bytes (8" in told and "full in about 0 days" in told
    assert await health.why_not() == []
    async with (
        listening(health_app(health.why_not, None, health.worth_knowing), 0, what="probes", host="127.0.0.1") as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        assert (answer.status, await answer.text()) == (200, f"ok\n{told}\n")
    with suppress(LogFull):
        await fill(100)
    assert await health.worth_knowing() == []
    assert [one.endswith("it is full") for one in await health.why_not()] == [True]
    await bus.close()
    await server.stop()
    assert await running.filled() == [], "a bus that is away can't tell, and that is told elsewhere"


def test_bytes_limit_and_days_are_metrics() -> None:
    text = exposition(
        lambda: None,
        [StreamFill(stream=PARTITION, bytes=5, limit=10, days=2.5), StreamFill(stream="X", bytes=1, limit=0)],
    )
    assert b'kuelog_log_bytes{stream="LOG_0"} 5.0' in text
    assert b'kuelog_log_limit_bytes{stream="LOG_0"} 10.0' in text
    assert b'kuelog_log_days_until_full{stream="LOG_0"} 2.5' in text
    assert b'kuelog_log_days_until_full{stream="X"}' not in text
