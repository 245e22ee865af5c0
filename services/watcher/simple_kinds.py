"""Kinds of which every object makes one fact, whatever else there is."""

from collections.abc import Callable

from events.catalogue import Fact
from events.json_object import JsonMapping
from services.watcher import cluster_objects as objects
from services.watcher.check_states import admission_check
from services.watcher.nodes import card_quota
from services.watcher.provisioning import provisioning_config

SIMPLE: dict[str, Callable[[JsonMapping], Fact]] = {
    "ClusterQueue": objects.cluster_queue,
    "Cohort": objects.cohort,
    "LocalQueue": objects.local_queue,
    "ResourceFlavor": objects.flavor,
    "Topology": objects.topology,
    "WorkloadPriorityClass": objects.priority_class,
    "PriorityClass": objects.priority_class,
    "Namespace": objects.namespace,
    "AdmissionCheck": admission_check,
    "LimitRange": objects.limit_range,
    "ResourceQuota": card_quota,
    "RuntimeClass": objects.runtime_class,
    "ProvisioningRequestConfig": provisioning_config,
}
