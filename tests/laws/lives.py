"""Many random lives of a platform, each decided by several replicas: `python -m tests.laws.lives [--seeds 1-1000] [--steps 30]`.

Of each decision it is held that who starts on the log alone says the same, and of each life that the deciders come to rest.
"""

import argparse
import multiprocessing
import os
import traceback

from ops.production.process.telemetry import configure_logging
from tests.laws.life_laws import broken_laws
from tests.laws.random_life import Life

_MOST_REPORTED = 5


def broken(seed: int, steps: int, *, fresh: float = 0.1) -> str:
    """What a life of so many steps breaks; empty where it keeps every law. `fresh` is how often somebody begins on the log alone."""
    try:
        life = Life(seed, fresh=fresh).live(steps)
    except AssertionError as law:
        return str(law)
    except Exception:  # noqa: BLE001 - whatever a life can't be gone on with is told with its seed
        return traceback.format_exc()
    return "\n".join(broken_laws(life.hosts.log, places=life.places_stand)[:_MOST_REPORTED])


def _played(spec: tuple[int, int]) -> tuple[int, str]:
    configure_logging("critical")
    return spec[0], broken(*spec)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-1000", help="a number, or the first and the last of several")
    parser.add_argument("--steps", type=int, default=30, help="how much happens in each life")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    failed = 0
    with multiprocessing.get_context("forkserver").Pool(os.cpu_count()) as pool:
        for seed, law in pool.imap_unordered(_played, [(seed, asked.steps) for seed in seeds]):
            if law:
                failed += 1
                print(f"seed {seed}: {law}", flush=True)
    print(f"{len(seeds):,} lives of {asked.steps} steps; {failed} break a law")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
