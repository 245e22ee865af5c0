"""`make chaos`: the long runs, one after the other; what each came to, and 1 when a law was broken in any."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import BUS, Plan, play

LONG = (
    Plan(seed=131, kills=131, jobs=1000),
    Plan(seed=3, kills=30, jobs=300, servers=3, victims=(BUS,), commits=20),
    Plan(seed=7, kills=0, jobs=300, storm=True),
    Plan(seed=11, kills=20, jobs=300, storm=True),
)


async def main() -> int:
    """Play all of them."""
    broken = 0
    for plan in LONG:
        with tempfile.TemporaryDirectory() as folder:
            outcome = await play(plan, Path(folder))
        print(f"{outcome} (load {os.getloadavg()[0]:.1f})", flush=True)
        broken += bool(outcome.broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
