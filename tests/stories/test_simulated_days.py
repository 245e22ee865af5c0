"""A hundred random days, each written as a log: every decision comes out the same again, under any hash seed."""

import subprocess
import sys

import msgspec
import pytest

from events.admission import QuotaReserved
from events.codec import decode_commit, encode
from ops.bench.day import played, small_day
from ops.cli.replay_rows import changes_of
from ops.replay import fold_lane
from ops.wiring import DEVICE_LANE, LANE
from tests.places import ROOT

TURNS = 150


@pytest.mark.parametrize("seed", range(100))
def test_every_decision_of_a_random_day_comes_out_the_same(seed: int) -> None:
    entries, _ = played(small_day(seed), most=TURNS)
    results = [fold_lane(lane, entries, verify=True)[1] for lane in (LANE, DEVICE_LANE)]
    assert sum(one.verified for one in results) > 0
    differing = [f"{one.lane}/{d.sequence} by {d.author}" for one in results for d in one.differences]
    assert not differing


@pytest.mark.parametrize("seed", range(20))
def test_the_quick_way_and_the_thorough_way_find_the_same(seed: int) -> None:
    entries, _ = played(small_day(seed), most=TURNS)
    for lane in (LANE, DEVICE_LANE):
        (_, quick), (_, thorough) = (fold_lane(lane, entries, verify=True, quick=each) for each in (True, False))
        assert quick.state_hash == thorough.state_hash
        assert [one.sequence for one in quick.differences] == [one.sequence for one in thorough.differences]


def test_a_decision_that_was_changed_is_found_by_both_ways_with_what_led_to_it() -> None:
    entries, _ = played(small_day(2), most=60)
    commits = [decode_commit(entry.data) for entry in entries[LANE]]
    index = next(i for i, each in enumerate(commits) if any(isinstance(one, QuotaReserved) for one in each.events))
    entry, commit = entries[LANE][index], commits[index]
    reserved = [event for event in commit.events if isinstance(event, QuotaReserved)]
    other = msgspec.structs.replace(reserved[0], borrow_level=7)
    events = tuple(other if event is reserved[0] else event for event in commit.events)
    changed = msgspec.structs.replace(entry, data=encode(msgspec.structs.replace(commit, events=events)))
    upto = {**entries, LANE: [*entries[LANE][:index], changed]}
    for quick in (False, True):
        _, result = fold_lane(LANE, upto, verify=True, quick=quick)
        (difference,) = result.differences
        assert difference.sequence == entry.sequence
        (change,) = changes_of(difference)
        assert change.fields == ["borrow_level"]
        assert change.recorded["borrow_level"] == 7


WRITE_DAYS = """
import hashlib
from ops.bench.day import played, small_day
digest = hashlib.sha256()
for seed in range(6):
    entries, _ = played(small_day(seed), most=80)
    for name in sorted(entries):
        for entry in entries[name]:
            digest.update(entry.data)
print(digest.hexdigest())
"""


def test_a_day_is_the_same_to_the_byte_under_any_hash_seed() -> None:
    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", WRITE_DAYS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(ROOT)},
        )
        return done.stdout

    assert run("1") == run("4711") == run("0")
