"""`make chaos`: the long runs, one after the other; what each came to, and 1 when a law was broken in any.

`python -m tests.chaos --jobs 5000` plays so many jobs with two of every service over four partitions on three servers, while
anything is killed every second; amid them all are upgraded in turn. `--from REVISION` begins with the services of an older version,
as the repository remembers it, and upgrades them in turn to this one.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.run import ARCHIVE, BUS, Plan, play
from tests.stage.older_version import UnknownVersion, write_older_version

LONG = (
    Plan(seed=131, kills=131, jobs=1000),
    Plan(seed=3, kills=30, jobs=300, servers=3, victims=(BUS,), commits=20),
    Plan(seed=7, kills=0, jobs=300, storm=True),
    Plan(seed=11, kills=20, jobs=300, storm=True),
)


def upgraded_from(folder: Path) -> Plan:
    """Services of an older version, whose code lies in a folder, are upgraded in turn to this one while jobs come; then anything is killed."""
    return Plan(seed=13, kills=20, jobs=300, servers=3, rolling=True, older=str(folder))


_STAYS_S = 2000
"""Among thousands of jobs: 100 s at the pace of these runs, in which a service starts many times over with whoever has ended."""


def divided(jobs: int, seed: int, every_s: float = 1.0) -> Plan:
    """Two of every service over four partitions on three servers, of which one is killed every so often, and all are upgraded amid the jobs."""
    at_once = max(60, min(800, jobs // 4))
    return Plan(
        seed=seed,
        kills=0,
        jobs=jobs,
        servers=3,
        partitions=4,
        hosts=max(3, at_once // 30),
        every_s=every_s,
        at_once=at_once,
        rolling=True,
        stays_s=_STAYS_S,
    )


def plans(words: Sequence[str], older: Path) -> Sequence[Plan]:
    """What the command line asks for. Code of an older version is laid into a folder where one is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--jobs", type=int, default=0, help="so many over four partitions, in place of the long runs")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two kills of these")
    parser.add_argument("--seed", type=int, default=1, help="of these")
    parser.add_argument("--from", dest="revision", default="", help="a revision of the repository that is upgraded")
    asked = parser.parse_args(words)
    if asked.revision:
        try:
            write_older_version(asked.revision, older)
        except UnknownVersion as problem:
            parser.error(str(problem))
        return [upgraded_from(older)]
    return [divided(asked.jobs, asked.seed, asked.every)] if asked.jobs else LONG


async def main(words: Sequence[str]) -> int:
    """Play all of them."""
    with tempfile.TemporaryDirectory(prefix="kuelog-older-") as older:
        return await _played(plans(words, Path(older)))


async def _played(asked: Sequence[Plan]) -> int:
    broken = 0
    for plan in asked:
        folder = Path(tempfile.mkdtemp(prefix="kuelog-chaos-"))
        try:
            outcome = await play(plan, folder)
        except BaseException:
            print(f"what is left of it is in {folder}", file=sys.stderr)
            raise
        print(f"{outcome} (load {os.getloadavg()[0]:.1f})", flush=True)
        if outcome.broken:
            broken += 1
            print(f"it is kept in {folder}: kuelog history WORKLOAD --archive {folder / ARCHIVE}", flush=True)
        else:
            shutil.rmtree(folder)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
