"""The command line begins quickly: nothing heavy is loaded before a command needs it, and every command can be loaded."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ops.cli.lazy_commands import COMMANDS, LazyCommand
from ops.cli.main import app
from tests.places import ROOT

HEAVY = {
    "aiohttp",
    "asyncio",
    "duckdb",
    "kubernetes",
    "msgspec",
    "nats",
    "opentelemetry",
    "psutil",
    "pyarrow",
    "structlog",
}


def test_the_command_line_loads_no_heavy_library_before_a_command_needs_it() -> None:
    asked = "import sys, ops.cli.main; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {name for name in HEAVY if f"'{name}'" in done.stdout}
    assert not loaded


def test_what_is_asked_of_a_running_log_needs_neither_a_cluster_nor_an_archive_nor_a_server() -> None:
    asking = ("devices.cards", "questions.explain", "questions.history")
    code = f"import sys, {', '.join(f'ops.cli.{one}' for one in asking)}; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {name for name in ("aiohttp.web", "duckdb", "kubernetes", "pyarrow") if f"'{name}'" in done.stdout}
    assert not loaded


def test_what_runs_a_service_loads_no_client_for_kubernetes_before_the_service_meets_a_cluster() -> None:
    asked = "import sys, ops.cli.serving.serve; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {
        name for name in ("duckdb", "kubernetes", "pyarrow", "pydantic", "requests") if f"'{name}'" in done.stdout
    }
    assert not loaded


def test_what_runs_a_service_loads_no_server_and_no_reader_of_time_stamps_before_it_is_asked_for_one() -> None:
    unasked = ("aiohttp.web", "cryptography.x509", "rfc3161_client")
    code = f"import sys, ops.cli.serving.serve; print([name for name in {unasked} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_of_the_official_client_for_kubernetes_what_is_needed_is_loaded_and_no_second_client_with_its_libraries() -> (
    None
):
    whole = ("kubernetes.client", "oauthlib", "pydantic", "requests", "urllib3", "websocket")
    code = f"import sys, ops.production.kubernetes.remote; print([name for name in {whole} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_who_asks_for_more_of_the_official_client_gets_it_whole() -> None:
    code = """
import ops.production.kubernetes.client
import kubernetes.client
from kubernetes.aio import client, watch
print(client.ApiClient, watch.Watch, kubernetes.aio.client.models.V1Pod, kubernetes.client.V1Pod)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "api_client.ApiClient" in done.stdout and "NotLoaded" not in done.stdout


@pytest.mark.parametrize("name", [one.name for one in COMMANDS])
def test_every_command_can_be_loaded_and_says_of_itself_what_help_says_of_it(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output
    assert "install-completion" not in done.output
    listed = next(one for one in COMMANDS if one.name == name)
    assert (LazyCommand(listed).real().help or "").partition("\n\n")[0].replace("\n", " ") == listed.summary


def test_a_command_that_does_not_exist_is_told_as_such() -> None:
    done = CliRunner().invoke(app, ["nonsense"])
    assert done.exit_code == 2 and "nonsense" in done.output
