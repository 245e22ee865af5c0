"""Workloads of a world: who holds quota, who is on its way out, and who waits."""

import random
from collections.abc import Collection, Sequence

from events.api.labels import ELASTIC_JOB, WORKLOAD_SLICE_REPLACEMENT_FOR
from events.json_object import JsonObject
from tests.peers.cycles.drawn_queues import CPU, DrawnQueues
from tests.peers.cycles.drawn_topology import DrawnTopology
from tests.peers.cycles.world import ELASTIC, GATED, GIVEN_BACK, LABEL, LINES, PARTIAL, SELECTED, TAINT, ZERO

_NOON_S = 12 * 60 * 60


def seconds_ago(seconds: int) -> str:
    """A moment of the same day; one to come where it is less than none."""
    at = _NOON_S - seconds
    return f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"


class DrawnWorkloads:
    """The workloads of one world."""

    def __init__(
        self,
        chance: random.Random,
        features: Collection[str],
        queues: DrawnQueues,
        topology: DrawnTopology | None = None,
    ) -> None:
        self._chance, self._features, self._queues, self._topology = chance, features, queues, topology
        self._number = 0

    def of(self, local_queues: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """In any order."""
        holders = [self._holder(queue) for queue in local_queues for _ in range(self._chance.choice((0, 1, 2, 2, 3)))]
        found = [one for one in holders if one is not None]
        for queue in self._with_newcomers(local_queues):
            held = [one for one in found if one["spec"]["queueName"] == queue["metadata"]["name"] and _may_grow(one)]
            found.extend(self._waiting(queue, held))
        self._chance.shuffle(found)
        return tuple(found)

    def _with_newcomers(self, queues: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """The queues in which somebody may wait."""
        if self._topology is None or not (self._topology.takes_few or self._topology.fails_alone):
            return queues
        return () if self._topology.fails_alone else queues[:1]

    def _holder(self, queue: JsonObject) -> JsonObject | None:
        """Somebody who holds quota; nobody where his pods find no place any more."""
        chance = self._chance
        found = self._workload(
            "r",
            queue,
            [self._pod_set("main", (1, 1, 2, 3))],
            (0, 0, 1, 2, 3),
            seconds_ago(2000 + 10 * chance.randrange(40)),
        )
        pods = found["spec"]["podSets"][0]
        since = seconds_ago(1000 + 7 * self._number if chance.random() < 0.8 else 400 - self._number)
        reached = ("QuotaReserved", "Admitted") if chance.random() < 0.8 else ("QuotaReserved",)
        assignment = self._assignment(pods, queue["metadata"]["name"])
        if assignment is None:
            return None
        found["status"] = {
            "admission": {"clusterQueue": queue["metadata"]["name"], "podSetAssignments": [assignment]},
            "conditions": [_condition(one, "True", one, since) for one in reached],
        }
        placed = assignment.get("topologyAssignment") if "Admitted" in reached else None
        if placed is not None and self._topology is not None and self._topology.may_fail and chance.random() < 0.4:
            found["status"]["unhealthyNodes"] = [{"name": self._topology.fail(placed)}]
        if GIVEN_BACK in self._features and pods["count"] > 1 and chance.random() < 0.4:
            found["status"]["reclaimablePods"] = [{"name": "main", "count": chance.randrange(1, pods["count"])}]
        if chance.random() < 0.12:
            found["status"]["conditions"].append(_condition("Evicted", "True", "Preempted", seconds_ago(5)))
        if ELASTIC in self._features and chance.random() < 0.5:
            found["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
        return found

    def _assignment(self, pods: JsonObject, cluster_queue: str) -> JsonObject | None:
        """Of a flavor that its queue has no more Kueue 0.17 frees quota, and no place of a topology: none is drawn with one."""
        requests: dict[str, str] = pods["template"]["spec"]["containers"][0]["resources"]["requests"]
        flavors = {
            resource: flavor
            for covered, those in self._queues.groups
            for flavor in [self._chance.choice(those)]
            for resource in covered
            if resource in requests
        }
        usage = {resource: str(int(amount) * pods["count"]) for resource, amount in requests.items()}
        found = {"name": pods["name"], "count": pods["count"], "flavors": flavors, "resourceUsage": usage}
        if self._topology is not None and flavors[CPU] in self._topology.flavors:
            if not {*flavors.values()} <= {*self._queues.flavors_of[cluster_queue]}:
                return None
            found["topologyAssignment"] = self._topology.place(pods, flavors[CPU])
            if found["topologyAssignment"] is None:
                return None
        return found

    def _waiting(self, queue: JsonObject, held: Sequence[JsonObject]) -> list[JsonObject]:
        if self._chance.random() < 0.2:
            return []
        if ELASTIC in self._features and held:
            return [self._next_slice(queue, held[0])]
        several = LINES in self._features
        return [self._newcomer(queue) for _ in range(self._chance.choice((1, 1, 2, 3)) if several else 1)]

    def _next_slice(self, queue: JsonObject, old: JsonObject) -> JsonObject:
        """The larger slice of an elastic job that runs."""
        pods: JsonObject = old["spec"]["podSets"][0]
        larger = {**pods, "count": pods["count"] + self._chance.choice((1, 1, 2, 3))}
        created = max(self._lately(), seconds_ago(1990))  # It comes after the one that it replaces.
        found = self._workload("w", queue, [larger], (old["spec"]["priority"],), created)
        replaced = f"{old['metadata']['namespace']}/{old['metadata']['name']}"
        found["metadata"]["annotations"] = {ELASTIC_JOB: "true", WORKLOAD_SLICE_REPLACEMENT_FOR: replaced}
        return found

    def _newcomer(self, queue: JsonObject) -> JsonObject:
        chance = self._chance
        alone = self._topology is not None and self._topology.takes_few
        many = 1 if alone else chance.choice((1, 1, 1, 2, 2, 3))
        sets = [self._pod_set(f"p{number}", (1, 1, 2, 3, 4)) for number in range(many)]
        if self._topology is not None:
            self._topology.ask(sets)
        if PARTIAL in self._features and chance.random() < 0.6:
            smaller = chance.choice(sets)
            asked = smaller.get("topologyRequest", {})
            if smaller["count"] > 1 and not any("lice" in one or "Group" in one for one in asked):
                smaller["minCount"] = chance.randrange(1, smaller["count"])
        found = self._workload("w", queue, sets, (0, 1, 1, 2, 3), self._lately())
        if GATED in self._features and chance.random() < 0.4:
            found["spec"]["preemptionGates"] = [{"name": "example.com/gate"}]
        if LINES in self._features and chance.random() < 0.3:
            found["status"] = self._came_back()
        return found

    def _lately(self) -> str:
        return seconds_ago(100 + 10 * self._chance.randrange(200))

    def _came_back(self) -> JsonObject:
        """Evicted before, and in line again or not yet."""
        later, since = self._chance.random() < 0.3, seconds_ago(self._chance.choice((300, 600, 900)))
        return {
            "requeueState": {"count": 1, "requeueAt": seconds_ago(-600 if later else 30)},
            "conditions": [
                _condition("QuotaReserved", "False", "Pending", since),
                _condition("Evicted", "True", "PodsReadyTimeout", since),
                _condition(
                    "Requeued", "False" if later else "True", "PodsReadyTimeout" if later else "BackoffFinished", since
                ),
            ],
        }

    def _workload(
        self, letter: str, queue: JsonObject, sets: list[JsonObject], priorities: Sequence[int], created: str
    ) -> JsonObject:
        self._number += 1
        name = f"{letter}{self._number}"
        return {
            "metadata": {
                "name": name,
                "namespace": queue["metadata"]["namespace"],
                "uid": f"u{self._chance.randrange(1000):03}-{name}",
                "creationTimestamp": created,
            },
            "spec": {
                "queueName": queue["metadata"]["name"],
                "priority": self._chance.choice(priorities),
                "podSets": sets,
            },
            "status": {},
        }

    def _pod_set(self, name: str, counts: Sequence[int]) -> JsonObject:
        chance = self._chance
        amounts = (0, 1, 1, 2) if ZERO in self._features else (1, 1, 2)
        requests = {
            resource: str(chance.choice((1, 1, 2) if resource == CPU else amounts))
            for resource in self._queues.resources
            if resource == CPU or chance.random() < 0.8
        }
        spec: JsonObject = {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
            "restartPolicy": "Never",
        }
        if SELECTED in self._features:
            self._select(spec)
        return {"name": name, "count": chance.choice(counts), "template": {"metadata": {}, "spec": spec}}

    def _select(self, spec: JsonObject) -> None:
        """Which nodes its pods want, and which taints they tolerate."""
        flavors = self._queues.flavors
        if self._chance.random() < 0.25:
            spec["nodeSelector"] = {LABEL: self._chance.choice(flavors)}
        elif self._chance.random() < 0.25:
            wanted = {
                "key": LABEL,
                "operator": self._chance.choice(("In", "NotIn")),
                "values": [self._chance.choice(flavors)],
            }
            terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        if self._chance.random() < 0.4:
            spec["tolerations"] = [{"key": TAINT, "operator": "Equal", "value": self._chance.choice(flavors)}]


def _may_grow(workload: JsonObject) -> bool:
    """Whether it is a slice that another may replace."""
    status: JsonObject = workload["status"]
    evicted = any(one["type"] == "Evicted" for one in status["conditions"])
    return bool(workload["metadata"].get("annotations")) and not evicted and "reclaimablePods" not in status


def _condition(kind: str, status: str, reason: str, since: str) -> JsonObject:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": since}
