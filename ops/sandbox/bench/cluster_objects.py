"""A generated load as Kubernetes objects: queues, and Workload objects without a job behind them."""

from collections.abc import Iterator

from events.json_object import JsonObject
from events.quantity import from_units
from ops.sandbox.bench.load import RESOURCE, Arrival, GeneratedLoad, queues_of
from services.runtime.cluster_port import NAMESPACES, Resource

_GROUP, _VERSION = "kueue.x-k8s.io", "v1beta2"
API = f"{_GROUP}/{_VERSION}"
SPACE = "kuelog-bench"
FLAVORS = Resource(group=_GROUP, version=_VERSION, plural="resourceflavors", kind="ResourceFlavor", namespaced=False)
CLUSTER_QUEUES = Resource(group=_GROUP, version=_VERSION, plural="clusterqueues", kind="ClusterQueue", namespaced=False)
LOCAL_QUEUES = Resource(group=_GROUP, version=_VERSION, plural="localqueues", kind="LocalQueue")
WORKLOADS = Resource(group=_GROUP, version=_VERSION, plural="workloads", kind="Workload")


def platform_objects(load: GeneratedLoad) -> Iterator[tuple[Resource, JsonObject]]:
    """The namespace, the flavor and all queues, in the order in which they are created."""
    yield NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    flavor = load.flavor
    yield FLAVORS, {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": flavor.name}, "spec": {}}
    for cohort, name, queues in queues_of(load):
        quota: JsonObject = {"name": RESOURCE, "nominalQuota": str(queues.nominal_quota)}
        if queues.borrowing_limit is not None:
            quota["borrowingLimit"] = str(queues.borrowing_limit)
        spec: JsonObject = {
            "cohortName": cohort,
            "namespaceSelector": {},
            "preemption": {
                "withinClusterQueue": str(queues.within_cluster_queue),
                "reclaimWithinCohort": str(queues.reclaim_within_cohort),
            },
            "resourceGroups": [
                {"coveredResources": [RESOURCE], "flavors": [{"name": flavor.name, "resources": [quota]}]}
            ],
        }
        yield CLUSTER_QUEUES, {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
        local_queue = {"name": name, "namespace": SPACE}
        yield (
            LOCAL_QUEUES,
            {"apiVersion": API, "kind": "LocalQueue", "metadata": local_queue, "spec": {"clusterQueue": name}},
        )


def workload_object(arrival: Arrival) -> JsonObject:
    """The Workload object of one arrival."""
    spec = arrival.fact.spec
    (pod_set,) = spec.pod_sets
    (container,) = pod_set.shape.containers
    requests = {name: from_units(name, amount) for name, amount in container.requests.items()}
    pod = {"containers": [{"name": container.name, "resources": {"requests": requests}}], "restartPolicy": "Never"}
    pods: JsonObject = {"name": pod_set.name, "count": pod_set.count, "template": {"spec": pod}}
    return {
        "apiVersion": API,
        "kind": "Workload",
        "metadata": {"name": name_of(arrival), "namespace": SPACE},
        "spec": {
            "queueName": spec.queue,
            "priority": spec.priority,
            "podSets": [pods],
        },
    }


def name_of(arrival: Arrival) -> str:
    """The object's name."""
    return arrival.fact.uid
