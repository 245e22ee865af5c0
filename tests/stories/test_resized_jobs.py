"""A job whose size or pods somebody changes while it runs, holds quota or waits: what has quota is what runs, and the Workload says it."""

from events.json_object import JsonObject
from events.json_path import look
from tests.stage.stage import JOBS, Stage, job
from tests.stories.test_checks import check, require, say

CARD = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000, "nvidia.com/gpucores": 20}


def small(name: str, pods: int) -> JsonObject:
    made = job(name, 3600)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": CARD}
    made["spec"]["parallelism"] = pods
    return made


async def resize(stage: Stage, name: str, pods: int) -> None:
    await stage.client.merge(JOBS, "default", name, {"spec": {"parallelism": pods}})


def workload(stage: Stage, owner: str) -> JsonObject:
    found = stage.of("workloads.kueue.x-k8s.io")
    return next((one for one in found if one["metadata"]["ownerReferences"][0]["name"] == owner), {})


def asks(stage: Stage, owner: str) -> int:
    return sum(one["count"] for one in look(workload(stage, owner), "spec.podSets") or ())


def given(stage: Stage, owner: str) -> int:
    return sum(one["count"] for one in look(workload(stage, owner), "status.admission.podSetAssignments") or ())


def ready(stage: Stage, name: str) -> int:
    return int(look(stage.get("jobs.batch", "default", name), "status.ready") or 0)


async def test_one_that_runs_stops_and_is_let_in_anew_in_its_new_size(stage: Stage) -> None:
    stage.serve()
    await stage.add(small("runs", 1))
    await stage.until(lambda: ready(stage, "runs") == 1)
    await resize(stage, "runs", 3)
    await stage.until(lambda: (ready(stage, "runs"), asks(stage, "runs"), given(stage, "runs")) == (3, 3, 3))
    evicted = look(workload(stage, "runs"), "status.schedulingStats.evictions")
    assert [(one["reason"], one["count"]) for one in evicted] == [("NoMatchingWorkload", 1)]
    await resize(stage, "runs", 2)
    await stage.until(lambda: (ready(stage, "runs"), asks(stage, "runs"), given(stage, "runs")) == (2, 2, 2))


async def test_one_that_grows_beyond_its_quota_waits_for_it(stage: Stage) -> None:
    stage.serve()
    await stage.add(small("runs", 1))
    await stage.until(lambda: ready(stage, "runs") == 1)
    await resize(stage, "runs", 5)

    def waits() -> bool:
        suspended = look(stage.get("jobs.batch", "default", "runs"), "spec.suspend") is True
        return suspended and asks(stage, "runs") == 5 and not given(stage, "runs")

    await stage.until(waits)
    await stage.until(lambda: not look(stage.get("jobs.batch", "default", "runs"), "status.active"))


async def test_one_that_waits_is_shown_as_it_is_by_now(stage: Stage) -> None:
    stage.serve()
    await stage.add(small("waits", 5))
    await stage.until(lambda: bool(look(workload(stage, "waits"), "status.conditions[QuotaReserved]")))
    await resize(stage, "waits", 6)
    await stage.until(lambda: asks(stage, "waits") == 6)
    longer = {"metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "9000"}}}
    await stage.client.merge(JOBS, "default", "waits", longer)
    await stage.until(lambda: look(workload(stage, "waits"), "spec.maximumExecutionTimeSeconds") == 9000)
    assert asks(stage, "waits") == 6 and not given(stage, "waits")


async def test_one_that_waits_for_checks_and_is_to_run_elsewhere_gives_its_quota_back_and_starts_where_it_is_let_in_anew(
    stage: Stage,
) -> None:
    await require(stage, "c")
    stage.serve()
    await stage.add(small("moves", 1))
    await stage.until(lambda: check(stage) == "Pending" and given(stage, "moves") == 1)
    for zone, quota in (("nowhere", 0), ("a", 1)):
        elsewhere = {"spec": {"template": {"spec": {"nodeSelector": {"zone": zone}}}}}
        await stage.client.merge(JOBS, "default", "moves", elsewhere)
        await stage.until(lambda quota=quota: given(stage, "moves") == quota)
    assert ready(stage, "moves") == 0
    await stage.until(lambda: check(stage) == "Pending")
    await say(stage, "Ready")
    await stage.until(lambda: ready(stage, "moves") == 1)
