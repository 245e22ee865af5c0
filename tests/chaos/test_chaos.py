"""The short runs; `make chaos` plays the long ones."""

from pathlib import Path

import pytest

from tests.chaos.__main__ import divided
from tests.chaos.run import BUS, SLOTS, Plan, play

SHORT = {
    "services and bus are killed": Plan(seed=2, kills=6, commits=4, at_once=15),
    "the leader of three servers is killed": Plan(seed=1, kills=2, servers=3, victims=(BUS,), commits=4, at_once=15),
    "services and three servers are upgraded in turn": Plan(seed=4, kills=0, servers=3, at_once=15, rolling=True),
    "anything is killed over and over, four partitions": divided(jobs=24, seed=1, every_s=2.0),
    "everything between them is refused, slow and cut": Plan(seed=1, kills=0, jobs=20, at_once=15, storm=True),
}


@pytest.mark.slow
@pytest.mark.timeout(900)  # A run that stands still says so itself, and who has logged what.
@pytest.mark.parametrize("plan", SHORT.values(), ids=SHORT)
async def test_no_job_is_lost_and_no_law_broken_whatever_happens_between_processes(plan: Plan, tmp_path: Path) -> None:
    outcome = await play(plan, tmp_path)
    assert not outcome.broken, str(outcome)
    assert (outcome.kills.total() == plan.kills or plan.every_s) and outcome.jobs >= plan.jobs
    assert outcome.kills.total() or not plan.every_s
    assert outcome.upgraded == ([*SLOTS, "n0", "n1", "n2"] if plan.rolling else [])
    assert not plan.storm or ("refused" in outcome.storm and "cut" in outcome.storm)
