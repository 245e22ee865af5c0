"""Services that run keep their log provable, up to the last thing that they did."""

import asyncio
from pathlib import Path
from typing import cast

from ops.production.archive.history import read_stored
from ops.production.archive.proof.evidence import load_evidence
from ops.production.log.memory import MemoryBus
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.audit.verify import Auditor
from services.runtime.cluster_port import Reader, Writer
from services.runtime.own_task import stopped
from tests.services.runtime.partition.test_host import NoCluster, admitted, tell, without_cards
from tests.stories.small_world import job


async def test_what_was_decided_last_is_signed_when_services_stop(tmp_path: Path) -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(8), job("a")])
    nobody = NoCluster()
    ports = Ports(bus=bus, reader=cast(Reader, nobody), writer=cast(Writer, nobody), clock=ScaledClock())
    running = Running(ports, ("queue-manager", "admitter", "preemptor"), witness=tmp_path)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(admitted(bus, 1), 30)
    await stopped(task)
    entries = await read_stored(bus)
    report = Auditor(load_evidence(str(tmp_path))).examine(entries)
    assert report.findings == ()
    assert {one.stream: one.signed for one in report.streams} == {name: len(found) for name, found in entries.items()}
