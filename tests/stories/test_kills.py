"""Each service, as a process of its own, killed with SIGKILL at each of its await points: the end is the same.

The other services run on in this process; what the dead one had begun, its successor finds on the log.
"""

import asyncio

import pytest

from ops.production.archive.history import History
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.served import SERVICES
from ops.queries.replay import fold_partition
from tests.stage.stage import Stage, job

PARTITIONS = ("queue-manager", "admitter", "preemptor", "accountant")
POINTS = [
    *(
        (service, f"append:{when}:{2 if service != 'preemptor' else 1}")
        for service in PARTITIONS
        for when in ("before", "after")
    ),
    *(("watcher", f"publish:{when}:{number}") for when in ("before", "after") for number in (2, 12)),
    *(("applier", f"{call}:{when}:2") for call in ("get", "merge", "apply", "publish") for when in ("before", "after")),
    *(("applier", f"create:{when}:1") for when in ("before", "after")),
    *(("applier", f"queue-merge:{when}:2") for when in ("before", "after")),
]


async def play(stage: Stage) -> None:
    """A job runs, an urgent one takes its place, and both end."""
    await stage.add(job("patient", 50_000))
    await stage.until(lambda: stage.running("patient"))
    await stage.add(job("urgent", 5, urgent=True))
    await stage.until(lambda: stage.complete("urgent") and stage.running("patient"))
    await stage.end_pods("patient")
    await stage.until(lambda: stage.complete("patient"))


def final_state(entries: History) -> dict[str, object] | None:
    """What the log says when all is over, without what depends on the moment of a crash; None before that."""
    fold, replayed = fold_partition(PARTITION, entries, verify=True)
    assert not replayed.differences
    devices, _ = fold_partition(DEVICE_PARTITION, entries)
    cards = devices.world.cards
    if cards.holdings or cards.pods or not all(w.finish_shown for w in fold.world.workloads.values()):
        return None
    return {
        "workloads": {
            w.owner.name: (w.finished, w.evicted, w.stops.preempted_count)
            for w in fold.world.workloads.values()
            if w.owner
        },
        "usage": fold.world.quota.usage_by_name(fold.world.quota.queues["team"]),
        "cards": {uuid: use for uuid, use in devices.world.cards.used.items() if use.slots},
        "parked": fold.world.lines.of("team").empty,
    }


EXPECTED = {
    "workloads": {"patient": (True, False, 1), "urgent": (True, False, 0)},
    "usage": {},
    "cards": {},
    "parked": True,
}


@pytest.mark.slow
@pytest.mark.parametrize(("service", "crash"), POINTS, ids=lambda value: value.replace(":", " "))
async def test_a_service_killed_at_an_await_point_changes_nothing_about_the_end(
    service: str, crash: str, stage: Stage
) -> None:
    stage.serve(*(one for one in SERVICES if one != service), replica="others")
    mortal = await stage.start_process(service, crash)
    await mortal.serving()

    async def succeed() -> None:
        assert await mortal.ended() == -9, f"it did not reach {crash}: {mortal.told}"
        stage.serve(service, replica="successor")

    succession = asyncio.create_task(succeed())
    await asyncio.wait_for(play(stage), 90)
    await succession
    assert await stage.stored(final_state) == EXPECTED


async def test_without_any_death_the_end_is_the_expected_one(stage: Stage) -> None:
    stage.serve()
    await asyncio.wait_for(play(stage), 60)
    assert await stage.stored(final_state) == EXPECTED


async def test_the_bus_restarted_in_the_middle_changes_nothing_about_the_end(stage: Stage) -> None:
    stage.serve()
    playing = asyncio.create_task(play(stage))
    await stage.until(lambda: stage.running("patient"))
    await stage.server.kill()
    await stage.server.start()
    await asyncio.wait_for(playing, 90)
    assert await stage.stored(final_state) == EXPECTED


@pytest.mark.parametrize("forget", [False, True], ids=["remembers", "forgets"])
async def test_the_api_server_restarted_in_the_middle_changes_nothing_about_the_end(stage: Stage, forget: bool) -> None:
    stage.serve()
    playing = asyncio.create_task(play(stage))
    await stage.until(lambda: stage.running("patient"))
    await stage.cluster.restart(forget=forget)
    await asyncio.wait_for(playing, 120)
    assert await stage.stored(final_state) == EXPECTED


async def test_jobs_start_and_make_room_while_the_applier_is_put_off(stage: Stage) -> None:
    stage.serve()
    async with stage.cluster.overloaded("applier"):
        playing = asyncio.create_task(play(stage))
        await stage.until(lambda: bool(stage.get("jobs.batch", "default", "patient")))
    await asyncio.wait_for(playing, 120)
    assert await stage.stored(final_state) == EXPECTED
