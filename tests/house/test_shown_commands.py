"""Commands that pages and examples show can be given as they stand there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from ops.cli.lazy_commands import LazyCommand
from ops.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "schema" not in path.parts),
    *sorted((ROOT / "examples").rglob("*.yaml")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "GLOSSARY.md")),
]
INLINE = re.compile(r"`(kuelog [^`]+)`")
LINE = re.compile(r"^(?:    |\$ |#   ?)(?:.*(?:\|\|?|&&|;|\$\() *)?\$? ?(?:[A-Z_]+=\S+ )*(kuelog .*)$")
BEHIND = re.compile(r"(?:\s(?:\\?\||&&|>|#|&|;)|,? then:?)\s|\s…|,$")
"""What ends a command in a line: a pipe, a comment, and the words of a sentence that goes on."""
LEFT_OUT = ("…", "...")
NUMBERS = {"PORT": "4222", "N": "1", "SECONDS": "1"}
USAGE: Any = typer.BadParameter.__base__
NO_PARSING = {"--help", "--version", "--install-completion"}
INTO = 5
"""How many lines a quoted word may go on for."""


def commands_in(text: str) -> Iterator[str]:
    """In code and in sentences, each as one line without what stands behind it."""
    for found in INLINE.findall(text):
        yield " ".join(found.split())
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if found := LINE.match(line):
            yield whole(found[1], lines[number + 1 : number + INTO])


def whole(first: str, more: list[str]) -> str:
    """With the lines on which it goes on."""
    command = first
    for line in more:
        if not command.endswith("\\") and command.count('"') % 2 == 0:
            return command
        command = f"{command.removesuffix(chr(92))} {line.strip()}"
    return command


def words_of(command: str) -> list[str]:
    plain = re.sub(r"\s[\[(](-[^])]*)[])]", r" \1", BEHIND.split(command)[0])
    return [NUMBERS.get(one, one) for one in shlex.split(plain) if one not in LEFT_OUT][1:]


def problem_with(command: str) -> str:
    """What the command line says to it; nothing where it is taken, or names the command alone."""
    words = words_of(command)
    found: Any = typer.main.get_command(app)
    context = typer.Context(found, info_name="kuelog")
    while isinstance(found, TyperGroup) and words and not words[0].startswith("-"):
        below = found.get_command(context, words[0])
        if below is None:
            return "" if "|" in words[0] else f"there is no command {words[0]}"
        found = below.real() if isinstance(below, LazyCommand) else below
        context = typer.Context(found, info_name=words.pop(0), parent=context)
    if not words or NO_PARSING & {*words}:
        return ""
    try:
        found.make_context(context.info_name, words, parent=context.parent)
    except USAGE as problem:
        said = f"{type(problem).__name__}: {getattr(problem, 'message', problem)}"
        merely_named = said.startswith("MissingParameter") or said.endswith("requires an argument.")
        return "" if merely_named else said
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_shown_is_taken_with_its_options(page: Path) -> None:
    shown = commands_in(page.read_text(encoding="utf-8"))
    assert {command: problem for command in shown if (problem := problem_with(command))} == {}
