"""The pages for people who are new to Kueue: their examples are played, and what is printed is what the page says."""

import os
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.stage.forked_commands import on_path
from tests.stories.console_page import ask, commands

PAGES = sorted((ROOT / "docs/concepts").glob("[a-z]*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_example_prints_what_its_page_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands_of_ours = tmp_path / "bin"
    commands_of_ours.mkdir()
    path = f"{on_path(commands_of_ours)}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    settings = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    found = commands(page)
    assert found[0].line.startswith("kuelog demo ")
    for command in found:
        ask(command, tmp_path, settings)


def test_a_page_is_short_and_has_one_picture() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("```text") == 1, page
        assert len(text.splitlines()) < 80, page
