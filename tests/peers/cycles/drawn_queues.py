"""Cohorts and ClusterQueues of a world: which flavors they have, what of them, and whom they may preempt."""

import random
from collections.abc import Collection, Sequence

from events.json_object import JsonObject
from tests.peers.cycles.world import FAILED, NAME, NAMESPACES, PLACED, STOPPED, ZERO

CPU, CARDS = "cpu", "example.com/gpu"
_WEIGHTS = ("1", "2", "0.5")


class DrawnQueues:
    """The queues of one world, drawn in the order in which they are asked for."""

    def __init__(self, chance: random.Random, features: Collection[str]) -> None:
        self._chance, self._features = chance, features
        self.groups = self._groups()
        """By resources that are covered together, the flavors that there are of them: no flavor is of two groups."""
        self.flavors_of: dict[str, list[str]] = {}
        """By ClusterQueue, the flavors of which it has quota."""
        self._cohort_names = [f"c{number}" for number in range(chance.choice((1, 1, 2, 3, 4)))]

    @property
    def resources(self) -> list[str]:
        return [resource for covered, _ in self.groups for resource in covered]

    @property
    def flavors(self) -> list[str]:
        return [flavor for _, flavors in self.groups for flavor in flavors]

    def _groups(self) -> list[tuple[list[str], list[str]]]:
        flavors = ["x", "y", "z"][: self._chance.choice((1, 2, 2, 2, 3))]
        if self._chance.random() < 0.5:
            return [([CPU], flavors)]
        # Whose pods are placed by topology has all that they ask for of one flavor, and Kueue relies on it for who is placed again.
        if self._chance.random() < 0.6 or FAILED in self._features:
            return [([CPU, CARDS], flavors)]
        return [([CPU], flavors), ([CARDS], ["v", "w"][: self._chance.choice((1, 2))])]

    def cohorts(self) -> tuple[JsonObject, ...]:
        """Each but the first below one before it."""
        return tuple(
            self._cohort(name, self._chance.choice(self._cohort_names[:number]) if number else "")
            for number, name in enumerate(self._cohort_names)
        )

    def cluster_queues(self) -> tuple[JsonObject, ...]:
        return tuple(self._cluster_queue(f"q{number}") for number in range(self._chance.choice((2, 3, 3, 4, 5))))

    def _cohort(self, name: str, parent: str) -> JsonObject:
        spec: JsonObject = {"parentName": parent} if parent else {}
        if self._chance.random() < 0.4:
            spec["resourceGroups"] = self._resource_groups(limited=bool(parent), few=True)
        self._weigh(spec)
        return {"metadata": {"name": name}, "spec": spec}

    def _cluster_queue(self, name: str) -> JsonObject:
        chance = self._chance
        cohort = chance.choice(self._cohort_names) if chance.random() < 0.93 else ""
        spec: JsonObject = {
            "namespaceSelector": {},
            "queueingStrategy": chance.choice(("StrictFIFO", "BestEffortFIFO")),
            "resourceGroups": self._resource_groups(limited=bool(cohort), few=False),
            "preemption": self._preemption(),
            "flavorFungibility": self._fungibility(),
        }
        self.flavors_of[name] = [one["name"] for group in spec["resourceGroups"] for one in group["flavors"]]
        if cohort:
            spec["cohortName"] = cohort
        if NAMESPACES in self._features and chance.random() < 0.4:
            spec["namespaceSelector"] = {"matchLabels": {NAME: "bright"}}
        if STOPPED in self._features and chance.random() < 0.3:
            spec["stopPolicy"] = chance.choice(("Hold", "HoldAndDrain"))
        self._weigh(spec)
        return {"metadata": {"name": name}, "spec": spec}

    def _preemption(self) -> JsonObject:
        chance = self._chance
        found: JsonObject = {
            "withinClusterQueue": chance.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
            "reclaimWithinCohort": chance.choice(("Never", "LowerPriority", "Any", "Any")),
        }
        if found["reclaimWithinCohort"] != "Never" and chance.random() < 0.4:
            borrowing: JsonObject = {"policy": "LowerPriority"}
            if chance.random() < 0.6:
                borrowing["maxPriorityThreshold"] = chance.choice((-1, 0, 1, 2))
            found["borrowWithinCohort"] = borrowing
        return found

    def _fungibility(self) -> JsonObject:
        going_on = ("MayStopSearch", "TryNextFlavor")
        found: JsonObject = {one: self._chance.choice(going_on) for one in ("whenCanBorrow", "whenCanPreempt")}
        # By preference Kueue 0.17 takes other flavors (docs/rules/flavors.md#modes), on which then other hosts are free.
        if self._chance.random() < 0.25 and PLACED not in self._features:
            found["preference"] = self._chance.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
        return found

    def _weigh(self, spec: JsonObject) -> None:
        if self._chance.random() < 0.3:
            spec["fairSharing"] = {"weight": self._chance.choice(("0", *_WEIGHTS))}

    def _resource_groups(self, *, limited: bool, few: bool) -> list[JsonObject]:
        return [
            {
                "coveredResources": covered,
                "flavors": [
                    {"name": flavor, "resources": [self._quota(one, limited=limited) for one in covered]}
                    for flavor in self._some(flavors, few=few)
                ],
            }
            for covered, flavors in self.groups
        ]

    def _some(self, flavors: Sequence[str], *, few: bool) -> list[str]:
        """In any order, seldom only one of them."""
        found = list(flavors)
        if self._chance.random() < 0.3:
            self._chance.shuffle(found)
        few_enough = self._chance.random() < (0.4 if few else 0.2)
        return found[:1] if few_enough or FAILED in self._features else found

    def _quota(self, resource: str, *, limited: bool) -> JsonObject:
        chance, none = self._chance, ZERO in self._features
        if FAILED in self._features:
            # Kueue 0.17 looks for quota again when it looks for another host, also on other flavors (docs/rules/topology.md#second-pass).
            return {"name": resource, "nominalQuota": "99"}
        nothing = chance.random() < (0.3 if none else 0.1)
        found: JsonObject = {"name": resource, "nominalQuota": "0" if nothing else str(chance.choice((1, 2, 3, 4, 6)))}
        for limit in ("borrowingLimit", "lendingLimit") if limited else ():
            amount = chance.choice((None, None, 0 if none else None, 1, 2, 4))
            if amount is not None:
                found[limit] = str(amount)
        return found
