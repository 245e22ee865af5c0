"""`kuelog populator` on a command line: what is missing is said, made, and refused in one line."""

from pathlib import Path

from typer.testing import CliRunner

from ops.cli.main import app


def test_a_selector_that_is_none_is_refused_with_how_to_write_it() -> None:
    told = CliRunner().invoke(app, ["populator", "--namespace-selector", "team"])
    assert told.exit_code == 2
    assert "'team' is not of the form KEY=VALUE" in told.output


def test_a_cluster_that_can_not_be_found_is_one_line(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["populator", "--once", "--kubeconfig", str(tmp_path / "none")])
    assert told.exit_code == 2
    assert "Traceback" not in told.output
