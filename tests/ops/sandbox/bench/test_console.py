"""The bench of the console on a small log: what is written is served, open pages are answered, and a browser is not needed."""

from pathlib import Path

import pytest

from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from ops.sandbox.bench.console import measure, store
from ops.sandbox.bench.console_load import CARDS, ConsoleLoad, written
from projections.explanation.read_models import workload_rows


async def test_open_consoles_are_answered_while_jobs_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = written(ConsoleLoad(workloads=300, nodes=4), lambda _done, _all: None)
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await store(bus, log)
    monkeypatch.setenv("PATH", str(tmp_path))
    costs = await measure(bus, tmp_path, workloads=300, consoles=3, seconds=1)
    assert costs.answers >= 3 and costs.list_p50_ms > 0 and costs.append_p50_ms > 0
    assert costs.browser is None
    await bus.close()
    await server.stop()


def test_the_load_runs_as_many_as_there_is_room_for_and_replays() -> None:
    log = written(ConsoleLoad(workloads=300, nodes=4), lambda _done, _all: None)
    fold, replayed = fold_partition(PARTITION, log, verify=True)
    assert not replayed.is_wrong
    rows = workload_rows(fold.world)
    assert len(rows) == 300 and len(fold.world.nodes) * CARDS == 32
    assert {row.state for row in rows} == {"admitted", "pending"}
    assert {row.cluster_queue.partition("-")[0] for row in rows if row.state == "admitted"} == {"queue", "cards"}
