"""The tutorial as somebody follows it: its commands in their order, and what they print is what the page says."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.stories.console_page import ask, commands, pattern

PAGE = ROOT / "docs/tutorial.md"
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed here")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield tmp_path, {"PATH": path, "HOME": str(tmp_path), "USER": "ann", "LANG": "C.UTF-8"}


def test_every_command_of_the_tutorial_prints_what_the_tutorial_says(place: tuple[Path, dict[str, str]]) -> None:
    folder, settings = place
    up: subprocess.Popen[str] | None = None
    try:
        for command in commands(PAGE):
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
