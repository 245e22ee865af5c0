"""Somebody else's checks add to the pods of a job: at its start, gone at its stop, and in conflict with each other."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from events.api.labels import ADDED_BY_CHECKS
from events.json_object import JsonObject
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import Stage, job
from tests.stories.test_checks import conditions, require, workload

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
NAMES = ("budget", "nodes")


async def staged(stage: Stage, play: Callable[[Stage], Awaitable[None]]) -> None:
    """A queue that requires two checks, a job that waits for them, and what is played with it."""
    await require(stage, *NAMES)
    stage.serve()
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: len(checks(stage)) == 2 and "QuotaReserved" in conditions(stage))
    await asyncio.wait_for(play(stage), 60)
    _, replayed = fold_partition(PARTITION, await read_everything(stage.bus), verify=True)
    assert not replayed.differences


def checks(stage: Stage) -> list[dict[str, Any]]:
    return workload(stage).get("status", {}).get("admissionChecks") or []


def states(stage: Stage) -> list[str]:
    return [one["state"] for one in checks(stage)]


async def say(stage: Stage, name: str, *updates: object, state: str = "Ready") -> None:
    """What the controller of one check writes."""
    while True:
        now = workload(stage)
        mine = {"state": state, "podSetUpdates": list(updates)}
        told = [{**one, **mine} if one["name"] == name else one for one in now["status"]["admissionChecks"]]
        patch = {
            "metadata": {"resourceVersion": now["metadata"]["resourceVersion"]},
            "status": {"admissionChecks": told},
        }
        try:
            await stage.client.merge(WORKLOADS, "default", now["metadata"]["name"], patch, subresource="status")
        except ObjectConflict:
            continue
        return


def template(stage: Stage) -> dict[str, Any]:
    found = stage.get("jobs.batch", "default", "patient")
    assert found is not None
    return found["spec"]["template"]


def events(stage: Stage) -> dict[str, str]:
    return {one["reason"]: one["message"] for one in stage.of("events")}


async def start_and_stop(stage: Stage) -> None:
    before = template(stage)
    update = {"name": "main", "labels": {"team": "a"}, "annotations": {"cost": "1"}}
    await say(stage, "budget", update)
    await say(stage, "nodes", {"name": "main", "labels": {"team": "a"}, "tolerations": [SPOT]})
    await stage.until(lambda: stage.running("patient"))
    running = template(stage)
    assert running["metadata"]["labels"]["team"] == "a" and running["metadata"]["annotations"]["cost"] == "1"
    assert SPOT in running["spec"]["tolerations"]
    await say(stage, "nodes", state="Retry")

    def at_rest() -> bool:
        found = stage.get("jobs.batch", "default", "patient")
        return states(stage) == ["Pending", "Pending"] and ADDED_BY_CHECKS not in found["metadata"].get(
            "annotations", {}
        )

    await stage.until(at_rest)
    assert template(stage) == before, "it asks for what it asked for at first"
    assert all(not one.get("podSetUpdates") for one in checks(stage)), "what was said before counts no more"
    await stage.until(lambda: conditions(stage).get("QuotaReserved") == ("True", "QuotaReserved"))
    await say(stage, "budget", {"name": "main", "labels": {"team": "b"}})
    await say(stage, "nodes")
    await stage.until(lambda: stage.running("patient"))
    assert template(stage)["metadata"]["labels"]["team"] == "b"


async def clash_with_each_other(stage: Stage) -> None:
    await say(stage, "budget", {"name": "main", "labels": {"team": "a"}})
    await say(stage, "nodes", {"name": "main", "labels": {"team": "b"}})
    await failed_to_start(stage, "check nodes wants team=b on pod set main, which has team=a already")


async def clash_with_the_flavor(stage: Stage) -> None:
    await say(stage, "budget")
    await say(stage, "nodes", {"name": "main", "nodeSelector": {"zone": "b"}})
    await failed_to_start(stage, "check nodes wants zone=b on pod set main, which has zone=a already")


async def clash_with_the_job(stage: Stage) -> None:
    await say(stage, "budget", {"name": "main", "annotations": {"kuelog.io/run-seconds": "1"}})
    await say(stage, "nodes")
    await failed_to_start(stage, "check budget wants kuelog.io/run-seconds=1 on pod set main")


async def failed_to_start(stage: Stage, why: str) -> None:
    """The workload has ended with the reason, the job stands still, and the next one finds the quota."""
    await stage.until(lambda: conditions(stage).get("Finished") == ("True", "FailedToStart"))
    (told,) = [one["message"] for one in workload(stage)["status"]["conditions"] if one["type"] == "Finished"]
    assert why in told
    assert not stage.running("patient") and "team" not in template(stage)["metadata"].get("labels", {})
    fold, _ = fold_partition(PARTITION, await read_everything(stage.bus))
    assert fold.world.quota.usage_by_name(fold.world.quota.queues["team"]) == {}


async def unknown_pod_set(stage: Stage) -> None:
    why = "podSetUpdates[0].name: 'wurkers' is not known here"
    await refused(stage, {"name": "wurkers", "labels": {"team": "a"}}, why, " (write one of main)")


async def malformed(stage: Stage) -> None:
    await refused(stage, {"name": "main", "labels": "team=a"}, "podSetUpdates[0].labels")


async def refused(stage: Stage, update: JsonObject, why: str, instead: str = "") -> None:
    """It is not written where the API server asks the webhook; where it asks nobody, who waits says why, until it is mended."""
    await say(stage, "budget")
    if stage.cluster.real:
        with pytest.raises(ObjectInvalid, match=re.escape(why)):
            await say(stage, "nodes", update)
        return
    await say(stage, "nodes", update)
    await refused_until_mended(stage, why + instead)


async def refused_until_mended(stage: Stage, why: str) -> None:
    """The check says nothing, an Event on the Workload says why, and what is mended lets the job start."""
    await stage.until(lambda: why in events(stage).get("Refused", ""))
    assert not stage.running("patient")
    await say(stage, "nodes", {"name": "main", "labels": {"team": "a"}})
    await stage.until(lambda: stage.running("patient"))
    assert template(stage)["metadata"]["labels"]["team"] == "a"


@pytest.mark.parametrize(
    "play",
    [start_and_stop, clash_with_each_other, clash_with_the_flavor, clash_with_the_job, unknown_pod_set, malformed],
    ids=lambda one: one.__name__.replace("_", " "),
)
async def test_what_checks_add_to_pods(play: Callable[[Stage], Awaitable[None]], stage: Stage) -> None:
    await staged(stage, play)
