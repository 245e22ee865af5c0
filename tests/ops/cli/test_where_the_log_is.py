"""Where the log is that is asked: options say so, then the environment, then it is the demo's."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ops.cli.log_options import Archive, Bus, Data
from ops.files.run_folder import HoldsNoLog

told = typer.Typer()


@told.command()
def asked(data: Data = None, nats: Bus = "", archive: Archive = "") -> None:
    typer.echo(f"{data} {nats} {archive}")


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ((), {}, "None  "),
        ((), {"KUELOG_DATA": "up"}, "up  "),
        ((), {"KUELOG_NATS": "nats://a"}, "None nats://a "),
        ((), {"KUELOG_DATA": "up", "KUELOG_NATS": "nats://a"}, "None nats://a "),
        (("--data", "mine"), {"KUELOG_DATA": "up", "KUELOG_NATS": "nats://a"}, "mine  "),
        (("--nats", "nats://b"), {"KUELOG_DATA": "up", "KUELOG_NATS": "nats://a"}, "None nats://b "),
        (("--archive", "old"), {"KUELOG_DATA": "up", "KUELOG_NATS": "nats://a"}, "None  old"),
        (("--archive", "old", "--data", "mine"), {"KUELOG_NATS": "nats://a"}, "mine  old"),
    ],
)
def test_what_no_option_names_the_environment_does(
    words: tuple[str, ...], environment: dict[str, str], expected: str
) -> None:
    env = {"KUELOG_DATA": None, "KUELOG_NATS": None, **environment}
    assert CliRunner().invoke(told, words, env=env).output == f"{expected}\n"


def test_who_asks_a_folder_without_a_log_hears_which_one_beside_it_has_one(tmp_path: Path) -> None:
    (tmp_path / "up" / "nats" / "jetstream").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    told = str(HoldsNoLog(tmp_path / "demo"))
    assert told.endswith(f"run `kuelog demo` first, or name {tmp_path / 'up'} with --data")
    assert str(HoldsNoLog(tmp_path / "no" / "demo")).endswith("or name another folder with --data")
