"""Every folder of manifests that people have written plays to its end, or says in a sentence what it lacks."""

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from ops.cli.serving.demo import run_demo
from tests.places import SCENARIOS

LACKS = {
    "gpu-research": "ClusterQueue gpu-research: there is no ResourceFlavor a100, so the queue stays inactive",
    "use-cases": "no job here asks a queue for anything: one that does names it in the label kueue.x-k8s.io/queue-name",
}
"""What those lack that can't play; all others have to."""
FOLDERS = sorted(one.name for one in SCENARIOS.iterdir() if one.is_dir()) if SCENARIOS.is_dir() else []


@pytest.mark.skipif(not FOLDERS, reason=f"{SCENARIOS} is not here: KUELOG_SCENARIOS may name folders of manifests")
@pytest.mark.parametrize("name", FOLDERS or ["none"])
async def test_it_plays_or_says_what_it_lacks(name: str, tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    code = await asyncio.to_thread(run_demo, SCENARIOS / name, tmp_path / "data", loose=True, console=console)
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert (code == 0) is (name not in LACKS), told
    assert LACKS.get(name, "held   every job has finished") in told, told
