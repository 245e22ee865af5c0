"""What stands in the clusters of a history of several: queues, nodes, worker clusters, jobs; all of it data."""

import base64
import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from events.api.labels import PRIORITY_CLASS, QUEUE_NAME, RUN_SECONDS
from events.event import Millis
from events.json_object import JsonObject
from ops.production.kubernetes.remote import HOME
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from ops.sandbox.simulate.elastic_jobs import elastic
from ops.sandbox.simulate.platform import kueue_object, priority_class
from ops.sandbox.simulate.users import CLASSES, NAMESPACE

WORKERS = ("east", "west")
_CHECK = "elsewhere"
_QUEUE = "q"
_NAMES = (NAMESPACE, "red", "blue")
_SIZES = 0.8
"""How often it is the size of a job that users change, and not its class."""


class QueueDoor(msgspec.Struct, frozen=True):
    """A local queue, which has the same place in all clusters."""

    namespace: str = NAMESPACE
    queue: str = _QUEUE


def doors_of(seed: int, count: int) -> tuple[QueueDoor, ...]:
    """So many local queues in namespaces that the seed chooses: some with one queue, some with several, whose trees may lie apart."""
    chance = random.Random(f"{seed}/doors")  # noqa: S311 - a world, not a secret
    return tuple(QueueDoor(chance.choice(_NAMES), f"{_QUEUE}{number}") for number in range(count))


def doors_apart(count: int) -> tuple[QueueDoor, ...]:
    """So many local queues, each in a namespace of its own, whose tree can move whatever the others do."""
    return tuple(QueueDoor(f"team{number}", f"{_QUEUE}{number}") for number in range(count))


def worker_objects(chance: random.Random, name: str, doors: Sequence[QueueDoor], queues: int) -> list[JsonObject]:
    """A node, and so many queues that may preempt, by chance, to which all doors lead."""
    preemption = {"withinClusterQueue": chance.choice(("Never", "LowerPriority"))}
    quota = chance.choice((2, 3))
    return [
        *_cluster(doors),
        plain_node(f"{name}-1", cpu="8"),
        *(one for number in range(queues) for one in _queue(number, quota, {"preemption": preemption})),
        *_local_queues(doors, queues),
    ]


def manager_objects(doors: Sequence[QueueDoor]) -> list[JsonObject]:
    """The workers, and for each door a queue whose jobs run in them."""
    kubeconfigs = {name: base64.b64encode(kubeconfig_text(f"http://{name}").encode()).decode() for name in WORKERS}
    secret = {"apiVersion": "v1", "kind": "Secret"}
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "both"}
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": _CHECK}]}}
    return [
        *_cluster(doors),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        *(
            {**secret, "metadata": {"name": name, "namespace": HOME}, "data": {"kubeconfig": text}}
            for name, text in kubeconfigs.items()
        ),
        *(
            kueue_object(
                "MultiKueueCluster",
                name,
                {"clusterSource": {"kubeConfig": {"location": name, "locationType": "Secret"}}},
            )
            for name in WORKERS
        ),
        kueue_object("MultiKueueConfig", "both", {"clusters": list(WORKERS)}),
        kueue_object("AdmissionCheck", _CHECK, {**check, "parameters": parameters}),
        *(one for number in range(len(doors)) for one in _queue(number, 100, strategy)),
        *_local_queues(doors, len(doors)),
    ]


def tree_of(number: int) -> str:
    """The tree of a queue of that number."""
    return f"queue/{_QUEUE}{number or ''}"


def _cluster(doors: Sequence[QueueDoor]) -> list[JsonObject]:
    namespaces = sorted({one.namespace for one in doors} - {NAMESPACE})
    return [
        *(priority_class(one, value) for one, value in CLASSES.items()),
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces),
        kueue_object("ResourceFlavor", "one", {}),
    ]


def _queue(number: int, cpus: int, more: JsonObject) -> list[JsonObject]:
    flavors = [{"name": "one", "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}], **more}
    return [kueue_object("ClusterQueue", f"{_QUEUE}{number or ''}", spec)]


def _local_queues(doors: Sequence[QueueDoor], queues: int) -> list[JsonObject]:
    return [
        kueue_object("LocalQueue", one.queue, {"clusterQueue": f"{_QUEUE}{number % queues or ''}"}, one.namespace)
        for number, one in enumerate(doors)
    ]


def sent_or_own_job(chance: random.Random, name: str, door: QueueDoor, *, delegated: bool) -> JsonObject:
    """A job that may be sent, or one of the cluster's own; all else by chance."""
    pods = chance.choice((1, 1, 2))
    runs = {RUN_SECONDS: str(chance.choice((2, 10, 30, 90)))}
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"annotations": runs}, "spec": {"restartPolicy": "Never", "containers": containers}}
    sent = {"managedBy": "kueue.x-k8s.io/multikueue"} if delegated else {}
    labels = {QUEUE_NAME: door.queue, PRIORITY_CLASS: chance.choice(tuple(CLASSES))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": door.namespace, "labels": labels},
        "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": template, **sent},
    }


def changing_job(job: JsonObject) -> JsonObject:
    """An elastic job of one pod at a time that may have two."""
    value = elastic(job)
    return {**value, "spec": {**value["spec"], "parallelism": 1, "completions": 2}}


def changes_of(chance: random.Random, at: Millis) -> Iterator[tuple[Millis, Callable[[JsonObject], JsonObject]]]:
    """When its users want more or fewer pods of such a job, or another class, and what that makes of it."""
    for number in range(chance.randrange(1, 6)):
        at += chance.randrange(500, 10_000)
        size, named = 1 if number % 2 else 2, chance.choice(tuple(CLASSES))
        yield at, _with_size(size) if chance.random() < _SIZES else _with_class(named)


def _with_size(size: int) -> Callable[[JsonObject], JsonObject]:
    return lambda job: {**job, "spec": {**job["spec"], "parallelism": size}}


def _with_class(name: str) -> Callable[[JsonObject], JsonObject]:
    def changed(job: JsonObject) -> JsonObject:
        meta = job["metadata"]
        return {**job, "metadata": {**meta, "labels": {**meta["labels"], PRIORITY_CLASS: name}}}

    return changed
