"""The applier that fails on one workload reports that, and applies all others."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from events.application import FAILED, DecisionApplied, DecisionRejected
from events.catalogue import Fact
from events.codec import decode_sighting
from events.subjects import FACTS
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier import plan
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform


async def reported(count: int) -> dict[str, Fact]:
    """What the applier reports of so many jobs that wait, by workload."""
    story = Story()
    story.told(*platform(nominal=0), *(replace(job(name), owner=None) for name in ("a", "bad", "c"))).decided()
    stream, clock = MemoryStream(FACTS), ScaledClock(100)
    applier = Applier(InProcess(manifests(), 1), stream, clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    applier.observe(story.world, list(story.world.workloads))
    found: dict[str, Fact] = {}
    async for batch in stream.follow(0):
        for entry in batch:
            fact = decode_sighting(entry.data).fact
            found[getattr(fact, "workload", "")] = fact
        if len(found) >= count:
            break
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


def failing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, at: int) -> None:
    works: Callable[..., Any] = getattr(module, name)

    def fails(*args: Any) -> Any:
        if getattr(args[at], "key", "") == "team/bad":
            raise KeyError("flavor")
        return works(*args)

    monkeypatch.setattr(module, name, fails)


@pytest.mark.parametrize(("module", "name", "at"), [(plan, "_application", 2), (plan, "workload_status", 0)])
async def test_one_workload_that_fails_is_reported_and_keeps_no_other_from_being_applied(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, at: int
) -> None:
    failing(monkeypatch, module, name, at)
    found = await asyncio.wait_for(reported(3), 30)
    bad = found["team/bad"]
    assert isinstance(bad, DecisionRejected) and (bad.reason, bad.message) == (FAILED, "KeyError: 'flavor'")
    others = [found["team/a"], found["team/c"]]
    # Their objects are not in this cluster: that is reported, too.
    assert all(isinstance(one, DecisionApplied | DecisionRejected) and "KeyError" not in str(one) for one in others)
