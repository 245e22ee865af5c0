"""`kuelog` in processes of its own that are forked off one which has imported everything already.

A command does and prints the same; it is spared a second of imports. That it imports what it needs, how it begins and how it takes
signals is for tests that start it as a person does.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.places import ROOT

_MOST = 1 << 20
"""Bytes of what is asked at once."""
_FILES = 3
_SCRIPT = """#!{python} -SE
import json, os, socket, sys
asking = socket.socket(socket.AF_UNIX)
asking.connect({place!r})
asked = {{"words": sys.argv[1:], "env": {{**os.environ}}, "folder": os.getcwd()}}
socket.send_fds(asking, [json.dumps(asked).encode()], [0, 1, 2])
sys.exit(int(asking.recv(99)))
"""
_BY_ITSELF = "ops.cli.audit.query"
"""Its engine complains on standard error when a process ends that has loaded it and asked it nothing."""


def forked(
    words: Sequence[str], *, env: Mapping[str, str], given: str = "", timeout: int = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with just these settings and this input. Raises `TimeoutError`."""
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        text.write(given.encode())
        text.seek(0)
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(timeout)
            asking.connect(str(_server()))
            asked = json.dumps({"words": [*words], "env": {**env}, "folder": str(ROOT)}).encode()
            socket.send_fds(asking, [asked], [one.fileno() for one in (text, out, err)])
            code = int(asking.recv(_MOST) or b"-1")
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode())
        return subprocess.CompletedProcess([*words], code, *printed)


def on_path(folder: Path) -> Path:
    """A folder with a `kuelog` for shells, which is forked off as well."""
    script = folder / "kuelog"
    script.write_text(_SCRIPT.format(python=sys.executable, place=str(_server())))
    script.chmod(0o755)
    return folder


@cache
def _server() -> Path:
    """Where the process listens that commands are forked off; it ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="forked-"))
    place = folder / "socket"
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(place)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(shutil.rmtree, folder)
    atexit.register(process.communicate)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return place


def _import_everything() -> None:
    rooms = importlib.import_module("ops.cli")
    for one in pkgutil.walk_packages(rooms.__path__, "ops.cli."):
        if one.name != _BY_ITSELF:
            importlib.import_module(one.name)
    for name in ("fpdf", "jinja2", "ops.production.archive.archive_pages", "ops.production.metrics.endpoint"):
        importlib.import_module(name)


def _serve(place: str) -> list[str]:
    """Fork a process for each that asks, and return there what it is to run; does not return here."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    gc.freeze()
    print("ready", flush=True)
    if os.fork() == 0:
        # Whoever asks closes this input when it ends; then nobody asks any more.
        sys.stdin.buffer.read()
        os.killpg(0, 9)
    while True:
        asked, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return _run(asked)
        asked.close()
        _reap()


def _run(asked: socket.socket) -> list[str]:
    """Tell the code with which the command ends, which runs in a fork of its own."""
    told, files, _, _ = socket.recv_fds(asked, _MOST, _FILES)
    command = os.fork()
    if command:
        _, status = os.waitpid(command, 0)
        asked.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    asked.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    what = json.loads(told)
    os.chdir(what["folder"])
    os.environ.clear()
    os.environ.update(what["env"])
    return what["words"]


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    _import_everything()
    found = _serve(sys.argv[1])
    sys.argv, __package__ = ["kuelog", *found], ""
    from ops.cli.main import main

    main()
