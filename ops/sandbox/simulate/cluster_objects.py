"""What stands in the clusters of a history of several: queues, nodes, worker clusters, jobs; all of it data."""

import base64
import random

from events.api.labels import PRIORITY_CLASS, QUEUE_NAME, RUN_SECONDS
from events.json_object import JsonObject
from ops.production.kubernetes.remote import HOME
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from ops.sandbox.simulate.platform import kueue_object, priority_class
from ops.sandbox.simulate.users import CLASSES, NAMESPACE

WORKERS = ("east", "west")
_CHECK = "elsewhere"
_QUEUE = "q"


def worker_objects(chance: random.Random, name: str) -> list[JsonObject]:
    """A node, and a queue that may preempt, by chance."""
    preemption = {"withinClusterQueue": chance.choice(("Never", "LowerPriority"))}
    return [
        *(priority_class(one, value) for one, value in CLASSES.items()),
        plain_node(f"{name}-1", cpu="8"),
        *_queue(chance.choice((2, 3)), {"preemption": preemption}),
    ]


def manager_objects() -> list[JsonObject]:
    """The workers, and a queue whose jobs run in them."""
    kubeconfigs = {name: base64.b64encode(kubeconfig_text(f"http://{name}").encode()).decode() for name in WORKERS}
    secret = {"apiVersion": "v1", "kind": "Secret"}
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "both"}
    return [
        *(priority_class(one, value) for one, value in CLASSES.items()),
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
        *_queue(100, {"admissionChecksStrategy": {"admissionChecks": [{"name": _CHECK}]}}),
    ]


def _queue(cpus: int, more: JsonObject) -> list[JsonObject]:
    flavors = [{"name": "one", "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}], **more}
    return [
        kueue_object("ResourceFlavor", "one", {}),
        kueue_object("ClusterQueue", _QUEUE, spec),
        kueue_object("LocalQueue", _QUEUE, {"clusterQueue": _QUEUE}, NAMESPACE),
    ]


def sent_or_own_job(chance: random.Random, name: str, *, delegated: bool) -> JsonObject:
    """A job that may be sent, or one of the cluster's own; all else by chance."""
    pods = chance.choice((1, 1, 2))
    runs = {RUN_SECONDS: str(chance.choice((2, 10, 30, 90)))}
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"annotations": runs}, "spec": {"restartPolicy": "Never", "containers": containers}}
    sent = {"managedBy": "kueue.x-k8s.io/multikueue"} if delegated else {}
    labels = {QUEUE_NAME: _QUEUE, PRIORITY_CLASS: chance.choice(tuple(CLASSES))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": template, **sent},
    }
