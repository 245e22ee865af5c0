import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

PURE = ("events", "projections")
DECIDERS = [
    "services.queue_manager.decide",
    "services.admitter.decide",
    "services.preemptor.decide",
    "services.accountant.decide",
    "services.multikueue.decide",
    "services.multikueue.plan",
    "services.applier.plan",
    "services.watcher.view",
]
FORBIDDEN = {"asyncio", "nats", "kubernetes", "structlog", "aiohttp", "socket"}

IMPORT_ALL = """
import sys
def refuse(event, args):
    if event.startswith(("socket.", "subprocess.")):
        raise RuntimeError(event)
sys.addaudithook(refuse)
import importlib
for name in {names!r}:
    importlib.import_module(name)
print(sorted(set({forbidden!r}) & set(sys.modules)))
"""


def _modules() -> list[str]:
    found = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for room in PURE
        for file in sorted((ROOT / room).rglob("*.py"))
        if file.name != "__init__.py"
    ]
    return found + DECIDERS


def test_the_core_loads_no_bus_no_cluster_and_opens_nothing() -> None:
    code = IMPORT_ALL.format(names=_modules(), forbidden=sorted(FORBIDDEN))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


DECIDE_AND_HASH = """
from tests.stories.small_world import decided_bytes
print(decided_bytes())
"""


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_same_story_gives_the_same_bytes_under_any_hash_seed(seed: str) -> None:
    def run(with_seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", DECIDE_AND_HASH],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": with_seed, "PATH": "", "PYTHONPATH": str(Path(ROOT))},
        )
        return done.stdout

    assert run(seed) == run("99")
    assert len(run(seed)) > 100
