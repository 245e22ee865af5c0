"""The folder that a run keeps its log and cluster in: one process holds it at a time, and only a demo's is ever cleared.

The lock is the operating system's, so it ends with its holder however that ends.
"""

import fcntl
import os
import shlex
import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

LOCK, DEMO = "kuelog.lock", "demo.marker"
NATS = "nats"
MADE = (NATS, "archive", "cluster", "clusters", "kubeconfig", "witness")
"""What a run leaves in its folder."""
_PATIENCE_S = 10.0
_POLL_S = 0.05


class FolderHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that holds a folder."""

    pid: int = 0
    command: str = ""
    serving: bool = False
    """Whether it serves the bus in the folder to whoever comes, or only reads the log and will be done soon."""


class FolderHeld(Exception):
    """Another process works in the folder."""

    def __init__(self, folder: Path, holder: FolderHolder) -> None:
        who = f"process {holder.pid} ({holder.command})" if holder.pid else "another process"
        super().__init__(f"{folder} is in use by {who}: stop it first, or name another folder with --data")
        self.holder = holder


class NotADemosFolder(Exception):
    """A demo would have to remove what no demo has made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds something that no demo has made, and a demo begins with an empty folder: name another one with "
            "--data, or remove it yourself"
        )


class HoldsNoLog(Exception):
    """Nothing has run in the folder."""

    def __init__(self, folder: Path) -> None:
        there = ", ".join(map(str, _logs_beside(folder))) or "another folder"
        super().__init__(f"{folder}: holds no log: run `kuelog demo` first, or name {there} with --data")


def _logs_beside(folder: Path) -> list[Path]:
    """The folders beside this one that hold a log, such as that of `kuelog up` beside the demo's."""
    with suppress(OSError):
        return sorted(one for one in folder.parent.iterdir() if (one / NATS / "jetstream").is_dir())
    return []


class FolderUnusable(Exception):
    """The folder can't be made or written."""

    def __init__(self, folder: Path, problem: OSError) -> None:
        super().__init__(f"{folder} can't be used: {problem.strerror or problem}")


@contextmanager
def used(folder: Path) -> Generator[None, None, None]:
    """While a folder is read and written. Raises `FolderUnusable` where it can't be, or is full."""
    try:
        yield
    except OSError as problem:
        raise FolderUnusable(folder, problem) from problem


class Hold:
    """The lock of a folder, until it is released or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def take(folder: Path, *, serving: bool) -> Hold | FolderHolder:
    """The lock of a folder, or who holds it. Raises `FolderUnusable`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise FolderUnusable(folder, problem) from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        content = os.pread(descriptor, 4096, 0)
        os.close(descriptor)
        return _holder(content)
    holder = FolderHolder(pid=os.getpid(), command=_command(), serving=serving)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, msgspec.json.encode(holder), 0)
    return Hold(descriptor)


@contextmanager
def held(folder: Path) -> Generator[None, None, None]:
    """Hold a folder for serving while the block lasts, after processes that only read it. Raises `FolderHeld`."""
    end = time.monotonic() + _PATIENCE_S
    while isinstance(taken := take(folder, serving=True), FolderHolder):
        if taken.serving or time.monotonic() > end:
            raise FolderHeld(folder, taken)
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        taken.release()


def check_demo(folder: Path) -> None:
    """Raises `NotADemosFolder` unless a demo may begin in a folder: it is empty, or an earlier demo's."""
    if not folder.exists() or (folder / DEMO).exists():
        return
    if not folder.is_dir() or any(one.name != LOCK for one in folder.iterdir()):
        raise NotADemosFolder(folder)


def clear_for_demo(folder: Path) -> None:
    """Remove what an earlier demo has left in a folder that is held. Raises `NotADemosFolder`."""
    check_demo(folder)
    (folder / DEMO).write_text(
        "A demo of kuelog made this folder, and the next demo in it begins by removing its log.\n"
    )
    for name in MADE:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def keep_from_demos(folder: Path) -> None:
    """What is done in a folder from now on is not a demo's: no demo clears it any more."""
    (folder / DEMO).unlink(missing_ok=True)


def _holder(content: bytes) -> FolderHolder:
    with suppress(msgspec.MsgspecError, RecursionError):
        return msgspec.json.decode(content, type=FolderHolder)
    # It is just being written, or just being released.
    return FolderHolder()


def _command() -> str:
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
