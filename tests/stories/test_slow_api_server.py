"""A slow API server: no more is let in than it takes, whoever waits for that is told so, and in the end everything has run."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.application import DecisionApplied
from events.codec import decode_commit, decode_sighting
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Running
from ops.queries.explaining import explain, world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from projections.explanation.fixes import UNWRITTEN
from services.runtime.cluster_port import Writer
from services.runtime.log_port import Entry
from services.runtime.partition.admission_window import LONGEST, PROBE, SIZE
from tests.stage.cluster import Embedded
from tests.stage.stage import Stage, job
from tests.stories.test_leases import PLAIN

JOBS = 12
_WRITES = ("create", "merge", "apply", "delete")


class Slow:
    """An API server that does at once what is written, and answers one write after the other, when it is told to."""

    def __init__(self, inner: Writer) -> None:
        self._inner = inner
        self._held: deque[asyncio.Event] = deque()
        self._asked = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _WRITES:
            return found

        async def written(*args: Any, **named: Any) -> Any:
            answer = await found(*args, **named)
            answered = asyncio.Event()
            self._held.append(answered)
            self._asked.set()
            await answered.wait()
            return answer

        return written

    async def answer(self) -> None:
        """Answer what is written, in order, until cancelled."""
        while True:
            while not self._held:
                self._asked.clear()
                await self._asked.wait()
            self._held.popleft().set()
            await asyncio.sleep(0)


def plain(name: str) -> dict[str, Any]:
    value = job(name, 1)
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "plain"
    value["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    return value


async def admitted(stage: Stage, count: int) -> None:
    """Follow the partition until so many are admitted."""
    found = 0
    async for batch in (await stage.bus.stream(PARTITION)).follow(0):
        for entry in batch:
            found += sum(isinstance(one, WorkloadAdmitted) for one in decode_commit(entry.data).events)
        if found >= count:
            return


def let_in_no_further_than_is_written(log: Mapping[str, Sequence[Entry]]) -> int:
    """How many were admitted in all; each admission has to be within the bound, or one more after half a minute in which none was."""
    facts, upto = [decode_sighting(one.data).fact for one in log[FACTS]], 0
    on_their_way: dict[str, int] = {}
    written: list[int] = []
    last, count = 0, 0
    for entry in log[PARTITION]:
        commit = decode_commit(entry.data)
        seen = max((run.upto for run in commit.inputs if run.stream == FACTS), default=upto)
        for fact in facts[upto:seen]:
            if (
                isinstance(fact, DecisionApplied)
                and on_their_way.get(fact.workload, fact.sequence + 1) <= fact.sequence
            ):
                del on_their_way[fact.workload]
                written.append(commit.at)
        upto = seen
        let_in = [one.workload for one in commit.events if isinstance(one, WorkloadAdmitted)]
        on_their_way.update(dict.fromkeys(let_in, entry.sequence))
        if let_in:
            assert 0 < len(let_in) <= commit.most_admissions
            lately = sum(at > commit.at - LONGEST for at in written)
            probed = len(let_in) == 1 and commit.at - last >= PROBE
            assert len(on_their_way) <= max(SIZE, lately) or probed, f"{sorted(on_their_way)} at {entry.sequence}"
            last, count = commit.at, count + len(let_in)
    return count


async def test_no_more_is_let_in_than_a_slow_api_server_takes_and_in_the_end_everything_has_run(
    tmp_path: Path,
) -> None:
    clock = ScaledClock()
    async with Stage(tmp_path, Embedded(tmp_path, clock), clock) as stage:
        for document in yaml.safe_load_all(PLAIN):
            await stage.add(document)
        names = [f"j{number:02}" for number in range(JOBS)]
        for name in names:
            await stage.add(plain(name))
        slow = Slow(stage.ports.writer)
        running = Running(replace(stage.ports, writer=cast(Writer, slow)))
        stage.tasks.append(asyncio.create_task(running.run()))
        await admitted(stage, SIZE)
        world = world_at(point_at(await read_everything(stage.bus)))
        waits = [one for one in world.workloads.values() if one.line and not one.admitted]
        assert waits
        for one in waits:
            found = explain(world, one, clock.now())
            assert (found.reason, len(found.waits_for)) == (UNWRITTEN, SIZE), found
        stage.tasks.append(asyncio.create_task(slow.answer()))
        await stage.until(lambda: stage.complete(*names))
        log = await read_everything(stage.bus)
        assert let_in_no_further_than_is_written(log) == JOBS
        _, replayed = fold_partition(PARTITION, log, verify=True)
        assert replayed.verified and not replayed.differences
