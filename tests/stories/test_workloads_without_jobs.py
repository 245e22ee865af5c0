"""Workloads that no job stands behind: whoever runs one says on the object when it has stopped."""

from events.json_object import JsonObject
from events.json_path import look
from services.applier.workloads.known_objects import WORKLOADS
from tests.stage.stage import Stage
from tests.stage.without_jobs import has_to_stop, holds, stops, without_job


def found(stage: Stage, name: str) -> JsonObject:
    return stage.get("workloads.kueue.x-k8s.io", "default", name)


def why(value: JsonObject) -> str:
    """Why it has no quota, by the reason."""
    return str(look(value, "status.conditions[QuotaReserved].reason"))


async def test_nobody_takes_its_place_before_whoever_runs_it_says_that_it_stopped(stage: Stage) -> None:
    stage.serve()
    await stage.add(without_job("runs"))
    await stage.until(lambda: holds(found(stage, "runs"), "Admitted"))
    await stage.add(without_job("urgent", priority=1000))
    await stage.until(lambda: has_to_stop(found(stage, "runs")))
    await stage.until(lambda: why(found(stage, "urgent")) == "WaitingForPreemptedWorkloads")
    assert has_to_stop(found(stage, "runs"))
    await stops(stage, "runs")
    await stage.until(lambda: holds(found(stage, "urgent"), "Admitted"))
    await stage.until(lambda: why(found(stage, "runs")) == "WaitingForQuota")


async def test_it_gives_back_again_what_it_got_anew(stage: Stage) -> None:
    stage.serve()
    await stage.add(without_job("runs"))
    for _ in range(2):
        await stage.until(lambda: holds(found(stage, "runs"), "Admitted"))
        await stage.client.merge(WORKLOADS, "default", "runs", {"spec": {"active": False}})
        await stops(stage, "runs")
        await stage.until(
            lambda: not look(found(stage, "runs"), "status.admission") and holds(found(stage, "runs"), "Evicted")
        )
        await stage.client.merge(WORKLOADS, "default", "runs", {"spec": {"active": True}})
