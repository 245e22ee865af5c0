"""The statuses of queues as a dashboard reads them, written through a real API, with a real bus behind."""

from typing import Any

from ops.sandbox.embedded_cluster.faults import RequestFault
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import CLUSTER_QUEUES, Stage, job

KEY = "clusterqueues.kueue.x-k8s.io"


def status(stage: Stage, kind: str = "clusterqueues", namespace: str = "") -> dict[str, Any]:
    found = stage.get(f"{kind}.kueue.x-k8s.io", namespace, "team")
    return found.get("status") or {}


def counts(stage: Stage, kind: str = "clusterqueues", namespace: str = "") -> tuple[int, int, int]:
    found = status(stage, kind, namespace)
    return tuple(found.get(f"{name}Workloads", -1) for name in ("pending", "reserving", "admitted"))  # type: ignore[return-value]


def active(stage: Stage, kind: str = "clusterqueues", namespace: str = "") -> tuple[str, str, str]:
    found = next(iter(status(stage, kind, namespace).get("conditions") or ()), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def test_a_queue_shows_who_waits_and_runs_in_it_and_what_they_use(stage: Stage) -> None:
    stage.serve()
    await stage.until(lambda: counts(stage) == (0, 0, 0))
    assert active(stage) == ("True", "Ready", "Can admit new workloads")
    since = status(stage)["conditions"][0]["lastTransitionTime"]
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.add(job("second", UNTIL_ENDED_S))
    local = ("localqueues", "default")
    await stage.until(lambda: counts(stage) == counts(stage, *local) == (1, 1, 1))
    assert active(stage, *local) == ("True", "Ready", "Can submit new workloads to localQueue")
    (flavor,) = status(stage)["flavorsUsage"]
    assert flavor == {
        "name": "v100",
        "resources": [
            {"name": "nvidia.com/gpu", "total": "1", "borrowed": "0"},
            {"name": "nvidia.com/gpucores", "total": "60", "borrowed": "0"},
            {"name": "nvidia.com/gpumem", "total": "20000", "borrowed": "0"},
        ],
    }
    assert status(stage)["flavorsReservation"] == [flavor]
    assert status(stage, *local)["flavorsUsage"][0]["resources"][0] == {"name": "nvidia.com/gpu", "total": "1"}
    assert status(stage)["conditions"][0]["lastTransitionTime"] == since


async def test_a_stopped_queue_says_so_and_so_do_the_doors_to_it(stage: Stage) -> None:
    stage.serve()
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"stopPolicy": "Hold"}})
    await stage.until(lambda: active(stage)[0] == "False")
    assert active(stage)[1:] == ("Stopped", "Can't admit new workloads: is stopped.")
    await stage.until(lambda: active(stage, "localqueues", "default")[0] == "False")
    assert active(stage, "localqueues", "default")[1:] == (
        "ClusterQueueIsInactive",
        "Can't submit new workloads to clusterQueue",
    )
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: counts(stage) == (1, 0, 0))


async def test_a_status_that_was_not_taken_is_written_again(embedded_stage: Stage) -> None:
    stage = embedded_stage
    stage.embedded.faults.order(RequestFault(method="PATCH", path="/clusterqueues/team/status", code=500, times=12))
    stage.serve()
    await stage.until(lambda: counts(stage) == (0, 0, 0))


async def test_many_changes_make_few_writes(stage: Stage) -> None:
    stage.serve()
    await stage.until(lambda: counts(stage) == (0, 0, 0))
    before, began = stage.cluster.changes(KEY), stage.clock.now()
    for number in range(40):
        await stage.add(job(f"job-{number:02}", 500))
    await stage.until(lambda: counts(stage) == (39, 1, 1))
    assert stage.cluster.changes(KEY) - before <= (stage.clock.now() - began) // 1000 + 1


async def test_a_queue_shows_that_its_budget_is_used_up_and_its_users_are_told(stage: Stage) -> None:
    stage.serve()
    check = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "budget"}}
    await stage.add({**check, "spec": {"controllerName": "kuelog.io/budget"}})
    budget = {"metadata": {"annotations": {"kuelog.io/budget": "nvidia.com/gpu=0.001h per day"}}}
    required = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}}}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {**budget, **required})

    def within(kind: str = "clusterqueues", namespace: str = "") -> str:
        conditions = status(stage, kind, namespace).get("conditions") or ()
        return next((one["status"] for one in conditions if one["type"] == "WithinBudget"), "")

    local = ("localqueues", "default")
    await stage.until(lambda: within() == within(*local) == "True")
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: within() == within(*local) == "False")

    def told(kind: str) -> set[str]:
        about = [one for one in stage.of("events") if one["involvedObject"]["kind"] == kind]
        return {one["reason"] for one in about}

    await stage.until(lambda: "BudgetExhausted" in told("ClusterQueue") & told("LocalQueue"))
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"metadata": {"annotations": {"kuelog.io/budget": None}}})
    await stage.until(lambda: within() == within(*local) == "")
