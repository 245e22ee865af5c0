"""Objects by chance that may not be stored: `python -m tests.peers.refused_beside_kueue --seed 1 --objects 500`.

Each is put before two real API servers with Kueue's definitions, as a dry run: one asks the webhooks of Kueue's own manager, the
other kuelog's. Both have to take the same, make the same of it, and refuse the same fields: docs/rules/README.md#refused-beside-kueue.
"""

import argparse
import asyncio
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from ops.production.process.telemetry import configure_logging
from tests.peers.build import PEERS
from tests.peers.refusals.asked import Asked, both
from tests.peers.refusals.drawn_objects import drawn_object, drawn_write
from tests.peers.refusals.verdicts_apart import MEANT, apart


async def _play(peers: Path, seeds: range, at_once: int, only: set[str], *, statuses: bool) -> int:
    meant, kinds, differing = Counter[str](), Counter[str](), 0
    verdicts = Counter[str]()
    with TemporaryDirectory(prefix="refused-beside-kueue-") as folder:
        async with both(peers, Path(folder)) as (theirs, ours):
            gate = asyncio.Semaphore(at_once)

            async def one(seed: int) -> Asked | None:
                chance = random.Random(f"{seed}/refused")  # noqa: S311 - an object, not a secret
                drawn = drawn_write(chance, seed) if statuses else drawn_object(chance, seed, only)
                if drawn is None:
                    return None
                async with gate:
                    return Asked(drawn, *await asyncio.gather(theirs.answer(drawn), ours.answer(drawn)))

            for asked in await asyncio.gather(*(one(seed) for seed in seeds)):
                if asked is None:
                    continue
                kinds[asked.drawn.value["kind"]] += 1
                verdicts["taken" if asked.there.taken else f"refused by {asked.there.by}"] += 1
                found = apart(asked)
                if found.name:
                    meant[found.name] += 1
                elif found.differences:
                    differing += 1
                    print(f"{asked.drawn.describe()}")
                    for line in found.differences:
                        print(f"    {line}")
    print(f"{sum(kinds.values())} objects, {differing} differ; {dict(kinds)}; Kueue: {dict(verdicts)}")
    for name, count in meant.most_common():
        print(f"{count} times {name}: {MEANT[name]}")
    return 1 if differing else 0


def main() -> int:
    """Put so many objects before both, and print where they differ; 0 where they never do."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.refused_beside_kueue", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first object; the others follow")
    parser.add_argument("--objects", type=int, default=500, help="how many")
    parser.add_argument("--at-once", type=int, default=8, help="how many of them are asked about at the same time")
    parser.add_argument("--only", default="", help="kinds of objects, all where none is named")
    parser.add_argument(
        "--statuses", action="store_true", help="what others write of the state of Workloads, and no objects"
    )
    parser.add_argument("--peers", type=Path, default=PEERS, help="where `make peers` has put its programs")
    given = parser.parse_args()
    configure_logging("critical")
    only = set(filter(None, given.only.split(",")))
    seeds = range(given.seed, given.seed + given.objects)
    return asyncio.run(_play(given.peers.resolve(), seeds, given.at_once, only, statuses=given.statuses))


if __name__ == "__main__":
    sys.exit(main())
