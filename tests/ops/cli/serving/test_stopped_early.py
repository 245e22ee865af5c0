"""A signal ends what is not serving yet as it ends what serves: in a container nothing else would."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

NOBODY = "nats://127.0.0.1:1"
PATIENCE_S = 120


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_who_waits_for_the_bus_ends_well_when_told_to(told: signal.Signals, tmp_path: Path) -> None:
    words = ("up", "--data", str(tmp_path), "--nats", NOBODY, "--kubeconfig", str(tmp_path / "none"))
    with subprocess.Popen(
        [sys.executable, "-m", "ops.cli.main", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert "waiting for the bus" in process.stdout.readline()
            process.send_signal(told)
            assert (process.wait(PATIENCE_S), process.stdout.read()) == (0, "stopped\n")
        finally:
            process.kill()
