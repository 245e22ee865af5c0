"""Elastic jobs on a cluster: their size is changed while they run, and pods that run go on undisturbed."""

import pytest

from events.api.labels import ELASTIC_JOB, WORKLOAD_SLICE_NAME, WORKLOAD_SLICE_REPLACEMENT_FOR
from events.json_object import JsonObject
from services.runtime.cluster_port import Resource
from tests.stage.stage import Stage
from tests.stories.test_own_cards import alive, held, many_cards, pinned, settled, wide

pytestmark = pytest.mark.bare_server

JOBS = Resource(plural="jobs", group="batch", kind="Job")
GATE = {"name": ELASTIC_JOB}


def elastic(name: str, count: int) -> JsonObject:
    found = wide(name, count, indexed=False)
    found["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    del found["spec"]["completions"]
    return found


async def scale(stage: Stage, name: str, count: int) -> None:
    await stage.client.merge(JOBS, "default", name, {"spec": {"parallelism": count}})


def slices(stage: Stage, *, over: bool) -> list[JsonObject]:
    """The Workload objects that are over, or are not."""
    found = [
        (one, {c["type"]: c for c in (one.get("status") or {}).get("conditions") or ()})
        for one in stage.of("workloads.kueue.x-k8s.io")
    ]
    return [one for one, told in found if (told.get("Finished", {}).get("status") == "True") is over]


def runs(stage: Stage, job: str, count: int, *, waiting: int = 0) -> bool:
    found = alive(stage, job)
    gated = [one for one in found if GATE in (one["spec"].get("schedulingGates") or ())]
    running = [one for one in found if one["status"]["phase"] == "Running"]
    return len(running) == count and len(gated) == waiting and len(found) == count + waiting


async def test_a_job_grows_shrinks_and_waits_for_more_while_its_pods_run_on(stage: Stage) -> None:
    await many_cards(stage)
    stage.serve()
    await stage.add(elastic("grow", 2))
    await stage.until(lambda: runs(stage, "grow", 2))
    first = {one["metadata"]["name"]: pinned(one) for one in alive(stage, "grow")}
    (only,) = slices(stage, over=False)
    notes = only["metadata"]["annotations"]
    assert notes[ELASTIC_JOB] == "true" and notes[WORKLOAD_SLICE_NAME] == only["metadata"]["name"]

    await scale(stage, "grow", 4)
    await stage.until(
        lambda: runs(stage, "grow", 4) and [len(slices(stage, over=one)) for one in (True, False)] == [1, 1]
    )
    now = {one["metadata"]["name"]: pinned(one) for one in alive(stage, "grow")}
    assert {name: now[name] for name in first} == first, "pods that stay keep their cards"
    assert len(set(now.values())) == 4 and all(held(one) == [pinned(one)] for one in alive(stage, "grow"))
    (second,) = slices(stage, over=False)
    replaced = second["metadata"]["annotations"][WORKLOAD_SLICE_REPLACEMENT_FOR]
    assert replaced == f"default/{only['metadata']['name']}"
    (ended,) = slices(stage, over=True)
    (why,) = [one for one in ended["status"]["conditions"] if one["type"] == "Finished"]
    assert why["reason"] == "WorkloadSliceReplaced"

    await scale(stage, "grow", 1)
    await stage.until(lambda: runs(stage, "grow", 1) and _admitted(stage) == 1)
    assert len(slices(stage, over=False)) == 1, "in place"

    limit = 5  # cards there are
    await scale(stage, "grow", limit + 2)
    await stage.until(lambda: len(slices(stage, over=False)) == 2 and runs(stage, "grow", 1, waiting=limit + 1))
    assert _admitted(stage) == 1
    await scale(stage, "grow", 3)
    await stage.until(lambda: runs(stage, "grow", 3) and len(slices(stage, over=False)) == 1)
    await settled(stage)


def _admitted(stage: Stage) -> int:
    """How many pods the slice that holds quota has."""
    given = [(one.get("status") or {}).get("admission") for one in slices(stage, over=False)]
    return sum(each["count"] for one in given if one for each in one["podSetAssignments"])
