"""`python -m tests.mutants [--each N] [--area NAME] [--seed S]`: change the rules in small ways and see whether a test notices.

A copy of what git knows is changed, never the tree itself. Of each area as many mutants are drawn as asked for, by the seed;
those that survive are told with their difference.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import toml
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

from tests.mutants.areas import AREAS, Area
from tests.places import ROOT

SECONDS = 120.0
"""A mutant that runs for longer is taken for killed: nothing here takes so long."""


def main() -> int:
    """Mutate; 0 when enough are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--each", type=int, default=12, help="how many mutants of each area")
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn")
    parser.add_argument("--least", type=int, default=0, help="how many of a hundred have to be killed")
    wanted = parser.parse_args()
    killed = told = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = _copy(Path(folder) / "kuelog")
        for name in wanted.area or AREAS:
            dead, all_of_them, survivors = _mutate(copy, name, AREAS[name], wanted.each, wanted.seed)
            killed, told = killed + dead, told + all_of_them
            print(f"{name}: {dead} of {all_of_them} killed", flush=True)
            for one in survivors:
                print(one, flush=True)
    share = 100 * killed // max(told, 1)
    print(f"all: {killed} of {told} killed, {share} %")
    return 0 if share >= wanted.least else 1


def _copy(into: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    return into


def _mutate(copy: Path, name: str, area: Area, each: int, seed: int) -> tuple[int, int, list[str]]:
    session, config = copy / f"{name}.sqlite", copy / f"{name}.toml"
    tests = " ".join(one for one in area.tests if (copy / one).exists())
    command = f"{sys.executable} -m pytest -q -x -p no:randomly -p no:cacheprovider {tests}"
    settings = {
        "module-path": list(area.modules),
        "timeout": SECONDS,
        "excluded-modules": [],
        "test-command": command,
        "distributor": {"name": "local"},
    }
    config.write_text(toml.dumps({"cosmic-ray": settings}))
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*words: str) -> None:
        subprocess.run(words, cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)

    run(*command.split())  # Whoever fails without a mutant can't tell anything of one.
    cosmic_ray = str(Path(sys.executable).with_name("cosmic-ray"))
    run(cosmic_ray, "init", config.name, session.name)
    with use_db(session, WorkDB.Mode.open) as found:
        items = sorted(found.pending_work_items, key=lambda one: one.job_id)
        items.sort(key=lambda one: [(str(m.module_path), m.operator_name, m.occurrence) for m in one.mutations])
        drawn = {one.job_id for one in random.Random(seed).sample(items, min(each, len(items)))}
        for one in items:
            if one.job_id not in drawn:
                found.set_result(one.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    run(cosmic_ray, "exec", config.name, session.name)
    with use_db(session, WorkDB.Mode.open) as found:
        results = [(key, one) for key, one in found.results if key in drawn]
    survived = [one.diff or key for key, one in results if one.test_outcome is TestOutcome.SURVIVED]
    return len(results) - len(survived), len(results), survived


if __name__ == "__main__":
    sys.exit(main())
