"""The tutorial as somebody follows it: its commands in their order, and what they print is what the page says."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.places import ROOT

PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUESTIONS = ("kuelog explain", "kuelog history", "kuelog list", "kuelog devices", "kuelog bill", "kubectl get")
"""What asks and changes nothing is asked again until it is so: a reader types more slowly than a test."""
NUMBER = re.compile(r"[0-9a-f]*\d[0-9a-f]*")
PATIENCE_S = 120

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed here")


class Command(NamedTuple):
    """A line of the page, and what it says that is printed."""

    line: str
    printed: str


def commands() -> list[Command]:
    found: list[Command] = []
    for block in BLOCK.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            found.append(Command(line, printed))
    return found


def pattern(printed: str) -> re.Pattern[str]:
    """Numbers, names that are drawn and the width of columns may differ; a line of dots stands for any lines."""
    lines: list[str] = []
    for line in printed.strip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        words = [NUMBER.sub("[0-9a-f]+", re.escape(word)) for word in line.split()]
        lines.append(r"\s*" + r"\s+".join(words) + r"\s*\n")
    return re.compile("".join(lines))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield tmp_path, {"PATH": path, "HOME": str(tmp_path), "USER": "ann", "LANG": "C.UTF-8"}


def test_every_command_of_the_tutorial_prints_what_the_tutorial_says(place: tuple[Path, dict[str, str]]) -> None:
    folder, settings = place
    up: subprocess.Popen[str] | None = None
    try:
        for command in commands():
            if command.line.startswith("export "):
                name, _, value = command.line.removeprefix("export ").partition("=")
                settings[name] = value
            elif command.line.startswith("kuelog up"):
                up = subprocess.Popen(
                    command.line.split(), cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=2, text=True
                )
                assert up.stdout is not None
                said = "".join(up.stdout.readline() for _ in command.printed.splitlines())
                assert pattern(command.printed).fullmatch(said), f"$ {command.line}\n{said}"
            else:
                ask(command, folder, settings)
    finally:
        if up is not None:
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=60)
    assert up is not None and up.returncode == 0


def ask(command: Command, folder: Path, settings: dict[str, str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=folder,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if pattern(command.printed).fullmatch(done.stdout):
            return
        asked = command.line.startswith(QUESTIONS) and time.monotonic() < end
        assert asked, f"$ {command.line}\n{done.stdout}"
