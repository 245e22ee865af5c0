"""What every command of a terminal does: its version, standard input as `-`, whole lines into a pipe, and exit codes."""

import json
import subprocess
import sys

import pytest

from tests.places import ROOT

WIDE = """
from rich.table import Table
from ops.cli.terminal import terminal
for console in (terminal(), terminal(stderr=True), terminal(soft_wrap=True)):
    console.print("word " * 200)
    table = Table("heading")
    table.add_row("cell-" * 200)
    console.print(table)
"""
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: c}]}}}\n"


def run(*words: str, given: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(ROOT), **settings},
    )


def kuelog(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return run("-m", "ops.cli.main", *words, given=given)


@pytest.mark.parametrize("settings", [{}, {"COLUMNS": "40"}, {"FORCE_COLOR": "1"}])
def test_what_goes_into_a_pipe_is_neither_cut_nor_wrapped(settings: dict[str, str]) -> None:
    done = run("-c", WIDE, **settings)
    assert done.returncode == 0, done.stderr
    for text, times in ((done.stdout, 2), (done.stderr, 1)):
        lines = text.splitlines()
        assert sum("word " * 199 + "word" in line for line in lines) == times
        assert sum("cell-" * 200 in line for line in lines) == times
        assert max(map(len, lines)) < 1200


def test_it_says_its_version() -> None:
    done = kuelog("--version")
    assert (done.returncode, done.stdout) == (0, "kuelog 0.1.0\n")


def test_a_file_that_is_a_dash_is_standard_input() -> None:
    done = kuelog("lint", "-", "-o", "json", given=JOB + "---\nkind: Nothing\n  at: all\n")
    assert done.returncode == 1
    assert {one["file"] for one in json.loads(done.stdout)} == {"-"}
    done = kuelog("convert", "-", given=JOB)
    assert (done.returncode, "kind: Job" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nonsense",), 2),
        (("lint", "--nonsense", "."), 2),
        (("replay", "--data", "nowhere"), 2),
        (("convert", "nowhere.yaml"), 2),
        (("up", "--nodes", "nowhere.yaml"), 2),
        (("lint", "nowhere.yaml"), 1),
        (("devices", "fit", "-f", "nowhere.yaml", "--data", "nowhere"), 2),
        (("bill", "--data", "nowhere"), 2),
        (("explain", "a/b", "--data", "nowhere"), 2),
        (("audit", "verify", "--data", "nowhere"), 2),
    ],
)
def test_what_is_asked_wrongly_ends_with_2_and_what_is_found_wrong_with_1(words: tuple[str, ...], code: int) -> None:
    done = kuelog(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
