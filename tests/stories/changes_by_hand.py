"""People who change jobs, Workloads and queues at any time, by chance and by a seed, without waiting for what becomes of that.

Rule: docs/simulation.md#changes-by-hand
"""

import random
from typing import Any

import yaml

from events.api.labels import RESOURCE_IN_USE
from events.json_object import JsonObject
from events.json_path import look
from services.applier.queue_status.queue_status_shell import RESOURCES
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.stage.stage import CLUSTER_QUEUES, JOBS, PODS, Stage

LOCAL_QUEUES = RESOURCES["LocalQueue"]
QUEUES = ("a", "b")
_STOPS = ("Hold", "HoldAndDrain", "None", "None", "None")
_SETUP = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
spec: {nodeLabels: {zone: a}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
"""


async def set_up(stage: Stage) -> None:
    """Two queues of a cohort that take from each other, each with two flavors."""
    for document in yaml.safe_load_all(_SETUP):
        await stage.add(document)
    for name, nominal in zip(QUEUES, (3, 2), strict=True):
        await stage.add({**_queue(nominal), "kind": "ClusterQueue", "metadata": {"name": name}})
        meta = {"name": name, "namespace": "default"}
        await stage.add(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": meta,
                "spec": {"clusterQueue": name},
            }
        )


class ChangesByHand:
    """Somebody who makes one change after the other."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance
        self._made = 0
        self.said: list[str] = []
        """What was changed, in order."""

    async def change(self) -> None:
        """Make one change of anything that is there; what the API server refuses is left as it was."""
        kinds = (self._make,) * 6 + (self._change_job,) * 6 + (self._change_queue,) * 3 + (self._change_workload,) * 4
        try:
            await self._chance.choice(kinds)()
        except (ObjectMissing, ObjectConflict, ObjectInvalid) as problem:
            self.said.append(f"refused: {problem}")

    async def open(self) -> None:
        """Let all queues go on."""
        for name in QUEUES:
            await self._merge(CLUSTER_QUEUES, "", name, {"spec": {"stopPolicy": "None"}})
            await self._merge(LOCAL_QUEUES, "default", name, {"spec": {"stopPolicy": "None"}})

    async def _make(self) -> None:
        self._made += 1
        value = _job(self._chance, f"j{self._made}")
        self.said.append(f"create {value['metadata']['name']}")
        await self._stage.add(value)

    async def _change_job(self) -> None:
        name, chance = self._any("jobs.batch"), self._chance
        if not name:
            return
        labels = {"priority-class": chance.choice((None, "urgent")), "queue-name": chance.choice(QUEUES)}
        label, value = chance.choice(list(labels.items()))
        changes: tuple[JsonObject, ...] = (
            {"spec": {"suspend": chance.random() < 0.5}},
            {"spec": {"suspend": chance.random() < 0.5}},
            {"spec": {"parallelism": chance.choice((1, 2))}},
            {"metadata": {"labels": {f"kueue.x-k8s.io/{label}": value}}},
            {"metadata": {"annotations": {"note": str(chance.random())}}},
            {"spec": {"template": {"spec": {"nodeSelector": {"disk": chance.choice((None, "ssd"))}}}}},
        )
        if chance.random() < 0.15:
            await self._delete(JOBS, name)
        elif chance.random() < 0.15 and (pod := self._any("pods")):
            await self._delete(PODS, pod)
        else:
            await self._merge(JOBS, "default", name, chance.choice(changes))

    async def _change_queue(self) -> None:
        name, chance = self._chance.choice(QUEUES), self._chance
        stop = {"spec": {"stopPolicy": chance.choice(_STOPS)}}
        changes = (stop, {"metadata": {"finalizers": None}}, _queue(chance.choice((1, 2, 3, 4))))
        if chance.random() < 0.25:
            await self._merge(LOCAL_QUEUES, "default", name, stop)
        else:
            await self._merge(CLUSTER_QUEUES, "", name, chance.choice(changes))

    async def _change_workload(self) -> None:
        name, chance = self._any("workloads.kueue.x-k8s.io"), self._chance
        if not name:
            return
        if chance.random() < 0.25:
            await self._delete(WORKLOADS, name)
        else:
            changes = ({"metadata": {"finalizers": None}}, {"spec": {"active": chance.random() < 0.6}})
            await self._merge(WORKLOADS, "default", name, chance.choice(changes))

    def _any(self, key: str) -> str:
        names = sorted(one["metadata"]["name"] for one in self._stage.of(key))
        return self._chance.choice(names) if names else ""

    async def _merge(self, resource: Resource, namespace: str, name: str, patch: JsonObject) -> None:
        self.said.append(f"merge {resource.plural} {name} {patch}")
        await self._stage.client.merge(resource, namespace, name, patch)

    async def _delete(self, resource: Resource, name: str) -> None:
        self.said.append(f"delete {resource.plural} {name}")
        await self._stage.client.delete(resource, "default", name)


def amiss(stage: Stage) -> list[str]:
    """What is not as it has to be once nobody changes anything any more."""
    jobs = {one["metadata"]["uid"]: one for one in stage.of("jobs.batch")}
    owned: dict[str, list[JsonObject]] = {uid: [] for uid in jobs}
    found: list[str] = []
    for value in stage.of("workloads.kueue.x-k8s.io"):
        uids = [one["uid"] for one in value["metadata"].get("ownerReferences") or () if one["uid"] in jobs]
        if not uids:
            found.append(f"Workload {value['metadata']['name']} has no job")
        for uid in uids:
            owned[uid].append(value)
    for uid, job in jobs.items():
        name = job["metadata"]["name"]
        if _is(job, "Complete") or _is(job, "Failed"):
            continue
        if len(owned[uid]) != 1:
            found.append(f"job {name} has {len(owned[uid])} Workloads")
        elif _is(owned[uid][0], "Admitted") is bool(job["spec"].get("suspend")):
            found.append(f"job {name} runs without admission, or stands still with one")
    for name in QUEUES:
        held = stage.get("clusterqueues.kueue.x-k8s.io", "", name)["metadata"].get("finalizers") or ()
        if RESOURCE_IN_USE not in held:
            found.append(f"ClusterQueue {name} may be deleted while it is used")
    return found


def _is(value: JsonObject, kind: str) -> bool:
    return look(value, f"status.conditions[{kind}].status") == "True"


def _queue(nominal: int) -> JsonObject:
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": quota}]}
        for name, quota in (("plain", nominal), ("spot", 1))
    ]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "cohortName": "all",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    }
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": spec}


def _job(chance: random.Random, name: str) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": chance.choice(QUEUES)}
    if chance.random() < 0.4:
        labels["kueue.x-k8s.io/priority-class"] = "urgent"
    pods = chance.choice((1, 1, 2))
    fewer = {"kueue.x-k8s.io/job-min-parallelism": "1"} if pods > 1 and chance.random() < 0.3 else {}
    requests = {"cpu": chance.choice(("1", "1", "2"))}
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    lasts = {"kuelog.io/run-seconds": chance.choice(("3", "20", "36000", "36000"))}
    template = {"metadata": {"annotations": lasts}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": fewer},
        "spec": {"suspend": chance.random() < 0.7, "parallelism": pods, "completions": pods, "template": template},
    }
