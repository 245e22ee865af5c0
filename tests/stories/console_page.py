"""Pages of docs/ with commands and what they print: read, and followed as a reader would."""

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUESTIONS = ("kuelog explain", "kuelog history", "kuelog list", "kuelog devices", "kuelog bill", "kubectl get")
"""What asks and changes nothing is asked again until it is so: a reader types more slowly than a test."""
NUMBER = re.compile(r"[0-9a-f]*\d[0-9a-f]*")
PATIENCE_S = 120


class Command(NamedTuple):
    """A line of a page, and what it says that is printed."""

    line: str
    printed: str


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            found.append(Command(line, printed))
    return found


def pattern(printed: str) -> re.Pattern[str]:
    """Numbers, names that are drawn and the width of columns may differ; a line of dots stands for any lines, dots for any words."""
    lines: list[str] = []
    for line in printed.strip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        words = [r".*" if word == "..." else NUMBER.sub("[0-9a-f]+", re.escape(word)) for word in line.split()]
        lines.append(r"\s*" + r"\s+".join(words) + r"\s*\n")
    return re.compile("".join(lines))


def ask(command: Command, folder: Path, settings: Mapping[str, str]) -> None:
    """Run a command of a page until it prints what the page says, if it is a question; else once."""
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
