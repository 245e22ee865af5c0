"""`kuelog simulate`: what was found is told with the command that plays it again."""

import msgspec
import pytest
from typer.testing import CliRunner

from events.subjects import CONTROL
from ops.cli import simulate
from ops.cli.main import app
from ops.sandbox.simulate import history
from ops.sandbox.simulate.fault_plan import Kind, schedule_of
from ops.sandbox.simulate.laws import Aftermath

SPAN = 10_800
SHORT = ["--hours", "0.003", "--jobs", "1"]
PRICED = (Kind.PRICE, Kind.QUOTA)


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["simulate", *words])
    return found.exit_code, found.stdout


def test_histories_without_a_failure_end_well() -> None:
    code, told = run("--seeds", "1-2", *SHORT, "--faults", "none")
    assert code == 0
    assert "seeds 1-2: 2 histories" in told
    assert "0 failures" in told


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
        if [one.kind for one in schedule_of(seed, SPAN, PRICED)] == [Kind.QUOTA, Kind.PRICE]
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


@pytest.mark.parametrize(
    "words",
    [["--seeds", "x"], ["--seeds", "5-1"], ["--faults", "plague"], ["--only-faults", "a"], ["--hours", "0"]],
    ids=" ".join,
)
def test_what_can_not_be_played_is_refused(words: list[str]) -> None:
    found = CliRunner().invoke(app, ["simulate", *words])
    assert found.exit_code == 2
    assert "Traceback" not in found.output
