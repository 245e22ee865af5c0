"""`python -m tests.mutants [--each N] [--area NAME] [--seed S]`: change the rules in small ways and see whether a test notices.

A copy of what git knows is changed, never the tree itself. Of each area as many mutants are drawn as asked for, by the seed;
those that survive are told with their difference. What came out is kept in `tests/figures.json`, which CI prints.
"""

import argparse
import difflib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec

from tests.figures import keep
from tests.mutants.areas import AREAS, Area
from tests.mutants.drawn import drawn, mutants_of
from tests.mutants.run import make_ready, run
from tests.places import ROOT

LONGER = 3
"""A mutant is taken for killed that works so many times as long as the tests do without any …"""
SECONDS = 3
"""… and so many seconds more."""

WAITED = "from pytest-timeout"


def main() -> int:
    """Mutate; 0 when enough are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--each", type=int, default=12, help="how many mutants of each area; 0 for all")
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn")
    parser.add_argument("--least", type=int, default=0, help="how many of a hundred have to be killed")
    wanted = parser.parse_args()
    areas = {name: AREAS[name] for name in wanted.area or AREAS}
    killed = told = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = _copy(Path(folder) / "kuelog")
        make_ready([test for area in areas.values() for test in area.tests])
        for name, area in areas.items():
            dead, all_of_them = _mutate(copy, name, area, wanted.each, wanted.seed)
            keep("mutants", name, f"{dead} of {all_of_them} killed (seed {wanted.seed})")
            killed, told = killed + dead, told + all_of_them
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


def _mutate(copy: Path, name: str, area: Area, each: int, seed: int) -> tuple[int, int]:
    output = copy / "output.txt"
    sound = run(copy, area.tests, None, output, keep_bytecode=True)
    if not sound.passed:
        raise SystemExit(
            f"{name}: the tests fail without a mutant, so they can't tell anything of one:\n{output.read_text()}"
        )
    mutants = drawn(mutants_of(copy, area.modules), each, seed)
    survivors = [one for one in mutants if _survives(copy, area, one, LONGER * sound.seconds + SECONDS, output)]
    print(f"{name}: {len(mutants) - len(survivors)} of {len(mutants)} killed", flush=True)
    return len(mutants) - len(survivors), len(mutants)


def _survives(copy: Path, area: Area, mutant: MutationSpec, seconds: float, output: Path) -> bool:
    with use_mutation(mutant.module_path, get_operator(mutant.operator_name)(), mutant.occurrence) as (before, after):
        survives = run(copy, area.tests, seconds, output, keep_bytecode=False).passed
    waits = not survives and WAITED in output.read_text()
    if survives or waits:
        print("survives:" if survives else "killed because a test waited too long, which a busy machine does as well:")
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), str(mutant.module_path.relative_to(copy)), lineterm=""
        )
        print("\n".join(line for line in lines if not line.startswith("+++")), flush=True)
    return survives


if __name__ == "__main__":
    sys.exit(main())
