"""Other versions of Python on this machine, each with an environment of its own that can replay a log.

Looked for are the versions of `VERSIONS` as `uv python find` finds them: on the PATH, installed by uv, or by pyenv.
`KUELOG_TEST_PYTHONS=/opt/a/bin/python:/opt/b/bin/python` (or versions, `3.12:3.14`) says which to take instead; what is
named there has to be there.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""From the oldest that is supported."""
NEEDED = ("cryptography", "msgspec", "nats-py", "opentelemetry-sdk", "prometheus-client", "pyyaml", "structlog")
"""What a replay imports; in the versions of the lock file."""
LOCK = ROOT / "ops" / "production" / "deploy" / "image.lock"
_NAMED = os.environ.get("KUELOG_TEST_PYTHONS", "")


def asked() -> list[str]:
    """The interpreters to try, each as a path or a version; the version that runs the tests is left out."""
    if _NAMED:
        return _NAMED.split(os.pathsep)
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return [version for version in VERSIONS if version != own]


def environment_of(asked_for: str) -> Path:
    """The Python of an environment with all that a replay needs. Skips the test where there is no such interpreter."""
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        pytest.skip("uv is not installed: `make install` brings it")
    found = _uv(uv, "python", "find", "--no-project", "--no-python-downloads", asked_for)
    if found.returncode and not _NAMED:
        pytest.skip(f"there is no CPython {asked_for} on this machine")
    assert not found.returncode, f"KUELOG_TEST_PYTHONS names {asked_for}: {found.stderr}"
    interpreter = found.stdout.strip()
    # One environment per interpreter and lock file: making it takes a second, and only the first run pays.
    name = hashlib.sha256(interpreter.encode() + LOCK.read_bytes() + repr(NEEDED).encode()).hexdigest()[:16]
    folder = ROOT / ".venv" / "other-pythons" / name
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        made = _uv(uv, "venv", "--clear", "--no-project", "--python", interpreter, str(folder))
        assert not made.returncode, made.stderr
        installed = _uv(uv, "pip", "install", "--python", str(python), "--constraints", str(LOCK), *NEEDED)
        if installed.returncode:
            pytest.skip(f"what a replay needs can't be installed for {asked_for}: {installed.stderr.strip()}")
        ready.touch()
    return python


def _uv(uv: str, *words: str) -> subprocess.CompletedProcess[str]:
    # The commands of pyenv on the PATH refuse to run unless a version is chosen: its interpreters themselves go first.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    path = [*(str(one) for one in sorted(pyenv.glob("versions/3.*/bin"))), os.environ.get("PATH", "")]
    return subprocess.run(
        [uv, *words], capture_output=True, text=True, check=False, env={**os.environ, "PATH": os.pathsep.join(path)}
    )
