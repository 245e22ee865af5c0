"""People who change jobs, Workloads and queues at any time, by chance and by a seed, without waiting for what becomes of that.

Rule: docs/simulation.md#changes-by-hand
"""

import random
from contextlib import suppress
from typing import Any

import yaml

from events.json_object import JsonObject
from events.json_path import look
from services.applier.queue_status.queue_status_shell import RESOURCES
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.stage.stage import CLUSTER_QUEUES, JOBS, PODS, Stage
from tests.stage.without_jobs import write_status
from tests.stories.by_hand.made import QUEUES, drawn_objects
from tests.stories.test_checks import ACTIVE, CHECKS

LOCAL_QUEUES = RESOURCES["LocalQueue"]
_STATES = ("Ready", "Ready", "Retry", "Rejected", "Pending")
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
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
"""


async def set_up(stage: Stage) -> None:
    """Two queues of a cohort that take from each other, each with two flavors; the second one asks for a check."""
    for document in yaml.safe_load_all(_SETUP):
        await stage.add(document)
    await stage.client.merge(CHECKS, "", "budget", ACTIVE, subresource="status")
    for name, nominal, checks in zip(QUEUES, (3, 2), ([], [{"name": "budget"}]), strict=True):
        queue = {**_queue(nominal), "kind": "ClusterQueue", "metadata": {"name": name}}
        queue["spec"] |= {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}
        await stage.add(queue)
        await stage.add(_local_queue(name))


def _local_queue(name: str) -> JsonObject:
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": meta,
        "spec": {"clusterQueue": name},
    }


class ChangesByHand:
    """Somebody who makes one change after the other."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance
        self._made = 0
        self.said: list[str] = []
        """What was changed, in order."""

    async def change(self) -> None:
        """Make one change of anything that is there; what the API server refuses is left as it was."""
        jobs, pods, queues, workloads = self._change_job, self._change_pod, self._change_queue, self._change_workload
        kinds = (self._make,) * 6 + (jobs,) * 6 + (pods,) * 2 + (queues,) * 3 + (workloads,) * 4 + (self._say,) * 4
        try:
            await self._chance.choice(kinds)()
        except (ObjectMissing, ObjectConflict, ObjectInvalid) as problem:
            self.said.append(f"refused: {problem}")

    async def open(self) -> None:
        """Let all queues go on, those that are gone made anew."""
        for name in QUEUES:
            if not self._stage.get("localqueues.kueue.x-k8s.io", "default", name):
                await self._stage.add(_local_queue(name))
            await self._merge(CLUSTER_QUEUES, "", name, {"spec": {"stopPolicy": "None"}})
            await self._merge(LOCAL_QUEUES, "default", name, {"spec": {"stopPolicy": "None"}})

    async def let_in(self) -> None:
        """Say to whatever waits for it that the check is ready, for ever."""
        while True:
            await self._stage.until(lambda: any(map(_is_checked, self._workloads())))
            for value in filter(_is_checked, self._workloads()):
                await self._tell(value, "Ready")

    def _workloads(self) -> list[JsonObject]:
        return self._stage.of("workloads.kueue.x-k8s.io")

    async def _say(self) -> None:
        """Have the check say something of anybody who is asked."""
        asked = [one for one in self._workloads() if look(one, "status.admissionChecks")]
        if asked:
            await self._tell(self._chance.choice(asked), self._chance.choice(_STATES))

    async def _tell(self, value: JsonObject, state: str) -> None:
        told = [{**one, "state": state, "message": ""} for one in value["status"]["admissionChecks"]]
        self.said.append(f"check {value['metadata']['name']} {state}")
        with suppress(ObjectConflict, ObjectMissing):
            await write_status(self._stage.client, WORKLOADS, value, {"admissionChecks": told})

    async def _make(self) -> None:
        self._made += 1
        for value in drawn_objects(self._chance, f"j{self._made}"):
            self.said.append(f"create {value['kind']} {value['metadata']['name']}")
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
            {"spec": {"parallelism": chance.choice((1, 2, 3))}},
            {"metadata": {"labels": {f"kueue.x-k8s.io/{label}": value}}},
            {"metadata": {"annotations": {"note": str(chance.random())}}},
            {"spec": {"template": {"spec": {"nodeSelector": {"disk": chance.choice((None, "ssd"))}}}}},
        )
        if chance.random() < 0.15:
            await self._delete(JOBS, name)
        else:
            await self._merge(JOBS, "default", name, chance.choice(changes))

    async def _change_pod(self) -> None:
        name, chance = self._any("pods"), self._chance
        if not name:
            return
        if chance.random() < 0.5:
            await self._delete(PODS, name)
        else:
            changes = ({"metadata": {"finalizers": None}}, {"spec": {"schedulingGates": None}})
            await self._merge(PODS, "default", name, chance.choice(changes))

    async def _change_queue(self) -> None:
        name, chance = self._chance.choice(QUEUES), self._chance
        stop = {"spec": {"stopPolicy": chance.choice(_STOPS)}}
        changes = (stop, {"metadata": {"finalizers": None}}, _queue(chance.choice((1, 2, 3, 4))))
        if chance.random() < 0.25:
            await self._merge(LOCAL_QUEUES, "default", name, stop)
        elif chance.random() < 0.05:
            await self._delete(LOCAL_QUEUES, name)
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


def _is_checked(value: JsonObject) -> bool:
    """Whether it holds quota and waits for its check."""
    states = [one["state"] for one in look(value, "status.admissionChecks") or ()]
    return "Pending" in states and look(value, "status.conditions[QuotaReserved].status") == "True"
