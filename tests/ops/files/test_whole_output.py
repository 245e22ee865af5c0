"""What is printed arrives whole, wherever it runs: the image has Python write without a buffer."""

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from typing import IO

import pytest

from tests.places import ROOT


def held(pipe: IO[bytes]) -> int:
    """So many bytes wait in a pipe to be read."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe.fileno(), termios.FIONREAD, count)
    return count[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is asked for as Linux tells it")
def test_what_is_printed_arrives_whole_of_a_process_that_is_stopped_while_it_writes() -> None:
    words = [sys.executable, "-m", "ops.cli.main", "deploy", "manifests"]
    whole = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        size = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
        assert len(whole) > size
        while held(process.stdout) < size:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == whole
    assert process.returncode == 0
