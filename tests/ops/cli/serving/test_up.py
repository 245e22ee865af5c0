"""`kuelog up` as somebody meets it who has nothing yet: a cluster with cards, on which the README's jobs run."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from ops.files.manifests import read_manifests
from ops.production.kubernetes.client import KubeClient, connect
from services.runtime.cluster_port import Resource
from tests.places import ROOT
from tests.stage.forked_commands import forked

EXAMPLE = ROOT / "examples/ai-platform"
FILES = ("00-namespaces-priorities.yaml", "01-queues.yaml", "02-first-jobs.yaml")
PATIENCE_S = 120


def kuelog(*words: str) -> subprocess.CompletedProcess[str]:
    return forked(words, env={"PATH": "/usr/bin:/bin", "HOME": str(ROOT)}, timeout=300)


@pytest_asyncio.fixture
async def up(tmp_path: Path) -> AsyncIterator[KubeClient]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "ops.cli.main", "up", "--data", str(tmp_path / "up"), "--scale", "10"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            said = [(await process.stdout.readline()).decode() for _ in range(3)]
        assert said[0] == "7 nodes with 48 cards\n", said
        assert said[1].startswith("Kubernetes API http://127.0.0.1:") and said[2].startswith("try: kubectl"), said
        client = await connect(str(tmp_path / "up" / "kubeconfig"))
        yield client
        await client.close()
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


def resource_of(value: dict[str, str]) -> Resource:
    group, _, version = value["apiVersion"].rpartition("/")
    kind = value["kind"]
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    namespaced = kind in ("Job", "LocalQueue")
    return Resource(group=group, version=version, plural=plural, kind=kind, namespaced=namespaced)


async def test_a_job_that_is_submitted_as_the_readme_says_runs_on_cards_that_are_there(up: KubeClient) -> None:
    for document in read_manifests([EXAMPLE / name for name in FILES]):
        value = document.value
        await up.create(resource_of(value), value["metadata"].get("namespace", ""), value)
    async with asyncio.timeout(PATIENCE_S):
        async for line in up.lines("/api/v1/pods?watch=1"):
            pod = json.loads(line)["object"]
            if pod["status"]["phase"] == "Running":
                assert pod["spec"]["nodeName"].startswith(("gpu-v100-", "gpu-a100-"))
                return
    pytest.fail("the watch ended before a pod ran")


@pytest.mark.parametrize("option", ["--nodes=examples/ai-platform/scenario.yaml", "--no-nodes"])
def test_a_cluster_of_ones_own_has_nodes_of_its_own(option: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config"}))
    done = kuelog("up", "--kubeconfig", str(kubeconfig), option, "--data", str(tmp_path / "up"))
    assert done.returncode == 2
    told = " ".join(done.stderr.replace("│", " ").split())
    assert f"{option.partition('=')[0]} is for the embedded cluster" in told
    assert not (tmp_path / "up").exists()


def test_nodes_of_a_file_and_none_at_all_are_not_meant_together() -> None:
    done = kuelog("up", "--no-nodes", "--nodes", "examples/ai-platform/scenario.yaml")
    assert done.returncode == 2 and "not both" in " ".join(done.stderr.replace("│", " ").split())
