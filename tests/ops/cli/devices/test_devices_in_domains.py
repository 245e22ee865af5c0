"""What the commands about cards say of domains: the largest job that still fits into one of each level, and who makes room there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ops.cli.main import app
from tests.ops.console.racks import racks
from tests.ops.console.served import Console, served

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: team}
spec:
  parallelism: %d
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}
    spec:
      containers:
      - name: main
        resources: {requests: {cpu: "%s"}, limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 12000}}
"""


@pytest.fixture
async def racked(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path, log=racks()) as found:
        yield found


async def fit(racked: Console, folder: Path, pods: int, cpu: str) -> Any:
    (folder / "job.yaml").write_text(JOB % (pods, cpu))
    (found,) = (await racked.printed("devices", "fit", "-f", str(folder / "job.yaml")))["objects"]
    return found


async def test_the_largest_job_of_each_level_counts_cards_and_what_else_its_pods_ask_for(
    racked: Console, tmp_path: Path
) -> None:
    found = await fit(racked, tmp_path, 2, "0")
    (flavor,) = found["flavors"]
    assert found["fits"] and len(flavor["placed"]["placements"]) == 2
    assert [(one["level"], one["pods"]) for one in flavor["largest"]] == [("rack", 4), ("kubernetes.io/hostname", 2)]
    (flavor,) = (await fit(racked, tmp_path, 2, "3"))["flavors"]
    assert [(one["values"], one["pods"]) for one in flavor["largest"]] == [
        (["rack-1"], 1),
        (["rack-1", "host-2"], 1),
    ], "cards are there, and not the CPUs beside them"


async def test_who_is_in_the_way_in_a_rack_is_named(racked: Console, tmp_path: Path) -> None:
    found = await fit(racked, tmp_path, 2, "4")
    (flavor,) = found["flavors"]
    assert not found["fits"] and 'topology "racks"' in flavor["placed"]["message"]
    assert [(step["way"], step["holder"]) for step in flavor["advice"]["steps"]] == [("preempt", "team/small")]
    text = await asyncio.to_thread(
        CliRunner().invoke,
        app,
        ["devices", "fit", "-f", str(tmp_path / "job.yaml"), "--nats", racked.url],
        env={"COLUMNS": "300"},
    )
    assert "the largest job that fits into one rack: 1 pod(s), in rack-1" in text.output
    assert "preempt team/small" in text.output and "team/small: frees" not in text.output


async def test_the_roomiest_domain_of_each_level_stands_beside_the_cards(racked: Console) -> None:
    told = await racked.printed("devices")
    assert [
        (one["flavor"], one["level"], one["values"], one["domains"], one["registered"]["cards"], one["free"]["cards"])
        for one in told["domains"]
    ] == [
        ("racked", "rack", ["rack-0"], 2, 4, 4),
        ("racked", "kubernetes.io/hostname", ["rack-0", "host-0"], 3, 2, 2),
    ]
    text = await asyncio.to_thread(CliRunner().invoke, app, ["devices", "--nats", racked.url], env={"COLUMNS": "300"})
    assert "The domain of each level with most idle cards" in text.output
