"""The program that plays one cycle of Kueue's own scheduler: its package's test binary, with a file of ours beside its own."""

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from events.json_object import JsonObject
from tests.peers.build import copy, go
from tests.peers.suites.prepared import KUEUE
from tests.places import ROOT

PROGRAM = "one_cycle"
"""Its name in the folder in which it is built."""
_ADDED, _PACKAGE = ROOT / "tests/peers/cycles/added/one_cycle_test.go", "pkg/scheduler"
_PLAYED = "^TestOneCycleOfEachWorld$"
_WORLDS, _ANSWERS = "KUELOG_CYCLES_WORLDS", "KUELOG_CYCLES_ANSWERS"
_STAMP = "stamp"
_LONGEST_S = 600


class CyclesNotPlayed(Exception):
    """The program has not come to its end: what it says last is told."""


def is_built(into: Path) -> bool:
    """Whether the program stands there, made of its file and Kueue's version as they are now."""
    stamped = into / _STAMP
    return (into / PROGRAM).exists() and stamped.exists() and stamped.read_text() == _stamp()


def compiled(into: Path) -> Path:
    """The program, made anew where its file or Kueue's version has changed. Raises `CalledProcessError` where Go says why not."""
    program = into / PROGRAM
    if is_built(into):
        return program
    into.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="kuelog-cycles-") as parent:
        module = Path(parent) / "module"
        copy(KUEUE, module)
        package = module / _PACKAGE
        for theirs in package.glob("*_test.go"):
            theirs.unlink()  # What they need would have to be compiled as well.
        (package / _ADDED.name).write_bytes(_ADDED.read_bytes())
        go(module, "test", "-c", "-ldflags", "-s -w", "-o", str(program.resolve()), f"./{_PACKAGE}")
    (into / _STAMP).write_text(_stamp())
    return program


def _stamp() -> str:
    return hashlib.sha256(KUEUE.version.encode() + _ADDED.read_bytes()).hexdigest()


def played(program: Path, worlds: Sequence[JsonObject]) -> list[JsonObject]:
    """What Kueue's scheduler made of each of these worlds. Raises `CyclesNotPlayed`."""
    with TemporaryDirectory(prefix="kuelog-cycles-") as folder:
        asked, answered = Path(folder) / "worlds.json", Path(folder) / "answers.json"
        asked.write_bytes(msgspec.json.encode(worlds))
        told = {**os.environ, _WORLDS: str(asked), _ANSWERS: str(answered)}
        words = [str(program.resolve()), "-test.run", _PLAYED, "-test.timeout", f"{_LONGEST_S}s"]
        ended = subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, check=False)
        if not answered.exists():
            raise CyclesNotPlayed((ended.stdout + ended.stderr)[-4000:])
        return json.loads(answered.read_bytes())
