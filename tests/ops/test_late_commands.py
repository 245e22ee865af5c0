"""The command line begins quickly: nothing heavy is loaded before a command needs it, and every command can be loaded."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ops.cli.late import LATE
from ops.cli.main import app
from tests.places import ROOT

HEAVY = {"aiohttp", "duckdb", "kubernetes", "nats", "pyarrow"}


def test_the_command_line_loads_no_heavy_library_before_a_command_needs_it() -> None:
    asked = "import sys, ops.cli.main; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {name for name in HEAVY if f"'{name}'" in done.stdout}
    assert not loaded


@pytest.mark.parametrize("name", sorted(LATE))
def test_every_late_command_can_be_fetched_and_explains_itself(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output
    assert "install-completion" not in done.output


def test_a_command_that_does_not_exist_is_told_as_such() -> None:
    done = CliRunner().invoke(app, ["nonsense"])
    assert done.exit_code == 2 and "nonsense" in done.output
