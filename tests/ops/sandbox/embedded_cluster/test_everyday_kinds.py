"""What people run beside jobs comes to life in the embedded cluster: Deployments, StatefulSets, CronJobs, and why a pod waits."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from events.json_object import JsonObject
from events.timestamp import parse_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.cron_schedule import BadSchedule, Schedule
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node

APPS = "/apis/apps/v1/namespaces/default"
PATIENCE_S = 60
MINUTE = 60_000


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    found = EmbeddedCluster(clock=ScaledClock(50), serving=True)
    await found.start()
    found.add(plain_node("n1"))
    yield found
    await found.stop()


def template(image: str = "x", **requests: str) -> JsonObject:
    container = {"name": "c", "image": image, "resources": {"requests": requests}}
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}


def serving(kind: str, replicas: int = 2, **further: Any) -> JsonObject:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template(), **further}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


async def sent(cluster: EmbeddedCluster, method: str, path: str, value: JsonObject) -> JsonObject:
    form = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Content-Type": form}
    async with aiohttp.request(method, cluster.url + path, json=value, headers=headers) as answer:
        found: JsonObject = await answer.json()
        assert answer.status in (200, 201), found
        return found


async def until(cluster: EmbeddedCluster, holds: Callable[[], bool]) -> None:
    queue = cluster.store.watch()
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await queue.get()
    cluster.store.unwatch(queue)


def pods(cluster: EmbeddedCluster) -> list[JsonObject]:
    return [pod for _, pod in sorted(cluster.store.of("pods").items()) if not pod["metadata"].get("deletionTimestamp")]


def images(cluster: EmbeddedCluster) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in pods(cluster)]


def status(cluster: EmbeddedCluster, key: str, field: str) -> int:
    return ((cluster.store.get(key, ("default", "a")) or {}).get("status") or {}).get(field, 0)


async def test_a_deployment_runs_is_scaled_rolled_and_rolled_back(cluster: EmbeddedCluster) -> None:
    await sent(cluster, "POST", f"{APPS}/deployments", serving("Deployment"))
    await until(cluster, lambda: status(cluster, "deployments.apps", "availableReplicas") == 2)
    scale = await sent(cluster, "PATCH", f"{APPS}/deployments/a/scale", {"spec": {"replicas": 3}})
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 3)
    await until(cluster, lambda: status(cluster, "deployments.apps", "availableReplicas") == 3)
    await sent(cluster, "PATCH", f"{APPS}/deployments/a", {"spec": {"template": template("y")}})
    await until(cluster, lambda: images(cluster) == ["y", "y", "y"])
    sets = cluster.store.of("replicasets.apps").values()
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 3]
    await sent(cluster, "PATCH", f"{APPS}/deployments/a", {"spec": {"template": template("x")}})
    await until(cluster, lambda: images(cluster) == ["x", "x", "x"])
    value = cluster.store.get("deployments.apps", ("default", "a")) or {}
    assert value["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
    assert len(sets) == 2


async def test_a_deployment_that_recreates_has_no_pod_of_two_templates_at_once(cluster: EmbeddedCluster) -> None:
    await sent(cluster, "POST", f"{APPS}/deployments", serving("Deployment", strategy={"type": "Recreate"}))
    await until(cluster, lambda: status(cluster, "deployments.apps", "availableReplicas") == 2)
    await sent(cluster, "PATCH", f"{APPS}/deployments/a", {"spec": {"template": template("y")}})
    seen: set[tuple[str, ...]] = set()

    def rolled() -> bool:
        seen.add(tuple(sorted(set(images(cluster)))))
        return images(cluster) == ["y", "y"]

    await until(cluster, rolled)
    assert ("x", "y") not in seen


async def test_a_pod_that_is_deleted_is_replaced_and_all_go_with_their_deployment(cluster: EmbeddedCluster) -> None:
    await sent(cluster, "POST", f"{APPS}/deployments", serving("Deployment"))
    await until(cluster, lambda: status(cluster, "deployments.apps", "availableReplicas") == 2)
    gone = pods(cluster)[0]["metadata"]["name"]
    await sent(cluster, "DELETE", f"/api/v1/namespaces/default/pods/{gone}", {"gracePeriodSeconds": 0})
    await until(cluster, lambda: len(pods(cluster)) == 2 and gone not in {p["metadata"]["name"] for p in pods(cluster)})
    await sent(cluster, "DELETE", f"{APPS}/deployments/a", {})
    await until(cluster, lambda: not pods(cluster) and not cluster.store.of("replicasets.apps"))


async def test_a_stateful_set_has_its_pods_in_order_and_renews_them_from_the_last(cluster: EmbeddedCluster) -> None:
    await sent(cluster, "POST", f"{APPS}/statefulsets", serving("StatefulSet", 3))
    await until(cluster, lambda: status(cluster, "statefulsets.apps", "readyReplicas") == 3)
    assert [pod["metadata"]["name"] for pod in pods(cluster)] == ["a-0", "a-1", "a-2"]
    await sent(cluster, "PATCH", f"{APPS}/statefulsets/a", {"spec": {"template": template("y")}})
    await until(cluster, lambda: images(cluster) == ["y", "y", "y"])
    await sent(cluster, "PATCH", f"{APPS}/statefulsets/a", {"spec": {"replicas": 1}})
    await until(cluster, lambda: [pod["metadata"]["name"] for pod in pods(cluster)] == ["a-0"])


async def test_a_cron_job_makes_a_job_when_its_time_comes(cluster: EmbeddedCluster) -> None:
    job = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}}
    value = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "a"},
        "spec": {"schedule": "* * * * *", "jobTemplate": job},
    }
    await sent(cluster, "POST", "/apis/batch/v1/namespaces/default/cronjobs", value)
    await until(cluster, lambda: len(cluster.store.of("jobs.batch")) == 2)
    first, second = sorted(int(name.partition("-")[2]) for _, name in cluster.store.of("jobs.batch"))
    assert second == first + 1


async def test_why_a_pod_fits_no_node_is_an_event_of_it(cluster: EmbeddedCluster) -> None:
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"}, **template(cpu="1000")}
    value["metadata"] = {"name": "big"}
    await sent(cluster, "POST", "/api/v1/namespaces/default/pods", value)
    await until(cluster, lambda: bool(cluster.store.of("events")))
    (event,) = cluster.store.of("events").values()
    assert (event["reason"], event["type"]) == ("FailedScheduling", "Warning")
    assert event["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert event["involvedObject"]["name"] == "big"


@pytest.mark.parametrize(
    ("text", "after", "found"),
    [
        ("* * * * *", 0, MINUTE),
        ("*/5 * * * *", 5 * MINUTE, 10 * MINUTE),
        ("30 2 * * *", 0, 150 * MINUTE),
        ("0 0 1 jan *", MINUTE, 365 * 1440 * MINUTE),
        ("0 0 * * mon-fri", MINUTE, 1440 * MINUTE),
        ("0 0 * * 0", 0, 3 * 1440 * MINUTE),
        ("0 0 15 * sun", 0, 3 * 1440 * MINUTE),
        ("@hourly", 0, 60 * MINUTE),
        ("0 0 29 2 ?", 0, (2 * 365 + 31 + 28) * 1440 * MINUTE),
    ],
)
def test_a_schedule_comes_round_when_cron_says(text: str, after: int, found: int | None) -> None:
    assert Schedule(text).after(after) == found


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "* * * * x", "*/0 * * * *", "1-x * * * *", "a,b * * * *", "0 0 30 2 *"]
)
def test_what_is_no_schedule_is_told_with_one_that_is(text: str) -> None:
    with pytest.raises(BadSchedule, match="write e.g"):
        Schedule(text)


@pytest.mark.parametrize("stays", [0, 90])
async def test_a_job_is_removed_with_its_pods_so_long_after_its_end_as_it_says(
    cluster: EmbeddedCluster, stays: int
) -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}
    seen, ended = cluster.store.watch("jobs.batch"), 0
    cluster.add(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "default"},
            "spec": {"template": pod, "ttlSecondsAfterFinished": stays},
        }
    )
    async with asyncio.timeout(PATIENCE_S):
        while (change := await seen.get()) is not None and change.type != "DELETED":
            conditions = (change.object.get("status") or {}).get("conditions") or []
            ends = [one["lastTransitionTime"] for one in conditions if one["type"] == "Complete"]
            ended = parse_timestamp(ends[0]) if ends else 0
    assert ended and cluster.clock.now() >= ended + stays * 1000
    await until(cluster, lambda: not cluster.store.of("pods"))


@pytest.mark.parametrize(("says", "completions"), [({}, 1), ({"parallelism": 1}, None), ({"parallelism": 2}, None)])
async def test_a_job_that_says_how_many_pods_it_has_at_a_time_has_as_many_completions_as_it_says(
    cluster: EmbeddedCluster, says: JsonObject, completions: int | None
) -> None:
    spec = {**template(), "spec": {**template()["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": spec, **says}}
    made = await sent(cluster, "POST", "/apis/batch/v1/namespaces/default/jobs", job)
    assert made["spec"].get("completions") == completions
