"""How often the API is asked and written to for a job that has room: what is known is not read again."""

from collections import Counter
from typing import Any

import msgspec

from events.api.labels import RUN_SECONDS
from events.settings import PodsReadyRule, SettingsObserved
from services.runtime.cluster_port import Resource, Writer
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import Stage

QUEUE = (
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cpus"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": 100}]}],
                }
            ],
        },
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "cpus", "namespace": "default"},
        "spec": {"clusterQueue": "cpus"},
    },
)
JOBS = 5
TOLERATIONS = [{"operator": "Exists"}]


class Counting:
    """A writer that counts what it is asked for."""

    def __init__(self, writer: Writer) -> None:
        self.asked: Counter[str] = Counter()
        self.applied: Counter[tuple[str, bytes]] = Counter()
        """How often which status was written, by object."""
        self._writer = writer

    def __getattr__(self, verb: str) -> Any:
        call = getattr(self._writer, verb)

        async def counted(resource: Resource, *words: Any, **options: Any) -> Any:
            self.asked[f"{verb} {resource.plural}"] += 1
            if verb == "apply":
                self.applied[words[1]["metadata"]["name"], msgspec.json.encode(words[1]["status"])] += 1
            return await call(resource, *words, **options)

        return counted


def job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "cpus"}},
        "spec": {
            "template": {
                "metadata": {"annotations": {RUN_SECONDS: str(UNTIL_ENDED_S)}},
                "spec": {"restartPolicy": "Never", "containers": [container], "tolerations": TOLERATIONS},
            }
        },
    }


async def test_neither_a_job_nor_its_workload_is_read_and_each_is_written_only_when_something_is_new(
    embedded_stage: Stage,
) -> None:
    stage = embedded_stage
    writer = stage.ports.writer = Counting(stage.ports.writer)
    stage.serve()
    for one in QUEUE:
        await stage.add(one)
    names = [f"job-{number}" for number in range(JOBS)]
    for name in names:
        await stage.add(job(name))
    await stage.until(lambda: all(stage.running(name) for name in names))
    for name in names:
        await stage.end_pods(name)
    await stage.until(lambda: stage.complete(*names) and len(with_condition(stage, "Finished")) == JOBS)
    assert writer.asked["get workloads"] == 0
    assert writer.asked["create workloads"] == JOBS
    assert writer.asked["get jobs"] == 0, "the watcher beside it has seen each"
    assert writer.asked["merge jobs"] == JOBS
    assert writer.asked["apply workloads"] == 2 * JOBS, "admitted and finished"
    assert writer.asked["merge workloads"] <= JOBS, "the finalizer is taken off in spare time"


def workload(name: str) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": TOLERATIONS,
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "queueName": "cpus",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", **spec}}}],
        },
    }


async def test_a_workload_that_somebody_made_without_a_job_is_not_read_and_nothing_is_written_twice(
    embedded_stage: Stage,
) -> None:
    stage = embedded_stage
    writer = stage.ports.writer = Counting(stage.ports.writer)
    stage.serve()
    for one in (*QUEUE, *(workload(f"own-{number}") for number in range(JOBS))):
        await stage.add(one)
    await stage.until(lambda: len(with_condition(stage, "Admitted")) == JOBS)
    assert writer.asked["get workloads"] == 0
    assert writer.asked["apply workloads"] <= 2 * JOBS, "it may be shown before it is decided about"
    assert set(writer.applied.values()) == {1}


async def test_where_somebody_waits_for_pods_that_they_are_ready_is_one_write_more(embedded_stage: Stage) -> None:
    stage = embedded_stage
    writer = stage.ports.writer = Counting(stage.ports.writer)
    stage.serve(settings=SettingsObserved(pods_ready=PodsReadyRule(timeout=3_600_000)))
    for one in QUEUE:
        await stage.add(one)
    await stage.add(job("job"))
    await stage.until(lambda: bool(with_condition(stage, "PodsReady")))
    await stage.end_pods("job")
    await stage.until(lambda: bool(with_condition(stage, "Finished")))
    assert writer.asked["apply workloads"] == 3, "admitted, ready and finished"
    assert with_condition(stage, "PodsReady"), "it stays"


def with_condition(stage: Stage, kind: str) -> list[dict[str, Any]]:
    return [
        one
        for one in stage.of("workloads.kueue.x-k8s.io")
        for condition in (one.get("status") or {}).get("conditions") or ()
        if (condition["type"], condition["status"]) == (kind, "True")
    ]
