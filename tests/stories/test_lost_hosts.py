"""Hosts that pods are placed on by topology go away or fill up: the pods end, and others run where there is room."""

from typing import Any

import pytest

from events.json_object import JsonObject
from tests.stage.stage import NODES, Stage
from tests.stories.test_own_cards import alive, running
from tests.stories.test_ungating import HOSTNAME, placed, racks

pytestmark = pytest.mark.bare_server


def hosts(stage: Stage, job: str) -> list[str]:
    return sorted(one["spec"].get("nodeName", "") for one in alive(stage, job))


def intruder(host: str) -> dict[str, Any]:
    """A pod that fills a host, and says that it is placed by topology, so that nobody counts it beside what is."""
    notes = {"kuelog.io/run-seconds": "5000", "kueue.x-k8s.io/podset-unconstrained-topology": "true"}
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "2"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "intruder", "namespace": "default", "annotations": notes},
        "spec": {"nodeName": host, "containers": [container]},
    }


def ended(stage: Stage, job: str) -> list[JsonObject]:
    """The pods of a job that kuelog has ended itself."""
    return [
        one
        for one in stage.of("pods")
        if one["metadata"]["name"].startswith(job)
        and "TerminatedByKueue" in [mark["type"] for mark in one["status"].get("conditions") or ()]
    ]


async def test_a_pod_that_never_gets_to_its_host_is_ended_and_another_runs_elsewhere(stage: Stage) -> None:
    await racks(stage)
    await stage.add(intruder("h1"))
    stage.serve()
    await stage.add(placed("ring", 1, indexed=False))
    await stage.until(
        lambda: [one["spec"].get("nodeSelector", {}).get(HOSTNAME) for one in alive(stage, "ring")] == ["h1"]
    )
    (stuck,) = alive(stage, "ring")
    assert not stuck["spec"].get("nodeName")
    taint = {"key": "broken", "effect": "NoSchedule"}
    await stage.client.merge(NODES, "", "h1", {"spec": {"taints": [taint]}})
    await stage.until(lambda: running(stage, "ring", 1))
    assert hosts(stage, "ring") == ["h2"], "in the same rack"
    (gone,) = ended(stage, "ring")
    assert gone["metadata"]["uid"] == stuck["metadata"]["uid"] and gone["status"]["phase"] == "Failed"


async def test_pods_of_a_host_that_is_gone_run_again_on_another(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(placed("ring", 1, indexed=False))
    await stage.until(lambda: running(stage, "ring", 1))
    (before,) = hosts(stage, "ring")
    await stage.client.delete(NODES, "", before)
    await stage.until(lambda: running(stage, "ring", 1) and hosts(stage, "ring") != [before])


async def test_when_two_hosts_are_gone_the_quota_returns_once_their_pods_are_taken_away(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(placed("ring", 4))
    await stage.until(lambda: running(stage, "ring", 4))
    before = {*hosts(stage, "ring")}
    for host in sorted(before):
        await stage.client.delete(NODES, "", host)
    await stage.until(lambda: running(stage, "ring", 4) and not before & {*hosts(stage, "ring")})
