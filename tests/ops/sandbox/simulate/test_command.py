"""`kuelog simulate`: what was found is told with the command that plays it again."""

import asyncio
import os
import signal
import sys
from functools import partial

import msgspec
import psutil
import pytest
from typer.testing import CliRunner

from events.subjects import CONTROL
from ops.cli import simulate
from ops.cli.main import app
from ops.sandbox.simulate import history
from ops.sandbox.simulate.batch import HistorySpec, command, play_spec
from ops.sandbox.simulate.drawn_division import DrawnDivision, drawn_division
from ops.sandbox.simulate.fault_plan import FaultKind, schedule_of
from ops.sandbox.simulate.laws import Aftermath

SPAN = 10_800
SHORT = ["--hours", "0.003", "--jobs", "1"]
SIGNALLED = """
import asyncio
import os
import signal
import sys
from ops.cli.main import app
from ops.sandbox.simulate.history import Simulation

begin = Simulation.begin

def begins(self):
    begin(self)
    asyncio.get_running_loop().call_at(60, os.kill, os.getpid(), signal.SIGINT)

Simulation.begin = begins
app(sys.argv[1:])
"""
"""The command line, told to end in the middle of its first history."""
PRICED = (FaultKind.PRICE, FaultKind.QUOTA)


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["simulate", *words])
    return found.exit_code, found.stdout


def test_histories_without_a_failure_end_well() -> None:
    code, told = run("--seeds", "1-2", *SHORT, "--faults", "none")
    assert code == 0
    assert "seeds 1-2: 2 histories" in told
    assert "0 failures" in told


async def test_ctrl_c_ends_one_process_that_plays_with_nothing_but_what_was_found_so_far() -> None:
    words = ("--seeds", "1-100000", "--jobs", "1", "--hours", "0.05", "-o", "json")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SIGNALLED, "simulate", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "default"},
        # Whoever starts these tests in the background has them ignore it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    out, err = await process.communicate()
    assert process.returncode == 130
    assert msgspec.json.decode(out)["interrupted"] is True
    assert err == b""


async def test_ctrl_c_while_workers_are_still_loading_is_no_complaint_of_theirs() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "simulate", "--seeds", "1-100000", "--jobs", "2"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
        start_new_session=True,
    )
    # A worker that has begun to load is there beside the two that count and track for it.
    while not any("spawn_main" in " ".join(one.cmdline()) for one in psutil.Process(process.pid).children()):  # noqa: ASYNC110 - processes tell nobody that they begin
        await asyncio.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = await process.communicate()
    assert process.returncode == 130
    assert b"stopped after" in out
    assert b"Traceback" not in err


def test_where_no_bar_can_be_drawn_lines_say_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "_LINE_EVERY", 2)
    found = CliRunner().invoke(app, ["simulate", "--seeds", "1-3", *SHORT, "--faults", "none"])
    assert found.stderr == "2 of 3 histories\n"


def test_a_failure_is_told_with_the_command_that_plays_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def law(aftermath: Aftermath) -> list[str]:
        return ["somebody was cheated"] if aftermath.entries.get(CONTROL) else []

    monkeypatch.setattr(history, "broken_laws", law)
    seed = next(
        seed
        for seed in range(1000)
        if drawn_division(seed, SPAN) == DrawnDivision()
        and [one.kind for one in schedule_of(seed, SPAN, PRICED)] == [FaultKind.QUOTA, FaultKind.PRICE]
    )
    code, told = run("--seeds", str(seed), *SHORT, "--faults", "price,quota", "-o", "json")
    assert code == 1
    (failure,) = msgspec.json.decode(told)["failures"]
    assert failure["broken"] == ["somebody was cheated"]
    assert len(failure["faults"]) == 1, "prices are what it takes"
    assert "price" in failure["faults"][0]
    code, again = run(*failure["command"].split()[2:], "-o", "json")
    assert code == 1
    assert msgspec.json.decode(again)["failures"][0]["faults"] == failure["faults"]


def test_every_history_is_divided_and_its_trees_move_where_that_is_asked_for_and_its_command_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    divided = ("--partitions", "2", *SHORT, "--faults", "none")
    code, told = run("--seeds", "1", *divided)
    assert code == 0 and ", 2 trees moved, 0 failures" in told, told

    def law(aftermath: Aftermath) -> list[str]:
        return [f"the log says {len(aftermath.entries[CONTROL])} things of itself"]

    monkeypatch.setattr(history, "broken_laws", law)
    _, told = run("--seeds", "1", *divided, "-o", "json")
    report = msgspec.json.decode(told)
    assert report["moved"] == 2
    _, again = run(*report["failures"][0]["command"].split()[2:], "-o", "json")
    assert msgspec.json.decode(again)["failures"] == report["failures"]


def test_a_history_of_clusters_is_told_with_its_partitions() -> None:
    outcome = play_spec(HistorySpec(seed=7, span=18_000, clusters=True, partitions=4))
    assert command(outcome, 18_000, 4) == "kuelog simulate --clusters --seeds 7 --hours 0.005 --partitions 4"


@pytest.mark.parametrize(
    "words",
    [
        ["--partitions", "-1"],
        ["--clusters", "--faults", "kill"],
        ["--seeds", "x"],
        ["--seeds", "5-1"],
        ["--faults", "plague"],
        ["--only-faults", "a"],
        ["--hours", "0"],
    ],
    ids=" ".join,
)
def test_what_can_not_be_played_is_refused(words: list[str]) -> None:
    found = CliRunner().invoke(app, ["simulate", *words])
    assert found.exit_code == 2
    assert "Traceback" not in found.output
