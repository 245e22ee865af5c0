"""A log that this Python has written replays to the byte on every other Python, under any hash seed."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from ops.sandbox.bench.day import played, small_day
from tests.places import ROOT
from tests.stories.other_pythons import asked, environment_of
from tests.stories.replayed_days import Log, Told, replayed

DAYS, TURNS = 24, 150


@pytest.fixture(scope="module")
def days() -> list[Log]:
    return [played(small_day(seed), most=TURNS)[0] for seed in range(DAYS)]


@pytest.fixture(scope="module")
def here(days: list[Log]) -> Told:
    return replayed(days)


@pytest.mark.parametrize("python", asked())
def test_another_python_decides_the_same_bytes_and_folds_the_same_state(
    python: str, days: list[Log], here: Told, tmp_path: Path
) -> None:
    elsewhere = environment_of(python)
    file = tmp_path / "days.json"
    file.write_bytes(msgspec.json.encode(days))
    for seed in ("1", "4711"):
        done = subprocess.run(
            [str(elsewhere), "-m", "tests.stories.replayed_days", str(file)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert not done.returncode, done.stderr
        there = msgspec.json.decode(done.stdout, type=Told)
        assert python in there.version or os.sep in python
        assert there.partitions == here.partitions
        assert sum(partition.verified for partition in there.partitions) > 100
        assert not any(partition.otherwise for partition in there.partitions)
