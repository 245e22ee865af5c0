"""A world of a manager and two worker clusters as a seed draws it: what stands in each, and what happens in them step by step."""

import base64
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from events.api.labels import PRIORITY_CLASS, QUEUE_NAME
from events.json_object import JsonObject
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER
from tests.peers.worlds.drawn import KUEUE, Step, World
from tests.peers.worlds.jobs import OWN_CONTROLLER

CLUSTERS = "clusters"
"""The feature of worlds with other clusters."""
MANAGER, WORKERS = "manager", ("east", "west")
PLACES = (MANAGER, *WORKERS)
ELSEWHERE = Step(verb="elsewhere", kind="", name="")
"""What a place sees of a step in another one."""
HOME = "home"
"""In the place of the namespace in which a manager looks for kubeconfigs."""
_CLASSES = {"low": 0, "high": 100}


class PlacedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody does in each of some places; what is not there is let be."""

    places: tuple[str, ...]
    step: Step

    def __str__(self) -> str:
        """As it is printed."""
        return f"{'+'.join(self.places)}: {self.step}"


class ClustersWorld(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in each of three clusters, and steps."""

    seed: int
    objects: Mapping[str, tuple[JsonObject, ...]]
    steps: tuple[PlacedStep, ...]

    @property
    def space(self) -> str:
        """Its namespace in each cluster, with which the names of all that is cluster-wide begin."""
        return f"w{self.seed}"

    def chance(self, of: str) -> random.Random:
        """What draws one of the things that it gets besides, so that no other one changes."""
        return random.Random(f"{self.seed}/{CLUSTERS}/{of}")  # noqa: S311 - a world, not a secret

    def at(self, place: str) -> World:
        """One of its clusters as a world of its own, in which nothing is done by the steps of others."""
        steps = tuple(one.step if place in one.places else ELSEWHERE for one in self.steps)
        return World(seed=self.seed, features=("quota", "jobs", CLUSTERS), objects=self.objects[place], steps=steps)

    def placed(self, place: str, home: str, kubeconfigs: Mapping[str, str]) -> tuple[JsonObject, ...]:
        """The objects of a place where Secrets with these kubeconfigs, by worker, stand in that namespace."""
        return tuple(with_kubeconfig(one, home, kubeconfigs) for one in self.objects[place])


def with_kubeconfig(value: JsonObject, home: str, kubeconfigs: Mapping[str, str]) -> JsonObject:
    """A Secret that names a worker with the kubeconfig of that; anything else as it is."""
    if value["kind"] != "Secret":
        return value
    return {**value, "metadata": {**value["metadata"], "namespace": home}, "data": _kubeconfig(value, kubeconfigs)}


def placed_step(step: Step, home: str, kubeconfigs: Mapping[str, str]) -> Step:
    """A step to a Secret as it is done there; any other as it is."""
    if step.kind != "Secret":
        return step
    value = step.value
    if step.verb == "create":
        value = with_kubeconfig(value, home, kubeconfigs)
    elif step.verb == "merge":
        value = {"data": _kubeconfig(value, kubeconfigs)}
    return replace(step, namespace=home, value=value)


def _kubeconfig(secret: JsonObject, kubeconfigs: Mapping[str, str]) -> JsonObject:
    worker, _, broken = secret["data"]["kubeconfig"].partition(" ")
    text: str | None = kubeconfigs[worker]
    if broken:
        text = BROKEN[broken](yaml.safe_load(text))
    return {"kubeconfig": None if text is None else base64.b64encode(text.encode()).decode()}


def _with(part: str, **fields: Any) -> Callable[[JsonObject], str]:
    def broken(kubeconfig: JsonObject) -> str:
        (named,) = kubeconfig[f"{part}s"]
        return yaml.safe_dump({**kubeconfig, f"{part}s": [{**named, part: {**named[part], **fields}}]})

    return broken


def _with_another(user: JsonObject) -> Callable[[JsonObject], str]:
    """A kubeconfig with a user whom no context names."""
    return lambda one: yaml.safe_dump({**one, "users": [*one["users"], {"name": "another", "user": user}]})


_EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Never"}
BROKEN: Mapping[str, Callable[[JsonObject], str | None]] = {
    "no key": lambda _: None,
    "nothing": lambda _: "",
    "no text": lambda _: "a: [",
    "a word": lambda _: "word",
    "no context": lambda one: yaml.safe_dump({**one, "current-context": ""}),
    "other context": lambda one: yaml.safe_dump({**one, "current-context": "other"}),
    "token file": _with("user", tokenFile="/x"),
    "password": _with("user", username="a", password="b", token=None),
    "program": _with("user", exec=_EXEC),
    "insecure": _with("cluster", **{"insecure-skip-tls-verify": True}),
    "authority file": _with("cluster", **{"certificate-authority": "/x"}),
    "no server": _with("cluster", server=""),
    "odd server": _with("cluster", server="https://a_b"),
    "out of reach": _with("cluster", server="https://127.0.0.1:1"),
    "program of another": _with_another({"exec": _EXEC}),
    "token file of another": _with_another({"tokenFile": "/x"}),
}
"""By how a kubeconfig is broken, or only looks so, its text made of one that is whole; None where there is none."""


def drawn_clusters(seed: int) -> ClustersWorld:
    """The world of a seed."""
    return _Draw(seed).world()


class _Draw:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"{seed}/{CLUSTERS}")  # noqa: S311 - a world, not a secret
        self._seed, self._space = seed, f"w{seed}"
        self._doors = tuple(f"l{number}" for number in range(self._chance.choice((1, 2, 2))))
        self._jobs: list[str] = []
        self._clusters: list[JsonObject] = []
        self._open = {door: self._chance.choice(WORKERS) for door in self._doors}
        """By local queue, the worker that takes in: of two that do, chance chooses one."""

    def world(self) -> ClustersWorld:
        objects = {MANAGER: self._manager(), **{worker: self._worker(worker) for worker in WORKERS}}
        return ClustersWorld(seed=self._seed, objects=objects, steps=tuple(self._steps()))

    def _is(self, likely: float) -> bool:
        return self._chance.random() < likely

    def _named(self, name: str) -> str:
        return f"{self._space}-{name}"

    def _manager(self) -> tuple[JsonObject, ...]:
        check = self._named("check")
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": self._named("config")}
        told: list[JsonObject] = [*self._common()]
        for worker in WORKERS:
            name = self._named(worker)
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": HOME}}
            told.append({**secret, "data": {"kubeconfig": worker}})
            source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
            self._clusters.append(self._object("MultiKueueCluster", name, {"clusterSource": source}))
        told += self._clusters
        clusters = [self._named(worker) for worker in self._chance.sample(WORKERS, len(WORKERS))]
        told.append(self._object("MultiKueueConfig", self._named("config"), {"clusters": clusters}))
        told.append(
            self._object(
                "AdmissionCheck", check, {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
            )
        )
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": check}]}}
        for number, door in enumerate(self._doors):
            told += self._queue(number, door, self._chance.choice((2, 4, 6, 20)), checks)
        return tuple(told)

    def _worker(self, worker: str) -> tuple[JsonObject, ...]:
        told: list[JsonObject] = [*self._common()]
        for number, door in enumerate(self._doors):
            held = {} if self._open[door] == worker else {"stopPolicy": "Hold"}
            told += self._queue(number, door, self._chance.choice((1, 2, 3, 4, 6)), held)
        return tuple(told)

    def _common(self) -> list[JsonObject]:
        classes = [
            {
                "apiVersion": KUEUE,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": self._named(name)},
                "value": one,
            }
            for name, one in _CLASSES.items()
        ]
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._space}}
        return [namespace, *classes, self._object("ResourceFlavor", self._named("f0"), {})]

    def _queue(self, number: int, door: str, cpus: int, more: JsonObject) -> list[JsonObject]:
        name = self._named(f"q{number}")
        spec: JsonObject = {
            "namespaceSelector": {},
            "queueingStrategy": self._chance.choice(("StrictFIFO", "BestEffortFIFO", "BestEffortFIFO")),
            "preemption": {"withinClusterQueue": self._chance.choice(("Never", "LowerPriority", "LowerPriority"))},
            "resourceGroups": self._quotas(cpus),
            **more,
        }
        return [
            self._object("ClusterQueue", name, spec),
            self._object("LocalQueue", door, {"clusterQueue": name}, space=self._space),
        ]

    def _quotas(self, cpus: int) -> list[JsonObject]:
        flavors = [{"name": self._named("f0"), "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}]
        return [{"coveredResources": ["cpu"], "flavors": flavors}]

    def _object(self, kind: str, name: str, spec: JsonObject, space: str = "") -> JsonObject:
        meta = {"name": name, **({"namespace": space} if space else {})}
        return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}

    def _steps(self) -> list[PlacedStep]:
        steps = [self._sent()]
        verbs = (*_VERBS, *(_LATER if self._is(0.6) else ()), *(_ACCESS if self._is(0.5) else ()))
        for _ in range(self._chance.randint(8, 13)):
            steps += self._more(self._chance.choice(verbs))
        return steps

    def _more(self, verb: str) -> Sequence[PlacedStep]:
        match verb:
            case "send":
                return [self._sent()]
            case "own":
                return [self._own()]
            case "move":
                return self._moved()
            case "quota" | "stop":
                return [self._to_queue(verb)]
            case "config" | "cluster" | "door":
                return [self._to_place(verb)]
            case "secret":
                return self._to_secret()
            case "plain":
                return [self._plain()]
            case _:
                return [self._to_job(verb)]

    def _sent(self) -> PlacedStep:
        name = f"j{len(self._jobs)}"
        self._jobs.append(name)
        return self._made((MANAGER,), name, self._chance.choice(self._doors), sent=True)

    def _own(self) -> PlacedStep:
        """A job of a worker's own."""
        door, name = self._chance.choice(self._doors), f"own{len(self._jobs)}"
        self._jobs.append(name)
        return self._made((self._open[door],), name, door, sent=False)

    def _made(self, places: tuple[str, ...], name: str, door: str, *, sent: bool) -> PlacedStep:
        chance = self._chance
        labels = {QUEUE_NAME: door}
        named = chance.choice(("", "low", "high"))
        if named:
            labels[PRIORITY_CLASS] = self._named(named)
        count = chance.choice((1, 1, 2))
        spec: JsonObject = {
            "parallelism": count,
            "completions": count,
            "suspend": chance.random() < 0.7,
            "template": {"spec": {"restartPolicy": "Never", "containers": [self._container()]}},
        }
        if sent and chance.random() < 0.5:
            spec["managedBy"] = MULTIKUEUE_MANAGER if chance.random() < 0.9 else OWN_CONTROLLER
        meta = {"name": name, "namespace": self._space, "labels": labels}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
        return self._step(places, "create", "Job", name, job)

    def _moved(self) -> Sequence[PlacedStep]:
        """A local queue's worker takes nothing in any more, and the other one does."""
        number = self._chance.randrange(len(self._doors))
        door = self._doors[number]
        before = self._open[door]
        self._open[door] = next(one for one in WORKERS if one != before)
        policies = (before, self._chance.choice(("Hold", "HoldAndDrain"))), (self._open[door], "None")
        return [
            self._step((place,), "merge", "ClusterQueue", self._named(f"q{number}"), {"spec": {"stopPolicy": policy}})
            for place, policy in policies
        ]

    def _to_queue(self, verb: str) -> PlacedStep:
        number = self._chance.randrange(len(self._doors))
        if verb == "quota":
            place = self._chance.choice(PLACES)
            spec: JsonObject = {"resourceGroups": self._quotas(self._chance.choice((0, 1, 2, 4, 6)))}
        else:
            place, spec = MANAGER, {"stopPolicy": self._chance.choice(("None", "None", "Hold", "HoldAndDrain"))}
        return self._step((place,), "merge", "ClusterQueue", self._named(f"q{number}"), {"spec": spec})

    def _to_place(self, verb: str) -> PlacedStep:
        """Clusters leave the configuration and come back, as do the objects of clusters, and local queues of workers."""
        chance = self._chance
        worker, gone = chance.choice(WORKERS), chance.random() < 0.5
        if verb == "config":
            clusters = [self._named(one) for one in chance.choice((WORKERS, WORKERS[::-1], WORKERS[:1], WORKERS[1:]))]
            return self._step(
                (MANAGER,), "merge", "MultiKueueConfig", self._named("config"), {"spec": {"clusters": clusters}}
            )
        if verb == "cluster":
            value = next(one for one in self._clusters if one["metadata"]["name"] == self._named(worker))
            place, kind, name = MANAGER, "MultiKueueCluster", self._named(worker)
        else:
            name = chance.choice(self._doors)
            queue = self._named(f"q{self._doors.index(name)}")
            value = self._object("LocalQueue", name, {"clusterQueue": queue}, space=self._space)
            place, kind = worker, "LocalQueue"
        return self._step((place,), "delete" if gone else "create", kind, name, {} if gone else value)

    def _to_secret(self) -> Sequence[PlacedStep]:
        """What gives access to a worker goes, comes back, or is something else."""
        worker, what = self._chance.choice(WORKERS), self._chance.choice(("gone", "back", "back", *BROKEN))
        name = self._named(worker)
        if what == "gone":
            return [self._step((MANAGER,), "delete", "Secret", name)]
        data = {"kubeconfig": worker if what == "back" else f"{worker} {what}"}
        whole = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": HOME}, "data": data}
        changed = self._step((MANAGER,), "merge", "Secret", name, {"data": data})
        return [changed, self._step((MANAGER,), "create", "Secret", name, whole)] if what == "back" else [changed]

    def _plain(self) -> PlacedStep:
        """A Workload of no job."""
        name = f"plain{len(self._jobs)}"
        self._jobs.append(name)
        template = {"spec": {"containers": [self._container()], "restartPolicy": "Never"}}
        pod_sets = [{"name": "main", "count": 1, "template": template}]
        spec = {"queueName": self._chance.choice(self._doors), "priority": 0, "podSets": pod_sets}
        meta = {"name": name, "namespace": self._space}
        value = {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "spec": spec}
        return self._step((MANAGER,), "create", "Workload", name, value)

    def _container(self) -> JsonObject:
        return {"name": "main", "image": "x", "resources": {"requests": {"cpu": str(self._chance.choice((1, 1, 2)))}}}

    def _to_job(self, verb: str) -> PlacedStep:
        name = self._chance.choice(self._jobs)
        kind = "Workload" if name.startswith("plain") else "Job"
        home = WORKERS if name.startswith("own") else (MANAGER,)
        match verb:
            case "finish":
                return self._step(WORKERS, "finish", "Job", name, {"fails": self._is(0.3)})
            case "delete":
                return self._step(home, "delete", kind, name)
            case "delete-there":
                return self._step(WORKERS, "delete", "Job", name)
            case "active-there":
                return self._step(WORKERS, "merge", "Job", name, {"spec": {"active": False}})
            case "class":
                labels = {PRIORITY_CLASS: self._named(self._chance.choice(tuple(_CLASSES)))}
                return self._step(home, "merge", "Job", name, {"metadata": {"labels": labels}})
            case _:
                return self._step(home, "merge", kind, name, {"spec": {"active": self._is(0.4)}})

    def _step(
        self, places: tuple[str, ...], verb: str, kind: str, name: str, value: JsonObject | None = None
    ) -> PlacedStep:
        spaced = self._space if kind in ("Job", "Workload", "LocalQueue") else ""
        step = Step(verb=verb, kind=kind, name=name, namespace=spaced, value=value or {})
        return PlacedStep(places=places, step=step)


_VERBS = (
    *("send", "send", "send", "send", "own", "finish", "finish"),
    *("delete", "active", "move", "move", "quota", "quota"),
)
"""What happens in all worlds."""
_LATER = (
    "stop",
    "config",
    "cluster",
    "door",
    "plain",
    "delete-there",
    "active-there",
    "class",
    "class",
)
"""What happens besides in some of them."""
_ACCESS = ("secret",) * 6
"""What happens in half of them."""
