"""`kuelog bench cluster` and `kuelog bench jobs` as a user calls them, on the embedded API."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ops.production.crds.definitions import manifests
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from tests.places import ROOT

LOAD = """
cohorts:
- className: cohort
  count: 1
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 2
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 8
      creationIntervalMs: 1
      workloads:
      - {className: small, runtimeMs: 20, priority: 50, request: 1}
    - count: 2
      creationIntervalMs: 1
      workloads:
      - {className: large, runtimeMs: 20, priority: 200, request: 2}
"""


@asynccontextmanager
async def cluster(folder: Path, *, kinds: bool = True) -> AsyncIterator[EmbeddedCluster]:
    found = EmbeddedCluster(kubeconfig=folder / "kubeconfig")
    for one in manifests() if kinds else ():
        found.add(one)
    await found.start()
    try:
        yield found
    finally:
        await found.stop()


async def kuelog(folder: Path, *words: str) -> tuple[int, str, str]:
    (folder / "load.yaml").write_text(LOAD)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "bench", *words, "--kubeconfig", str(folder / "kubeconfig")),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_load_is_played_to_its_end_and_taken_away(tmp_path: Path) -> None:
    async with cluster(tmp_path) as on:
        code, out, err = await kuelog(tmp_path, "cluster", str(tmp_path / "load.yaml"), "-o", "json")
        assert code == 0, err
        figures = json.loads(out)
        assert figures["finished"] == figures["workloads"] == 20
        assert figures["admissions"] == 20 + figures["evictions"]
        assert set(figures["time_to_admission"]) == {"large", "small"}
        assert 0 < figures["average_use"] <= 1 and figures["cpu_s"] > 0 and figures["peak_memory_mib"] > 0
        for kind in ("workloads", "clusterqueues", "localqueues", "resourceflavors"):
            assert not on.store.of(f"{kind}.kueue.x-k8s.io")


async def test_fewer_workloads_on_the_same_queues_are_played_as_a_table(tmp_path: Path) -> None:
    async with cluster(tmp_path):
        code, out, _ = await kuelog(tmp_path, "cluster", str(tmp_path / "load.yaml"), "--divide", "4")
        assert code == 0 and "6 of 6" in out and "time to admission, small" in out


async def test_jobs_are_created_started_measured_and_taken_away(tmp_path: Path) -> None:
    async with cluster(tmp_path) as on:
        code, out, err = await kuelog(tmp_path, "jobs", "--count", "5", "--rate", "50", "-o", "json")
        assert code == 0, err
        figures = json.loads(out)
        assert figures["jobs"] == 5 and 0 < figures["p50_s"] <= figures["longest_s"]
        assert not on.store.of("jobs.batch") and not on.store.of("clusterqueues.kueue.x-k8s.io")


async def test_a_cluster_without_the_kinds_is_told_what_to_apply(tmp_path: Path) -> None:
    async with cluster(tmp_path, kinds=False):
        code, _, err = await kuelog(tmp_path, "cluster", str(tmp_path / "load.yaml"))
        assert code == 2 and "20-crds.yaml" in err


async def test_what_is_in_the_cluster_already_is_not_touched(tmp_path: Path) -> None:
    mine = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cohort-0-cq-1"}}
    async with cluster(tmp_path) as on:
        on.add({**mine, "spec": {}})
        code, _, err = await kuelog(tmp_path, "cluster", str(tmp_path / "load.yaml"))
        assert code == 2 and "ClusterQueue cohort-0-cq-1 is in the cluster already" in err
        left = on.store.of("clusterqueues.kueue.x-k8s.io")
        assert list(left) == [("", "cohort-0-cq-1")] and not on.store.of("resourceflavors.kueue.x-k8s.io")
