"""Becomes a nats-server that holds its files alone and ends with its parent; a program of its own, run before the server.

Between fork and exec of a process with threads nothing may be done but exec; so this small interpreter does it.
"""

import ctypes
import fcntl
import os
import signal
import sys
from pathlib import Path

IN_USE = 75
"""The exit code that says: another server holds these files, or the parent is gone."""
LOCK = "server.lock"
"""The file in the store that a living server keeps locked; it names the server's process and its parent's."""
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Lock the store, and become the server."""
    store, parent, *command = sys.argv[1:]
    lock = os.open(Path(store) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(IN_USE)
    if sys.platform == "linux":
        # Elsewhere the next start ends the server that was left.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit(IN_USE)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} {parent}\n".encode(), 0)
    for stale in Path(store).glob("*.ports"):
        stale.unlink()
    os.set_inheritable(lock, True)
    os.execv(command[0], command)  # noqa: S606 - the server itself


if __name__ == "__main__":
    main()
