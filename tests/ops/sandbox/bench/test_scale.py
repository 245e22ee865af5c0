"""`kuelog bench scale` as a user calls it, with processes of its own on a real bus."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from ops.cli.main import app
from ops.sandbox.bench.scale import ScaleSetting


def test_partitions_are_shared_out_and_each_is_served() -> None:
    setting = ScaleSetting(partitions=5, processes=2, jobs=10, trees=5)
    assert [setting.served_by(number) for number in (0, 1)] == [("LOG_0", "LOG_2", "LOG_4"), ("LOG_1", "LOG_3")]
    alone = ScaleSetting(partitions=1, processes=2, jobs=10, trees=5)
    assert [alone.served_by(number) for number in (0, 1)] == [("LOG_0",), ("LOG_0",)]


@pytest.mark.timeout(180)
async def test_every_job_is_admitted_whoever_decides() -> None:
    words = ("bench", "scale", "--jobs", "60", "--trees", "4", "--partitions", "4", "--processes", "2", "-o", "json")
    done = await asyncio.to_thread(CliRunner().invoke, app, list(words))
    assert done.exit_code == 0, done.output
    [row] = json.loads(done.stdout)["rows"]
    assert row["decisions"] == 3 * 60, "each is queued, gets quota and is admitted, once"
    assert len(row["processes"]) == 2 and all(one["appends"] for one in row["processes"])
    assert sum(one["conflicts"] for one in row["processes"]) == 0, "no partition has two writers"


@pytest.mark.timeout(180)
async def test_three_servers_hold_what_is_decided() -> None:
    words = (
        "bench",
        "scale",
        "--jobs",
        "60",
        "--trees",
        "4",
        "--partitions",
        "1",
        "--processes",
        "1",
        "--servers",
        "3",
    )
    done = await asyncio.to_thread(CliRunner().invoke, app, [*words, "-o", "json"])
    assert done.exit_code == 0, done.output
    [row] = json.loads(done.stdout)["rows"]
    assert row["setting"]["servers"] == 3
    assert row["decisions"] == 3 * 60, "each is queued, gets quota and is admitted, once"


def test_a_bus_of_two_servers_is_refused() -> None:
    done = CliRunner().invoke(app, ["bench", "scale", "--servers", "2"])
    assert done.exit_code == 2
    assert "1 or 3 servers, not 2" in done.output
