"""What every command of a terminal does: its version, standard input as `-`, whole lines into a pipe, and exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ops.cli.lazy_commands import LazyCommand
from ops.cli.main import app
from tests.places import ROOT
from tests.stage.forked_commands import forked

WIDE = """
from rich.table import Table
from ops.terminal.console import terminal
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
    return forked(words, env={"PATH": "/usr/bin:/bin", "HOME": str(ROOT)}, given=given)


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


@pytest.mark.parametrize(
    "words",
    [("deploy", "manifests"), ("lint", "examples"), ("convert", "examples/ai-platform"), ("--help",)],
    ids=" ".join,
)
def test_who_reads_no_further_is_told_nothing_and_the_code_is_not_that_of_bad_news(words: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb") as closed:
        command = [sys.executable, "-m", "ops.cli.main", *words]
        done = subprocess.run(command, cwd=ROOT, stdout=closed, stderr=subprocess.PIPE, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "words",
    [
        ("bill", "reconcile", "--by", "-1"),
        ("bill", "reconcile", "--by", "0"),
        ("restore", "backup", "--replicas", "0"),
        ("log", "roll", "--max-bytes", "-1"),
        ("restore", "backup", "--max-bytes", "-1"),
        ("deploy", "streams", "--max-bytes", "0"),
        ("log", "roll", "--days", "-1"),
        ("log", "partition", "0"),
        ("log", "quarantine", "FACTS", "0", "--reason", "r"),
        ("deploy", "streams", "--replicas", "0"),
        ("simulate", "--hours", "-1"),
        ("simulate", "--jobs", "-1"),
        ("simulate", "--partitions", "-1"),
    ],
    ids=" ".join,
)
def test_a_number_that_cannot_be_is_refused_before_anything_is_asked(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "greater than or equal to" in done.stderr


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words by which it is called."""
    real = command.real() if isinstance(command, LazyCommand) else command
    below = getattr(real, "commands", {})
    if not below or real.invoke_without_command:
        yield path, real
    for name, one in below.items():
        yield from commands(one, (*path, name))


FOUND = dict(commands(typer.main.get_command(app)))
ALL = {words: one for words, one in FOUND.items() if not one.context_settings.get("ignore_unknown_options")}
"""All but those that hand all of their words on to kubectl."""


def options(command: Any) -> dict[str, Any]:
    return {name: one for one in command.params for name in one.opts}


def test_every_command_is_walked() -> None:
    assert {
        ("lint",),
        ("audit", "verify"),
        ("bill",),
        ("bill", "entries"),
        ("log", "show"),
        ("list", "workload"),
    } <= set(ALL)
    assert {words[0] for words in set(FOUND) - set(ALL)} == {"get", "edit", "patch"}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_each_command_refuses_what_it_does_not_know_with_2_and_says_so_on_standard_error(
    words: tuple[str, ...],
) -> None:
    done = CliRunner().invoke(app, [*words, "--nonsense"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--nonsense" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [one for one in ALL if "-o" in options(ALL[one])], ids=" ".join)
def test_each_command_that_has_json_has_yaml(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, *("x" for one in ALL[words].params if one.required), "-o", "xml"])
    assert (done.exit_code, done.stdout) == (2, "")
    said = "yaml or json" if words == ("convert",) else "'json', 'yaml'"
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        one
        for one in ALL
        if {"--data", "-o"} <= set(options(ALL[one]))
        and one not in {("bench", "console"), ("bench", "life"), ("devices", "fit")}
    ],
    ids=" ".join,
)
def test_each_question_to_a_log_that_is_not_there_ends_with_2_and_one_message(words: tuple[str, ...]) -> None:
    needed = ["2" if one.name == "partitions" else "job/a/b" for one in ALL[words].params if one.required]
    done = CliRunner().invoke(app, [*words, *needed, "--data", "nowhere", "-o", "json"])
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.count("error:") == 1 and "nowhere" in done.stderr or words == ("whatif",)


@pytest.mark.parametrize("words", FOUND, ids=" ".join)
def test_no_help_has_brackets_that_its_markup_would_swallow(words: tuple[str, ...]) -> None:
    texts = [FOUND[words].help or "", *(str(getattr(one, "help", "") or "") for one in FOUND[words].params)]
    assert [text for text in texts if re.search(r"\[[a-z#/@][^\[]*?\]", text)] == []


COMPLETED = {
    "a namespace": {"namespace", "tenant"},
    "an object": {"name", "names", "cluster_queue", "local_queue", "wanted", "job", "node", "workload", "user_queue"},
    "a folder": {"scenario"},
    "a part of kuelog": {"service", "stream"},
    "a month": {"month"},
}
"""By what it is, arguments and options that name something that is there."""
NEW = {"create", "deploy", "bill approve", "bill approver"}
"""Commands that name somebody, or something that is not there yet."""


@pytest.mark.parametrize("words", FOUND, ids=" ".join)
def test_whatever_names_something_that_is_there_is_completed(words: tuple[str, ...]) -> None:
    named = {"name", "namespace"} if {words[0], " ".join(words)} & NEW else set[str]()
    wanted = set().union(*COMPLETED.values()) - named
    missing = [one.name for one in FOUND[words].params if one.name in wanted and not one._custom_shell_complete]
    assert missing == []
    if words[0] in ("get", "edit", "patch") and len(words) > 1:
        assert [one.name for one in FOUND[words].params if one._custom_shell_complete] == ["words"]


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "verify"),
        ("audit", "checkpoint"),
        ("audit", "rotate-key"),
        ("backup", "BACKUP"),
        ("restore", "BACKUP"),
        ("log", "leases"),
        ("log", "show"),
        ("replay",),
        ("top", "--once"),
        ("bill", "closed"),
    ],
    ids=" ".join,
)
def test_no_message_tells_the_password_with_which_the_bus_was_named(words: tuple[str, ...], tmp_path: Path) -> None:
    named = (str(tmp_path / one) if one == "BACKUP" else one for one in words)
    done = CliRunner().invoke(app, (*named, "--nats", "nats://reader:geheim@127.0.0.1:1"))
    assert done.exit_code == 2
    assert "geheim" not in done.output
