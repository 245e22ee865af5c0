"""A small world as a seed draws it: its objects, and what happens to them step by step."""

import random
from collections.abc import Mapping, Sequence

import msgspec

from events.json_object import JsonObject

KUEUE = "kueue.x-k8s.io/v1beta2"
HOST = "kubernetes.io/hostname"
RACK, BLOCK = "example.com/rack", "example.com/block"
FEATURES = (
    "quota",
    "flavors",
    "partial",
    "limits",
    "topology",
    "checks",
    "stops",
    "changes",
    "workloads",
    "trees",
    "shapes",
    "settings",
    "nodes",
    "rules",
    "sets",
    "classes",
    "doors",
    "times",
    "ready",
    "usage",
    "unlike",
    "affinity",
    "begun",
    "leaders",
    "later",
    "jobs",
    "pods",
    "kinds",
    "provisioning",
    "topologies",
    "layers",
    "retention",
    "weights",
    "trainjobs",
    "serving",
    "elastic",
    "gates",
    "claims",
    "rays",
    "metrics",
    "events",
    "positions",
)
"""What worlds may have; those that come last are drawn last, so that a world without them stays as it was."""
WITH_DEFINITIONS = frozenset({"kinds", "trainjobs", "serving", "rays"})
"""Features of worlds for which kinds have to be defined that Kubernetes does not come with."""
NUMBERED = "+"
"""What stands between the name of an elastic Job and the number of its slice."""
EXCLUDED, CARD, SLICE = "example.com/none", "example.com/card", "example.com/slice"
CONFIGURED: JsonObject = {
    "excludeResourcePrefixes": [EXCLUDED],
    "transformations": [
        {"input": CARD, "strategy": "Replace", "outputs": {"example.com/gpu": "2"}},
        {"input": SLICE, "strategy": "Replace", "multiplyBy": CARD, "outputs": {"memory": "1Gi"}},
    ],
}
"""What the configuration says of resources that only worlds with `shapes` have."""


_ACTIVE: JsonObject = {
    "type": "Active",
    "status": "True",
    "reason": "Active",
    "message": "it works",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
"""How an admission check stands that works."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody does."""

    verb: str
    """`create`, `merge`, `status` (a merge of the status), `delete`, `finish`, `check`, which sets the state of an admission check of
    a workload, `move`, by which one that waits goes to another queue, `reclaim`, by which one more of its pods is done, `unready`,
    by which a pod of it fails, `ungate`, by which somebody takes all gates off pods, or `answer` and `lose`, by which an autoscaler says
    something of what it was asked for a workload, and somebody deletes that, or `gate`, by which a preemption gate of one is
    opened or closed."""
    kind: str
    name: str
    namespace: str = ""
    value: JsonObject = {}
    """The object, the merge patch, or the check's name and state."""

    def __str__(self) -> str:
        """As it is printed: what is done to what."""
        return f"{self.verb} {self.kind} {self.name} {msgspec.json.encode(self.value).decode()}"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Objects whose names no other world has, and steps."""

    seed: int
    features: tuple[str, ...]
    objects: tuple[JsonObject, ...]
    steps: tuple[Step, ...]

    @property
    def space(self) -> str:
        """Its namespace, with which the names of all that is cluster-wide begin."""
        return f"w{self.seed}"

    @property
    def takes_time(self) -> bool:
        """Whether something happens of which nothing but time is the cause."""
        return self.takes_s > 0

    @property
    def takes_s(self) -> float:
        """So much longer it may be until time alone has something happen, in seconds."""
        if {"times", "ready", "later"} & set(self.features):
            return 7.0
        return 4.0 if {"provisioning", "retention"} & set(self.features) else 0.0

    def pods_of(self, name: str) -> list[JsonObject]:
        """The pod sets that a workload was made with; none for one that a manager makes of a job."""
        made = (one.value["spec"] for one in self.steps if one.verb == "create" and one.name == name)
        return [one for spec in made for one in spec.get("podSets", ())]

    def changes(self, name: str, field: str) -> bool:
        """Whether somebody changes a field of the spec of a job by hand."""
        job = job_named(name)
        return any(one.name == job and field in one.value.get("spec", {}) for one in self.steps if one.verb == "merge")

    def resizes(self, name: str) -> bool:
        """Whether somebody changes by hand how many pods a job wants."""
        return self.changes(name, "parallelism") or any(
            one.name == job_named(name) for one in self.steps if one.verb == "resize"
        )

    def queue_of(self, door: str) -> str:
        """The ClusterQueue that a local queue leads to."""
        return f"{self.space}-q{door.removesuffix('b')[1:]}"


def insert_step(steps: list[Step], first: int, step: Step, chance: random.Random, near: int = 100) -> int:
    """Put a step sometime after the first ones, and tell where it is."""
    at = chance.randint(min(first, len(steps)), min(first + near, len(steps)))
    steps.insert(at, step)
    return at


def job_named(key: str) -> str:
    """The Job whose slice is called so; of any other workload that itself."""
    return key.partition(NUMBERED)[0]


def drawn(seed: int, features: Sequence[str] = FEATURES, always: Sequence[str] = ()) -> World:
    """The world of a seed; beside quota it has those features for which chance decides, and those that it always has."""
    chance = random.Random(f"{seed}/features")  # noqa: S311 - a world, not a secret
    chosen = tuple(
        one
        for one in FEATURES
        if one in features and (one in always or one == "quota" or chance.random() < _HOW_OFTEN[one])
    )
    return _Draw(seed, chosen).world()


_HOW_OFTEN = {
    "flavors": 0.6,
    "partial": 0.3,
    "limits": 0.2,
    "topology": 0.25,
    "checks": 0.25,
    "stops": 0.25,
    "changes": 0.3,
    "workloads": 0.3,
    "trees": 0.3,
    "shapes": 0.25,
    "settings": 0.25,
    "nodes": 0.5,
    "rules": 0.3,
    "sets": 0.25,
    "classes": 0.25,
    "doors": 0.25,
    "times": 0.0,
    "ready": 0.0,
    "usage": 0.0,
    "unlike": 0.3,
    "affinity": 0.3,
    "begun": 0.25,
    "leaders": 0.3,
    "later": 0.0,
    "jobs": 0.0,
    "pods": 0.0,
    "kinds": 0.0,
    "provisioning": 0.0,
    "topologies": 0.0,
    "layers": 0.0,
    "retention": 0.0,
    "weights": 0.0,
    "trainjobs": 0.0,
    "serving": 0.0,
    "elastic": 0.0,
    "gates": 0.0,
    "claims": 0.0,
    "rays": 0.0,
    "metrics": 0.0,
    "events": 0.0,
    "positions": 0.0,
}
"""How likely a world has it; what takes time or needs a configuration has only who always asks for it."""
STARTS = "example.com/starts"
"""The label of a workload that says when its pods get ready: `at-once`, `second` time, or `never`."""
PODS_READY: JsonObject = {
    "timeout": "6s",
    "recoveryTimeout": "4s",
    "requeuingStrategy": {"backoffBaseSeconds": 3, "backoffLimitCount": 1, "backoffMaxSeconds": 4},
}
"""What the configuration says of pods where worlds have `ready`."""
USAGE: JsonObject = {"usageHalfLifeTime": "1h", "usageSamplingInterval": "1h"}
"""What it says of past usage where worlds have `usage`: it is over before any is sampled, and what was let in counts at once."""
WEIGHTS: JsonObject = {"cpu": 3, "memory": 0, "example.com/gpu": 0.5}
"""How much of each resource counts of it where they have `weights`."""
ELASTIC_GATES = ("ElasticJobsViaWorkloadSlices", "ElasticJobsViaWorkloadSlicesWithTAS")
"""What is on where they have `elastic`."""
RETENTION: JsonObject = {"workloads": {"afterFinished": "2s", "afterDeactivatedByKueue": "2s"}}
"""What it says of objects that are over where worlds have `retention`."""
_MORE_VERBS = {
    "workloads": ["priority", "priority", "reclaim", "reclaim", "other-door"],
    "trees": ["new-cohort", "cohort-quota", "cohort-parent", "no-cohort", "weight", "preemption"],
    "settings": ["namespace", "namespace", "flavor", "flavor", "no-door", "door", "strategy"],
    "nodes": ["node", "node", "node"],
    "rules": ["limits", "limits", "fungibility", "selector", "fewer-flavors", "required-checks", "check-active"],
    "classes": ["class", "class", "other-class", "no-class"],
    "ready": ["unready", "unready"],
}
_PRIORITIES = (0, 0, 0, 10, 20, 100)


def ready_node(name: str, labels: Mapping[str, str], size: Mapping[str, str]) -> JsonObject:
    """A node of that size, of which nothing is taken."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]},
    }


class _Draw:
    def __init__(self, seed: int, features: tuple[str, ...]) -> None:
        self._chance = random.Random(f"{seed}/world")  # noqa: S311 - a world, not a secret
        self._seed, self._features, self._space = seed, features, f"w{seed}"
        self._objects: list[JsonObject] = []
        self._queues: list[str] = []
        self._doors: list[str] = []
        self._levels: tuple[str, ...] = ()
        self._checks: list[str] = []
        self._classes: dict[str, int] = {}

    def world(self) -> World:
        self._objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._space}})
        if "topology" in self._features:
            self._topology()
        groups = self._groups()
        if "shapes" in self._features and self._is(0.4):
            groups[0][0].append("pods")
        cohorts = self._cohorts(groups)
        if "checks" in self._features:
            self._admission_checks()
        for number in range(self._chance.choice((1, 2, 2, 3, 3, 4))):
            self._queue(f"{self._space}-q{number}", groups, cohorts)
        if "limits" in self._features:
            self._limit_range()
        if "shapes" in self._features:
            self._runtime_class()
        self._drawn_later()
        return World(
            seed=self._seed, features=self._features, objects=tuple(self._objects), steps=tuple(self._steps(groups))
        )

    def _drawn_later(self) -> None:
        """What changes nothing of the rest of a world."""
        if "settings" in self._features:
            self._selectors()
        if "doors" in self._features:
            self._more_doors()
        if "classes" in self._features:
            self._priority_classes()
        if "usage" in self._features:
            self._scopes()

    def _is(self, likely: float) -> bool:
        return self._chance.random() < likely

    def _groups(self) -> list[tuple[list[str], list[str]]]:
        """Resources and flavors of each group; all queues of a world have the same."""
        many = "flavors" in self._features
        kinds = (
            [["cpu"], ["cpu"], ["cpu"], ["cpu", "memory"]]
            if not many
            else [["cpu"], ["cpu"], ["cpu", "memory"], ["cpu", "example.com/gpu"]]
        )
        groups = [
            (
                self._chance.choice(kinds),
                [f"{self._space}-f{n}" for n in range(self._chance.choice((1, 2, 2, 3)) if many else 1)],
            )
        ]
        if many and self._is(0.25) and "memory" not in groups[0][0]:
            groups.append((["memory"], [f"{self._space}-m{n}" for n in range(self._chance.choice((1, 2)))]))
        for number, (_, flavors) in enumerate(groups):
            labelled = self._is(0.5)
            for flavor in flavors:
                spec: JsonObject = {}
                if self._levels and number == 0:
                    spec = {"nodeLabels": {"pool": self._space}, "topologyName": f"{self._space}-t"}
                elif many and labelled:
                    spec["nodeLabels"] = {"type": flavor}
                if many and self._is(0.25):
                    spec["nodeTaints"] = [
                        {
                            "key": "spot",
                            "value": "yes",
                            "effect": self._chance.choice(("NoSchedule", "PreferNoSchedule")),
                        }
                    ]
                    if self._is(0.3):
                        spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
                self._add("ResourceFlavor", flavor, spec)
        return groups

    def _cohorts(self, groups: list[tuple[list[str], list[str]]]) -> list[str]:
        count = self._chance.choice((0, 1, 1, 1, 2, 3, 3))
        names = [f"{self._space}-c{number}" for number in range(count)]
        for number, name in enumerate(names):
            parent = names[self._chance.randrange(number)] if number else ""
            if number == 0 and self._is(0.4) and count == 1:
                continue  # It is only named.
            spec: JsonObject = {"parentName": parent} if parent else {}
            if self._is(0.3):
                spec["resourceGroups"] = self._quotas(groups, (0, 1, 2, 4), limits=bool(parent))
            if self._is(0.3):
                spec["fairSharing"] = {"weight": self._chance.choice(("0.5", "1", "2", "3"))}
            self._add("Cohort", name, spec)
        return names

    def _quotas(
        self, groups: list[tuple[list[str], list[str]]], sizes: Sequence[int], *, limits: bool
    ) -> list[JsonObject]:
        return [
            {
                "coveredResources": resources,
                "flavors": [
                    {"name": flavor, "resources": [self._quota(one, sizes, limits=limits) for one in resources]}
                    for flavor in flavors
                ],
            }
            for resources, flavors in groups
        ]

    def _quota(self, resource: str, sizes: Sequence[int], *, limits: bool) -> JsonObject:
        nominal = self._chance.choice(sizes)
        quota: JsonObject = {"name": resource, "nominalQuota": _amount(resource, nominal)}
        if limits and self._is(0.25):
            quota["borrowingLimit"] = _amount(resource, self._chance.choice((0, 1, 2, 4)))
        if limits and self._is(0.25):
            quota["lendingLimit"] = _amount(resource, self._chance.randint(0, nominal))
        return quota

    def _queue(self, name: str, groups: list[tuple[list[str], list[str]]], cohorts: list[str]) -> None:
        cohort = self._chance.choice(cohorts) if cohorts and self._is(0.9) else ""
        spec: JsonObject = {
            "namespaceSelector": {},
            "queueingStrategy": self._chance.choice(("StrictFIFO", "BestEffortFIFO", "BestEffortFIFO")),
            "resourceGroups": self._quotas(groups, (0, 2, 3, 4, 6), limits=bool(cohort)),
            "preemption": self._preemption(),
        }
        if cohort:
            spec["cohortName"] = cohort
        if "flavors" in self._features:
            spec["flavorFungibility"] = self._fungibility()
        if self._is(0.4):
            spec["fairSharing"] = {"weight": self._chance.choice(("0", "0.5", "1", "2", "3"))}
        if self._checks and self._is(0.7):
            spec["admissionChecksStrategy"] = {"admissionChecks": self._strategy(groups)}
        if self._is(0.05):
            spec["namespaceSelector"] = {"matchLabels": {"never": "there"}}
        self._add("ClusterQueue", name, spec)
        self._queues.append(name)
        self._doors.append(f"l{len(self._queues) - 1}")
        self._add("LocalQueue", self._doors[-1], {"clusterQueue": name}, space=self._space)

    def _fungibility(self) -> JsonObject:
        found: JsonObject = {
            "whenCanBorrow": self._chance.choice(("MayStopSearch", "TryNextFlavor")),
            "whenCanPreempt": self._chance.choice(("MayStopSearch", "TryNextFlavor")),
        }
        if self._is(0.5):
            preference = self._chance.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
            found = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": preference}
        return found

    def _strategy(self, groups: list[tuple[list[str], list[str]]]) -> list[JsonObject]:
        found: list[JsonObject] = []
        for one in self._chance.sample(self._checks, self._chance.randint(1, len(self._checks))):
            rule: JsonObject = {"name": one}
            if self._is(0.3):
                rule["onFlavors"] = [self._chance.choice(groups[0][1])]
            found.append(rule)
        return found

    def _preemption(self) -> JsonObject:
        reclaim = self._chance.choice(("Never", "LowerPriority", "Any", "Any"))
        rules: JsonObject = {
            "withinClusterQueue": self._chance.choice(
                ("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")
            ),
            "reclaimWithinCohort": reclaim,
        }
        if reclaim != "Never" and self._is(0.35):
            rules["borrowWithinCohort"] = {"policy": "LowerPriority"}
            if self._is(0.5):
                rules["borrowWithinCohort"]["maxPriorityThreshold"] = self._chance.choice((0, 10, 20))
        return rules

    def _topology(self) -> None:
        self._levels = self._chance.choice(((BLOCK, RACK, HOST), (RACK, HOST), (BLOCK, RACK)))
        self._add("Topology", f"{self._space}-t", {"levels": [{"nodeLabel": one} for one in self._levels]})
        for block in range(self._chance.choice((1, 2))):
            for rack in range(self._chance.choice((1, 2, 2))):
                for host in range(self._chance.choice((1, 2, 2, 3))):
                    name = f"{self._space}-b{block}r{rack}h{host}"
                    labels = {"pool": self._space, BLOCK: f"b{block}", RACK: f"b{block}r{rack}", HOST: name}
                    size = {
                        "cpu": str(self._chance.choice((1, 2, 2, 4))),
                        "memory": "4Gi",
                        "pods": "10",
                        "example.com/gpu": "4",
                    }
                    self._objects.append(ready_node(name, labels, size))

    def _admission_checks(self) -> None:
        for number in range(self._chance.choice((1, 2))):
            self._checks.append(f"{self._space}-k{number}")
            self._add("AdmissionCheck", self._checks[-1], {"controllerName": "example.com/nobody"})
            self._objects[-1]["status"] = {"conditions": [_ACTIVE]}

    def _limit_range(self) -> None:
        size = {"cpu": self._chance.choice(("2", "3"))}
        # An API server sets the defaults that are not given, so all of them are.
        limit: JsonObject = {
            "type": "Container",
            "default": size,
            "defaultRequest": size if self._is(0.5) else {"cpu": "1"},
        }
        if self._is(0.6):
            limit["max"] = size
        self._objects.append(
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "limits", "namespace": self._space},
                "spec": {"limits": [limit]},
            }
        )

    def _runtime_class(self) -> None:
        overhead = {"cpu": self._chance.choice(("500m", "1"))}
        self._objects.append(
            {
                "apiVersion": "node.k8s.io/v1",
                "kind": "RuntimeClass",
                "metadata": {"name": f"{self._space}-rc"},
                "handler": "sandbox",
                "overhead": {"podFixed": overhead},
            }
        )

    def _selectors(self) -> None:
        """Some queues take in only who comes from a namespace with a label, which is there at the beginning or comes later."""
        for one in self._objects:
            if one["kind"] == "ClusterQueue" and self._is(0.4):
                one["spec"]["namespaceSelector"] = {"matchLabels": {"team": "a"}}
        if self._is(0.5):
            self._objects[0]["metadata"]["labels"] = {"team": "a"}

    def _more_doors(self) -> None:
        """Some queues have a second local queue."""
        for number, queue in enumerate(self._queues):
            if self._is(0.6):
                self._doors.append(f"l{number}b")
                self._add("LocalQueue", self._doors[-1], {"clusterQueue": queue}, space=self._space)

    def _scopes(self) -> None:
        """Most queues go by what their local queues have used, which count differently."""
        for one in self._objects:
            if one["kind"] == "ClusterQueue" and self._is(0.8):
                one["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
            if one["kind"] == "LocalQueue" and self._is(0.5):
                one["spec"]["fairSharing"] = {"weight": self._chance.choice(("0.5", "2", "3"))}

    def _priority_classes(self) -> None:
        for number, value in enumerate(self._chance.sample((0, 10, 20, 100), 2)):
            name = f"{self._space}-p{number}"
            self._classes[name] = value
            self._objects.append(
                {
                    "apiVersion": KUEUE,
                    "kind": "WorkloadPriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                    "description": "drawn",
                }
            )

    def _add(self, kind: str, name: str, spec: JsonObject, *, space: str = "") -> None:
        meta = {"name": name, **({"namespace": space} if space else {})}
        self._objects.append({"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec})

    # What happens

    def _steps(self, groups: list[tuple[list[str], list[str]]]) -> list[Step]:
        steps: list[Step] = []
        living: list[str] = []
        often = 0.5 if _MORE_VERBS.keys() & self._features else 0.7
        for number in range(self._chance.randint(6, 11)):
            if len(living) < 2 or self._is(often):
                name = f"a{number}"
                living.append(name)
                steps.append(
                    Step(
                        verb="create",
                        kind="Workload",
                        name=name,
                        namespace=self._space,
                        value=self._workload(name, groups),
                    )
                )
            else:
                steps.append(self._other(living, groups))
        if self._checks:
            steps = [one for step in steps for one in (step, *self._answers(step))]
        return steps

    def _answers(self, step: Step) -> list[Step]:
        """What controllers of checks say of a workload after a while."""
        if step.verb != "create" or self._is(0.2):
            return []
        return [
            Step(
                verb="check",
                kind="Workload",
                name=step.name,
                namespace=self._space,
                value={
                    "name": check,
                    "state": self._chance.choice(("Ready", "Ready", "Ready", "Ready", "Retry", "Rejected")),
                },
            )
            for check in self._checks
        ]

    def _other(self, living: list[str], groups: list[tuple[list[str], list[str]]]) -> Step:
        name = self._chance.choice(living)
        verbs = ["finish", "finish", "delete"]
        if "stops" in self._features:
            verbs += ["inactive", "active", "stop", "stop-door"]
        if "changes" in self._features:
            verbs += ["quota", "quota", "cohort"]
        more = [one for feature, which in _MORE_VERBS.items() if feature in self._features for one in which]
        verb = self._chance.choice([*verbs, *more])
        changed = self._changed(verb, name, groups) if verb in more else None
        if changed is not None:
            return changed
        verb = "finish" if verb in more else verb
        match verb:
            case "finish" | "delete":
                living.remove(name)
                return Step(verb=verb, kind="Workload", name=name, namespace=self._space)
            case "inactive" | "active":
                return Step(
                    verb="merge",
                    kind="Workload",
                    name=name,
                    namespace=self._space,
                    value={"spec": {"active": verb == "active"}},
                )
            case "stop":
                policy = self._chance.choice(("None", "Hold", "HoldAndDrain"))
                return Step(
                    verb="merge",
                    kind="ClusterQueue",
                    name=self._chance.choice(self._queues),
                    value={"spec": {"stopPolicy": policy}},
                )
            case "stop-door":
                policy = self._chance.choice(("None", "Hold", "HoldAndDrain"))
                door = self._chance.choice(self._doors)
                return Step(
                    verb="merge",
                    kind="LocalQueue",
                    name=door,
                    namespace=self._space,
                    value={"spec": {"stopPolicy": policy}},
                )
            case "cohort":
                cohort = self._chance.choice((f"{self._space}-c0", f"{self._space}-c9"))
                return Step(
                    verb="merge",
                    kind="ClusterQueue",
                    name=self._chance.choice(self._queues),
                    value={"spec": {"cohortName": cohort}},
                )
            case _:
                queue = self._chance.choice(self._queues)
                quotas = self._quotas(groups, (0, 2, 3, 4, 6), limits=False)
                return Step(verb="merge", kind="ClusterQueue", name=queue, value={"spec": {"resourceGroups": quotas}})

    def _changed(self, verb: str, name: str, groups: list[tuple[list[str], list[str]]]) -> Step | None:
        """What else may change."""
        if verb in _MORE_VERBS["workloads"]:
            return self._workload_changed(verb, name)
        if verb in _MORE_VERBS["trees"]:
            return self._tree_changed(verb, groups)
        if verb in _MORE_VERBS["rules"]:
            return self._rule_changed(verb, groups)
        if verb in _MORE_VERBS["classes"]:
            return self._class_changed(verb, name)
        if verb in _MORE_VERBS["ready"]:
            return Step(verb=verb, kind="Workload", name=name, namespace=self._space)
        return self._setting_changed(verb, groups) if verb in _MORE_VERBS["settings"] else self._node_changed()

    def _rule_changed(self, verb: str, groups: list[tuple[list[str], list[str]]]) -> Step | None:
        queue = self._chance.choice(self._queues)
        match verb:
            case "limits":
                quotas = self._quotas(groups, (0, 2, 3, 4, 6), limits=True)
                return _merge("ClusterQueue", queue, {"spec": {"resourceGroups": quotas}})
            case "fungibility":
                rule = {"preference": None, **self._fungibility()}
                return _merge("ClusterQueue", queue, {"spec": {"flavorFungibility": rule}})
            case "selector":
                labels = self._chance.choice(({"team": "a"}, None))
                return _merge("ClusterQueue", queue, {"spec": {"namespaceSelector": {"matchLabels": labels}}})
            case "fewer-flavors":
                fewer = [
                    (resources, self._chance.sample(of, self._chance.randint(1, len(of)))) for resources, of in groups
                ]
                quotas = self._quotas(fewer, (2, 3, 4, 6), limits=False)
                return _merge("ClusterQueue", queue, {"spec": {"resourceGroups": quotas}})
            case "required-checks" if self._checks:
                wanted = {"admissionChecks": self._strategy(groups)} if self._is(0.7) else None
                return _merge("ClusterQueue", queue, {"spec": {"admissionChecksStrategy": wanted}})
            case "check-active" if self._checks:
                status = self._chance.choice(("True", "False"))
                condition = {**_ACTIVE, "status": status, "reason": "Active" if status == "True" else "Broken"}
                check = self._chance.choice(self._checks)
                return Step(
                    verb="status", kind="AdmissionCheck", name=check, value={"status": {"conditions": [condition]}}
                )
            case _:
                return None

    def _class_changed(self, verb: str, name: str) -> Step:
        one = self._chance.choice(sorted(self._classes))
        match verb:
            case "class":
                self._classes[one] = self._chance.choice((0, 5, 10, 50, 200))
                return _merge("WorkloadPriorityClass", one, {"value": self._classes[one]})
            case "other-class":
                spec = {"priorityClassRef": _reference(one), "priority": self._classes[one]}
                return Step(verb="merge", kind="Workload", name=name, namespace=self._space, value={"spec": spec})
            case _:
                return Step(verb="delete", kind="WorkloadPriorityClass", name=one)

    def _workload_changed(self, verb: str, name: str) -> Step:
        if verb == "reclaim" or (verb == "priority" and self._classes):
            # A number written by hand beside a class counts under Kueue until the class changes: docs/rules/queues.md#class-changes.
            return Step(verb="reclaim", kind="Workload", name=name, namespace=self._space)
        if verb == "other-door":
            spec = {"queueName": self._chance.choice(self._doors)}
            return Step(verb="move", kind="Workload", name=name, namespace=self._space, value={"spec": spec})
        spec = {"priority": self._chance.choice(_PRIORITIES)}
        return Step(verb="merge", kind="Workload", name=name, namespace=self._space, value={"spec": spec})

    def _tree_changed(self, verb: str, groups: list[tuple[list[str], list[str]]]) -> Step | None:
        queue, cohort = self._chance.choice(self._queues), f"{self._space}-c{self._chance.randrange(3)}"
        quotas = {"resourceGroups": self._quotas(groups, (0, 1, 2, 4), limits=False)}
        match verb:
            case "new-cohort":
                value = {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": cohort}, "spec": quotas}
                return Step(verb="create", kind="Cohort", name=cohort, value=value)
            case "cohort-quota":
                return _merge("Cohort", cohort, {"spec": quotas})
            case "cohort-parent":
                parent = self._chance.choice((None, f"{self._space}-c0", f"{self._space}-c9"))
                return _merge("Cohort", cohort, {"spec": {"parentName": parent}}) if parent != cohort else None
            case "no-cohort":
                return Step(verb="delete", kind="Cohort", name=cohort)
            case "weight":
                weight = {"fairSharing": {"weight": self._chance.choice(("0", "0.5", "1", "3"))}}
                return _merge(*self._chance.choice((("Cohort", cohort), ("ClusterQueue", queue))), {"spec": weight})
            case _:
                rules: JsonObject = {"borrowWithinCohort": None, **self._preemption()}
                return _merge("ClusterQueue", queue, {"spec": {"preemption": rules}})

    def _setting_changed(self, verb: str, groups: list[tuple[list[str], list[str]]]) -> Step:
        queue, door = self._chance.choice(self._queues), self._chance.choice(self._doors)
        match verb:
            case "namespace":
                label = self._chance.choice(("a", None))
                return _merge("Namespace", self._space, {"metadata": {"labels": {"team": label}}})
            case "flavor":
                taints = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]
                flavor = self._chance.choice(groups[0][1])
                return _merge("ResourceFlavor", flavor, {"spec": {"nodeTaints": self._chance.choice((taints, None))}})
            case "no-door":
                return Step(verb="delete", kind="LocalQueue", name=door, namespace=self._space)
            case "door":
                spec = {"clusterQueue": f"{self._space}-q{door[1:]}"}
                meta = {"name": door, "namespace": self._space}
                value = {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": spec}
                return Step(verb="create", kind="LocalQueue", name=door, namespace=self._space, value=value)
            case _:
                strategy = self._chance.choice(("StrictFIFO", "BestEffortFIFO"))
                return _merge("ClusterQueue", queue, {"spec": {"queueingStrategy": strategy}})

    def _node_changed(self) -> Step | None:
        nodes = [one["metadata"]["name"] for one in self._objects if one["kind"] == "Node"]
        if not nodes:
            return None
        name = self._chance.choice(nodes)
        match self._chance.choice(("cordon", "uncordon", "gone", "taint", "smaller")):
            case "cordon":
                return _merge("Node", name, {"spec": {"unschedulable": True}})
            case "uncordon":
                return _merge("Node", name, {"spec": {"unschedulable": None}})
            case "gone":
                return Step(verb="delete", kind="Node", name=name)
            case "taint":
                taints = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]
                return _merge("Node", name, {"spec": {"taints": taints}})
            case _:
                return Step(verb="status", kind="Node", name=name, value={"status": {"allocatable": {"cpu": "1"}}})

    def _workload(self, name: str, groups: list[tuple[list[str], list[str]]]) -> JsonObject:
        sets = self._chance.choice((1, 1, 1, 2)) if "flavors" in self._features or self._levels else 1
        partial = "partial" in self._features and self._is(0.5)
        shrinks = 0
        if "sets" in self._features:
            sets = self._chance.choice((2, 2, 3))
            shrinks = self._chance.randrange(sets)
        pods = [
            self._pod_set("main" if not n else f"s{n}", groups, partial=partial and n == shrinks) for n in range(sets)
        ]
        spec: JsonObject = {
            "queueName": self._chance.choice(self._doors),
            "podSets": pods,
            "priority": self._chance.choice(_PRIORITIES),
        }
        meta: JsonObject = {"name": name, "namespace": self._space}
        if self._classes and self._is(0.7):
            one = self._chance.choice(sorted(self._classes))
            spec.update({"priorityClassRef": _reference(one), "priority": self._classes[one]})
        if "times" in self._features and self._is(0.4):
            spec["maximumExecutionTimeSeconds"] = self._chance.choice((1, 2))
        if "ready" in self._features:
            meta["labels"] = {STARTS: self._chance.choice(("at-once", "at-once", "second", "never"))}
        return {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "spec": spec}

    def _pod_set(self, name: str, groups: list[tuple[list[str], list[str]]], *, partial: bool) -> JsonObject:
        count = self._chance.choice((1, 1, 1, 2, 2, 3)) + (2 if partial else 0)
        requests = {
            one: _amount(one, self._chance.choice((1, 1, 2, 3) if count == 1 else (1, 1, 2)))
            for resources, _ in groups
            for one in resources
            if one != "pods" and (one == "cpu" or self._is(0.7))
        }
        if "limits" in self._features and self._is(0.3):
            requests.pop("cpu")
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        gpus = {one: requests[one] for one in requests if one == "example.com/gpu"}
        if gpus:
            container["resources"]["limits"] = gpus
        template: JsonObject = {"restartPolicy": "Never", "containers": [container]}
        if "shapes" in self._features:
            self._shape(template)
        if "flavors" in self._features and self._is(0.2):
            template["nodeSelector"] = {"type": self._chance.choice(groups[0][1])}
        if "flavors" in self._features and self._is(0.3):
            template["tolerations"] = [{"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
        pod_set: JsonObject = {"name": name, "count": count, "template": {"spec": template}}
        if partial:
            pod_set["minCount"] = self._chance.randint(1, count - 1)
        if self._levels and self._is(0.8):
            pod_set["topologyRequest"] = self._topology_request(count)
            if partial and "podSetSliceSize" in pod_set["topologyRequest"]:
                # Kueue 0.17 lets in parts of a slice, without a domain, which its API server refuses for ever.
                pod_set["topologyRequest"]["podSetSliceSize"] = 1
        return pod_set

    def _shape(self, template: JsonObject) -> None:
        if self._is(0.3):
            template["runtimeClassName"] = f"{self._space}-rc"
        if self._is(0.2):
            # The API server asks for it; it writes it on pods by itself, but not on the templates of Workloads.
            template["initContainers"] = [
                {
                    "name": "i",
                    "image": "i",
                    "resources": {"requests": {"cpu": str(self._chance.choice((1, 3)))}},
                    **({"restartPolicy": "Always"} if self._is(0.5) else {}),
                }
            ]
        if self._is(0.2):
            again = {**template["containers"][0], "name": "d"}
            template["containers"].append(again)
        more = [one for one in (EXCLUDED, CARD, SLICE) if self._is(0.15)]
        resources = template["containers"][0]["resources"]
        # Kueue 0.17 adds up what a resource becomes and what is asked of that itself, or forgets one of both, as it happens to look.
        for one, becomes in ((CARD, "example.com/gpu"), (SLICE, "memory")):
            if one in more:
                for part in resources.values():
                    part.pop(becomes, None)
        resources["requests"] = {**resources["requests"], **dict.fromkeys(more, "1")}
        if more:
            resources["limits"] = {**resources.get("limits", {}), **dict.fromkeys(more, "1")}
        if "limits" not in self._features and self._is(0.1):
            resources["limits"] = {**resources.get("limits", {}), "cpu": "3"}
            resources["requests"].pop("cpu", None)

    def _topology_request(self, count: int) -> JsonObject:
        level = self._chance.choice(self._levels)
        match self._chance.choice(("required", "preferred", "unconstrained", "slices")):
            case "required":
                return {"required": level}
            case "preferred":
                return {"preferred": level}
            case "unconstrained":
                return {"unconstrained": True}
            case _:
                size = self._chance.choice([one for one in range(1, count + 1) if count % one == 0])
                below = self._chance.choice(self._levels[self._levels.index(level) :])
                return {"required": level, "podSetSliceRequiredTopology": below, "podSetSliceSize": size}


def _reference(name: str) -> JsonObject:
    return {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}


def _merge(kind: str, name: str, value: JsonObject) -> Step:
    return Step(verb="merge", kind=kind, name=name, value=value)


def _amount(resource: str, size: int) -> str:
    return f"{size}Gi" if resource == "memory" else str(size)
