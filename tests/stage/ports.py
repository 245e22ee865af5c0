"""Ports for programs that can't choose one by themselves and say it."""

import fcntl
import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

_FIRST, _COUNT = 20_000, 12_000
"""Below those that a system gives to outgoing connections, so that none of these takes a port before it is listened on."""
_mine: list[int] = []
"""Locks that keep a port from other tests until this process ends."""


def reserved_port() -> int:
    """A port on loopback that nobody listens on, and that no other test will be given."""
    folder = Path(tempfile.gettempdir()) / "kuelog-test-ports"
    folder.mkdir(exist_ok=True)
    for step in range(_COUNT):
        port = _FIRST + (os.getpid() * 101 + step) % _COUNT
        lock = os.open(folder / str(port), os.O_RDWR | os.O_CREAT, 0o666)
        with suppress(OSError), socket.socket() as probe:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.bind(("127.0.0.1", port))
            _mine.append(lock)
            return port
        os.close(lock)
    raise RuntimeError("there is no port left for tests")
