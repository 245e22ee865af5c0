"""`kuelog populator` on a command line: what is missing is said, made, and refused in one line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ops.cli.main import app


def test_a_selector_that_is_none_is_refused_with_how_to_write_it() -> None:
    told = CliRunner().invoke(app, ["populator", "--namespace-selector", "team"])
    assert told.exit_code == 2
    assert "'team' is not of the form KEY=VALUE" in told.output


@pytest.mark.parametrize("selector", ["queues==yes", "queues!=yes", "que ues=yes"])
def test_a_selector_by_which_no_namespace_could_ever_be_chosen_is_refused(selector: str) -> None:
    told = CliRunner().invoke(app, ["populator", "--once", "--namespace-selector", selector])
    assert told.exit_code == 2 and "--namespace-selector" in told.output and "no label" in told.output


def test_a_name_that_no_local_queue_may_have_is_refused_before_the_cluster_is_asked() -> None:
    told = CliRunner().invoke(app, ["populator", "--dry-run", "--local-queue-name", "Ab_c"])
    assert told.exit_code == 2 and "'Ab_c' is no name" in told.output and "lower case" in told.output


def test_a_cluster_that_can_not_be_found_is_one_line(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["populator", "--once", "--kubeconfig", str(tmp_path / "none")])
    assert told.exit_code == 2
    assert "Traceback" not in told.output
