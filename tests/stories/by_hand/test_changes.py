"""Whatever people change at any time: once they rest each job runs if it was let in and stands still if not, and the log replays."""

import asyncio
import os
import random
from pathlib import Path

import pytest

from ops.production.archive.history import History
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from services.runtime.own_task import stopped
from tests.stage.late_answers import late_answers
from tests.stage.stage import Stage
from tests.stories.by_hand.amiss import amiss
from tests.stories.by_hand.changes import ChangesByHand, set_up

CHANGES = 50
LATEST_S = 0.6
PAUSES_S = (0.0, 0.0, 0.02, 0.1, 0.3)
FIRST, LAST = (int(one) for one in os.environ.get("KUELOG_BY_HAND", "1-3").split("-"))
"""The seeds that are played: `make by-hand SEEDS=1-40` for others."""


@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
async def test_what_people_change_at_any_time_comes_to_rest_as_it_has_to_be(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    async with asyncio.timeout(240), Stage(tmp_path) as stage:
        await set_up(stage)
        by_hand = ChangesByHand(stage, chance)
        try:
            with late_answers(random.Random(seed), LATEST_S):
                stage.serve()
                for _ in range(CHANGES):
                    await by_hand.change()
                    await asyncio.sleep(chance.choice(PAUSES_S))
                await by_hand.open()
            letting_in = asyncio.create_task(by_hand.let_in())
            try:
                await stage.until(lambda: not amiss(stage))
            finally:
                await stopped(letting_in)
            assert await stage.stored(_replays)
        except (TimeoutError, asyncio.CancelledError) as stuck:
            stuck.add_note("\n".join([*amiss(stage), "after:", *by_hand.said]))
            raise


def _replays(entries: History) -> bool:
    _, replayed = fold_partition(PARTITION, entries, verify=True)
    assert not replayed.differences
    return True
