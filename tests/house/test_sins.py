"""Whoever lets a clock, the environment or chance into a decider, or the whole world into a room or a service, is told so before anything runs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

NOMINATION = Path("services/admitter/nomination.py")
SINS = "import os\nimport time\nfrom random import random\n\nFOUND = (time.monotonic(), os.environ, random())\n"


def linted(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "PYTHONPATH": str(folder), "COLUMNS": "200"},
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in ("events", "projections", "services", "ops"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_sins_in_the_nomination_and_in_what_is_new_are_found(copy: Path) -> None:
    (copy / NOMINATION).write_text(f"{(ROOT / NOMINATION).read_text()}\n{SINS}")
    (copy / "services/watcher/new_module.py").write_text('"""New."""\n\nimport datetime\n\nMOST = datetime.MAXYEAR\n')
    by_imports = linted(copy, "lint-imports", "--no-cache")
    assert by_imports.returncode != 0
    for sin in ("os", "time", "random"):
        assert f"services.admitter.nomination -> {sin} (" in by_imports.stdout
    assert "services.watcher.new_module -> datetime (" in by_imports.stdout
    by_ruff = linted(copy, "ruff", "check", "--no-cache", "--select", "TID251", str(NOMINATION))
    assert by_ruff.returncode != 0
    for sin in ("os.environ", "time.monotonic", "random"):
        assert f"`{sin}` is banned" in by_ruff.stdout


def test_a_room_or_service_that_takes_the_whole_world_or_has_no_floor_is_found(copy: Path) -> None:
    order = Path("projections/queues/order.py")
    (copy / order).write_text(f"{(ROOT / order).read_text()}\nfrom projections.world import World\n")
    heads = Path("services/admitter/heads.py")
    (copy / heads).write_text(f"{(ROOT / heads).read_text()}\nfrom projections.world import World\n")
    shelf = Path("ops/production/log/jetstream/shelf.py")
    (copy / shelf).write_text(
        f"{(ROOT / shelf).read_text()}\nfrom ops.production.archive.errors import ArchiveDamaged\n"
    )
    by_imports = linted(copy, "lint-imports", "--no-cache")
    assert "projections.queues.order -> projections.world (" in by_imports.stdout
    assert "services.admitter.heads -> projections.world (" in by_imports.stdout
    assert "ops.production.log.jetstream.shelf -> ops.production.archive.errors (" in by_imports.stdout
    (copy / "projections/leftovers.py").write_text('"""New."""\n')
    unplaced = linted(copy, "lint-imports", "--no-cache")
    assert unplaced.returncode != 0
    assert "leftovers" in unplaced.stdout + unplaced.stderr
