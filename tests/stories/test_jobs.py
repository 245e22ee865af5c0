"""A Job through its whole life, with its pods: what is asked for, what it gets, and what is left when it goes."""

import asyncio
from typing import Any

import pytest
import yaml

from events.admission import WorkloadAdmitted
from events.json_object import JsonObject
from events.json_path import look
from events.workload import JobUnsuspended
from ops.production.archive.history import History
from ops.production.served import SERVICES
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from services.runtime.cluster_port import ObjectInvalid
from tests.stage.stage import JOBS, PODS, Stage, job

QUEUE = "kueue.x-k8s.io/queue-name"


def workload(stage: Stage, name: str) -> JsonObject:
    found = stage.of("workloads.kueue.x-k8s.io")
    return next((one for one in found if one["metadata"]["ownerReferences"][0]["name"] == name), {})


def finished(stage: Stage, name: str) -> str:
    return str(look(workload(stage, name), "status.conditions[Finished].reason") or "")


def template(stage: Stage, name: str) -> JsonObject:
    return stage.get("jobs.batch", "default", name)["spec"]["template"]


def failing(name: str) -> JsonObject:
    made = job(name, 1)
    made["spec"] |= {"backoffLimit": 0}
    made["spec"]["template"]["metadata"]["annotations"]["kuelog.io/exit"] = "1"
    return made


async def life(stage: Stage) -> None:
    asked = (await stage.client.create(JOBS, "default", job("patient", 50_000)))["spec"]
    assert asked["suspend"] is True
    await stage.until(lambda: stage.running("patient"))
    given = template(stage, "patient")
    assert given["spec"]["nodeSelector"] == {"zone": "a"}
    assert given["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    assert given["metadata"]["annotations"]["nvidia.com/use-gpuuuid"]
    await stage.until(lambda: any("nodeName" in one["spec"] for one in stage.of("pods")))
    (pod,) = stage.of("pods")
    assert pod["spec"]["nodeName"] == "n1"

    await stage.add(job("urgent", 50_000, urgent=True))
    await stage.until(lambda: stage.running("urgent"))
    await stage.until(lambda: template(stage, "patient") == asked["template"])
    assert look(workload(stage, "patient"), "status.conditions[Evicted].reason") == "Preempted"
    await stage.end_pods("urgent")
    await stage.until(lambda: finished(stage, "urgent") == "Succeeded" and stage.running("patient"))

    await stage.client.delete(JOBS, "default", "patient")
    await stage.until(lambda: not workload(stage, "patient") and not pods_of(stage, "patient"))
    await stage.add(failing("broken"))
    await stage.until(lambda: finished(stage, "broken") == "Failed")

    lost = job("lost", 1)
    lost["metadata"]["labels"][QUEUE] = "nowhere"
    await stage.add(lost)
    told = "LocalQueue nowhere doesn't exist"
    await stage.until(lambda: look(workload(stage, "lost"), "status.conditions[QuotaReserved].message") == told)
    await stage.client.merge(JOBS, "default", "lost", {"metadata": {"labels": {QUEUE: "team"}}})
    await stage.until(lambda: finished(stage, "lost") == "Succeeded")


def pods_of(stage: Stage, name: str) -> list[JsonObject]:
    return [pod for pod in stage.of("pods") if pod["metadata"]["ownerReferences"][0]["name"] == name]


async def test_a_job_waits_runs_makes_room_comes_back_goes_fails_and_finds_its_queue(stage: Stage) -> None:
    stage.serve()
    await asyncio.wait_for(life(stage), 120)


async def test_services_that_come_later_find_what_is_there(stage: Stage) -> None:
    """Objects in a list say less of themselves than those in a watch."""
    for name in ("first", "second"):
        await stage.add(job(name, 5))
    stage.serve()
    await stage.until(lambda: stage.complete("first", "second"))


async def test_a_job_that_runs_stays_in_its_queue_and_its_pods_as_they_are(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("patient", 50_000))
    await stage.until(lambda: stage.running("patient"))
    elsewhere = {"spec": {"template": {"spec": {"nodeSelector": {"zone": "b"}}}}}
    with pytest.raises(ObjectInvalid, match="immutable"):
        await stage.client.merge(JOBS, "default", "patient", elsewhere)
    if stage.cluster.real:  # Where the webhooks are asked.
        with pytest.raises(ObjectInvalid, match="queue-name"):
            await stage.client.merge(JOBS, "default", "patient", {"metadata": {"labels": {QUEUE: "other"}}})


async def test_whoever_lets_a_job_run_or_stops_it_by_hand_is_overruled(stage: Stage) -> None:
    """As under Kueue: who was not let in is suspended again, and who was runs on."""
    stage.serve()
    for name in ("runs", "waits"):
        await stage.add(job(name, 50_000))
        await stage.until(
            lambda name=name: bool(look(workload(stage, name), "status.conditions[QuotaReserved].reason"))
        )
    await stage.until(lambda: stage.running("runs"))
    for name in ("waits", "waits", "runs", "runs"):
        waits = name == "waits"
        before = generation(stage, name)
        await stage.client.merge(JOBS, "default", name, {"spec": {"suspend": not waits}})
        await stage.until(lambda name=name, before=before: generation(stage, name) == before + 2)
        assert stage.get("jobs.batch", "default", name)["spec"]["suspend"] is waits
        await stage.until(lambda name=name, waits=waits: bool(pods_of(stage, name)) is not waits)
    await stage.end_pods("runs")
    await stage.until(lambda: finished(stage, "runs") == "Succeeded" and stage.running("waits"))


async def test_a_job_that_is_not_understood_does_not_run_because_somebody_lets_it(stage: Stage) -> None:
    """Else whoever names a class that is not there would have his pods without quota."""
    stage.serve()
    unclear = job("unclear", 50_000)
    unclear["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "not-there"
    await stage.add(unclear)
    for _ in range(2):
        before = generation(stage, "unclear")
        await stage.client.merge(JOBS, "default", "unclear", {"spec": {"suspend": False}})
        await stage.until(lambda before=before: generation(stage, "unclear") == before + 2)
        assert stage.get("jobs.batch", "default", "unclear")["spec"]["suspend"] is True
    for reason in ("WorkloadPriorityClassNotFound", "Stopped"):
        await stage.until(lambda reason=reason: reason in told_of(stage, "unclear"))
    await stage.add(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "not-there"},
            "value": 1,
        }
    )
    await stage.until(lambda: stage.running("unclear"))


async def test_a_job_that_somebody_lets_run_as_it_is_let_in_runs_with_what_was_chosen_for_it(stage: Stage) -> None:
    """Else its pods would run on any node, and a stop of it by hand would last for ever."""
    stage.serve(*(one for one in SERVICES if one != "applier"))
    await stage.add(job("hasty", 50_000))
    await stage.stored(lambda entries: says(entries, WorkloadAdmitted))
    await stage.client.merge(JOBS, "default", "hasty", {"spec": {"suspend": False}})
    await stage.stored(lambda entries: says(entries, JobUnsuspended))
    stage.serve("applier", replica="late")
    await stage.until(lambda: stage.running("hasty") and bool(template(stage, "hasty")["spec"].get("nodeSelector")))
    assert template(stage, "hasty")["spec"]["nodeSelector"] == {"zone": "a"}
    assert all(one["spec"].get("nodeSelector") == {"zone": "a"} for one in pods_of(stage, "hasty"))
    before = generation(stage, "hasty")
    await stage.client.merge(JOBS, "default", "hasty", {"spec": {"suspend": True}})
    await stage.until(lambda: generation(stage, "hasty") == before + 2 and stage.running("hasty"))


def says(entries: History, kind: type) -> bool | None:
    """Whether an event of a type is on the log; None while it is not."""
    tag = f'"{kind.__struct_config__.tag}"'.encode()
    return any(tag in one.data for stream in entries.values() for one in stream) or None


def told_of(stage: Stage, name: str) -> set[str]:
    """The reasons of the Events about a job."""
    return {one["reason"] for one in stage.of("events") if one["involvedObject"]["name"] == name}


def generation(stage: Stage, name: str) -> int:
    return int(stage.get("jobs.batch", "default", name)["metadata"]["generation"])


async def test_an_index_that_fails_for_good_makes_room_for_who_waits(stage: Stage) -> None:
    await stage.add(plain_node("plain", cpu="8"))
    for document in yaml.safe_load_all(CPUS):
        await stage.add(document)
    stage.serve()
    await stage.add(counted("indexed", 2, completionMode="Indexed", backoffLimitPerIndex=0))
    await stage.until(lambda: stage.get("jobs.batch", "default", "indexed").get("status", {}).get("ready") == 2)
    await stage.add(counted("next", 1))
    await stage.until(lambda: bool(look(workload(stage, "next"), "status.conditions[QuotaReserved].reason")))
    assert not stage.running("next")
    first = pods_of(stage, "indexed")[0]["metadata"]["name"]
    await stage.client.merge(PODS, "default", first, {"status": {"phase": "Failed"}}, subresource="status")
    await stage.until(lambda: stage.running("next"))
    # What was only observed is written in spare time, after the job that it lets in.
    await stage.until(lambda: "reclaimablePods" in workload(stage, "indexed")["status"])
    assert workload(stage, "indexed")["status"]["reclaimablePods"] == [{"name": "main", "count": 1}]
    await stage.end_pods("indexed")
    await stage.until(lambda: finished(stage, "indexed") == "Failed")


CPUS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cpus}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: cpus, namespace: default}
spec: {clusterQueue: cpus}
"""


def counted(name: str, count: int, **spec: Any) -> JsonObject:
    """A job of so many pods at once, each of which wants a CPU."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    meta = {"annotations": {"kuelog.io/run-seconds": "50000"}}
    template = {"metadata": meta, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {QUEUE: "cpus"}},
        "spec": {"parallelism": count, "completions": count, **spec, "template": template},
    }
