"""One run of some tests on a copy of the project, in a process of its own, as its sources stand now.

The process is a fork of one that has imported already what is not part of the project, so that a run takes little more than
its tests.
"""

import importlib
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from tests.places import ROOT

OWN = {"events", "projections", "services", "ops", "tests"}
"""The project's packages: a run imports them from the copy."""
MEMORY = 2**31
"""A run that takes more bytes is ended."""
NO_WORK = 60
"""Seconds after which a test that only waits is ended."""
OPTIONS = ("-q", "-x", "--assert=plain", "-p", "no:randomly", "-p", "no:cacheprovider", f"--timeout={NO_WORK}")


class Ran(NamedTuple):
    """How a run ended: whether all tests passed, and the seconds of CPU that it took."""

    passed: bool
    seconds: float


def make_ready(tests: Sequence[str]) -> None:
    """Import what the tests need and is not part of the project."""
    importlib.import_module("tests.conftest")
    for path in test_files(tests):
        importlib.import_module(".".join(path.with_suffix("").parts))
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]


def test_files(tests: Sequence[str]) -> Iterator[Path]:
    """The modules of some files and folders of tests, relative to the project."""
    for name in tests:
        found = [ROOT / name] if name.endswith(".py") else sorted((ROOT / name).rglob("test_*.py"))
        yield from (path.relative_to(ROOT) for path in found)


def run(copy: Path, tests: Sequence[str], seconds: float | None, output: Path, *, keep_bytecode: bool) -> Ran:
    """Run the tests until the first that fails; with a limit of CPU seconds, so that no mutant goes on for ever."""
    before = _used()
    child = get_context("fork").Process(target=_test, args=(copy, tests, seconds, output, keep_bytecode))
    child.start()
    child.join()
    return Ran(child.exitcode == pytest.ExitCode.OK, _used() - before)


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _test(copy: Path, tests: Sequence[str], seconds: float | None, output: Path, keep_bytecode: bool) -> NoReturn:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    sys.dont_write_bytecode = not keep_bytecode
    os.environ |= {"PYTHONPATH": str(copy), "HYPOTHESIS_PROFILE": "mutants"}
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    sys.exit(pytest.main([*OPTIONS, *tests]))
