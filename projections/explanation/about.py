"""What an event is about: the objects that it names, as `kind/name` or `kind/namespace/name`."""

from typing import get_args

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    SecondPassFailed,
    TopologyAssigned,
    UnhealthyNodesChanged,
    WorkloadAdmitted,
)
from events.catalogue import AnyEvent
from events.claims import ResourceClaimObserved, ResourceSliceObserved
from events.configuration import ConfigurationObserved
from events.control import ObjectRefused, ObjectRemoved
from events.device import (
    CardQuotaObserved,
    DevicesRegistered,
    NodeLockObserved,
    NodeObserved,
    NodeUsageObserved,
    PodCardsAssigned,
    PodObserved,
)
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.multikueue import (
    ClusterChosen,
    ClustersNamed,
    ClustersNominated,
    EstimatesAsked,
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.pod import PodEndForced
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted, RoomClaimed
from events.provisioning import ProvisioningConfigObserved, ProvisioningOrdered, ProvisioningRequestObserved
from events.quota import ConfigurationFact, LocalQueueObserved
from events.settings import SettingsObserved
from events.slices import WorkloadSliceDropped, WorkloadSliceReplaced, WorkloadSliceSubmitted
from events.upkeep import CheckSettled
from events.variants import MigrationOrdered, VariantSubmitted
from events.workload import CheckReported, WorkloadOwned, WorkloadParked, WorkloadQueued, WorkloadSubmitted

KINDS = {
    "job": "job",
    "workload": "workload",
    "wl": "workload",
    "clusterqueue": "clusterqueue",
    "cq": "clusterqueue",
    "localqueue": "localqueue",
    "queue": "localqueue",
    "lq": "localqueue",
    "cohort": "cohort",
    "resourceflavor": "resourceflavor",
    "flavor": "resourceflavor",
    "rf": "resourceflavor",
    "topology": "topology",
    "topo": "topology",
    "node": "node",
    "card": "card",
    "pod": "pod",
    "namespace": "namespace",
    "ns": "namespace",
    "admissioncheck": "admissioncheck",
    "provisioningrequest": "provisioningrequest",
    "provreq": "provisioningrequest",
    "provisioningrequestconfig": "provisioningrequestconfig",
    "prc": "provisioningrequestconfig",
    "workloadpriorityclass": "workloadpriorityclass",
    "priorityclass": "priorityclass",
    **{one.kind.lower(): one.kind.lower() for one in get_args(ConfigurationFact)},
    "configmap": "configmap",
    "cm": "configmap",
    "settings": "settings",
}
"""Kinds as people write them, and the name under which answers show them."""


def canonical(text: str) -> str:
    """An object as people name it, with its kind as answers show it; `namespace/name` alone is a job."""
    kind, slash, name = text.partition("/")
    known = KINDS.get(kind.lower())
    return f"{known}/{name}" if known is not None and slash and name else f"job/{text}"


def _as_shown(place: str) -> str:
    """An object of the log, `kind/namespace/name`, as answers show it."""
    kind, namespace, name = place.split("/", 2)
    return "/".join(part for part in (kind.lower(), namespace, name) if part)


def objects_of(event: AnyEvent) -> tuple[str, ...]:  # noqa: C901, PLR0911, PLR0915 - one case per kind of event
    """The objects that an event names, the one that it is about first."""
    match event:
        case WorkloadSubmitted():
            space = event.workload.partition("/")[0]
            job = (f"job/{space}/{event.owner.name}",) if event.owner is not None else ()
            return (f"workload/{event.workload}", *job, f"localqueue/{space}/{event.spec.queue}")
        case WorkloadOwned():
            space = event.workload.partition("/")[0]
            return (f"workload/{event.workload}", f"job/{space}/{event.owner.name}")
        case WorkloadSliceSubmitted():
            space = event.workload.partition("/")[0]
            job = (f"job/{space}/{event.owner.name}",) if event.owner is not None else ()
            return (f"workload/{event.workload}", *job, f"workload/{event.replaces}")
        case VariantSubmitted():
            space = event.workload.partition("/")[0]
            job = (f"job/{space}/{event.owner.name}",) if event.owner is not None else ()
            return (f"workload/{event.workload}", *job, f"workload/{event.parent}")
        case MigrationOrdered():
            return (f"workload/{event.workload}", f"workload/{event.by}")
        case WorkloadSliceReplaced() | WorkloadSliceDropped():
            return (f"workload/{event.workload}", f"workload/{event.by}")
        case PreemptionRequested():
            victims = (f"workload/{victim.workload}" for victim in event.victims)
            return (f"workload/{event.workload}", f"clusterqueue/{event.cluster_queue}", *victims)
        case (
            QuotaReserved()
            | AdmissionRefused()
            | TopologyAssigned()
            | SecondPassFailed()
            | WorkloadAdmitted()
            | WorkloadQueued()
            | WorkloadParked()
        ):
            queue = (f"clusterqueue/{event.cluster_queue}",) if event.cluster_queue else ()
            return (f"workload/{event.workload}", *queue)
        case UnhealthyNodesChanged():
            return (f"workload/{event.workload}", *(f"node/{name}" for name in event.nodes))
        case PodEndForced():
            return (f"workload/{event.workload}", f"pod/{event.namespace}/{event.pod}", f"node/{event.node}")
        case PreemptionOrdered():
            return (f"workload/{event.workload}", f"workload/{event.preemptor}")
        case RoomClaimed():
            return (f"workload/{event.preemptor}", f"clusterqueue/{event.cluster_queue}")
        case PreemptionRefused() | PreemptionWasted():
            return (f"workload/{event.preemptor}",)
        case LocalQueueObserved():
            return (_as_shown(event.place), f"clusterqueue/{event.cluster_queue}")
        case ConfigurationObserved():
            return (_as_shown(event.place),)
        case ProvisioningConfigObserved():
            return (f"provisioningrequestconfig/{event.name}",)
        case ProvisioningRequestObserved():
            return (f"provisioningrequest/{event.namespace}/{event.name}", f"workload/{event.workload}")
        case ProvisioningOrdered():
            space = event.workload.partition("/")[0]
            request = f"provisioningrequest/{space}/{event.request}"
            return (f"workload/{event.workload}", f"admissioncheck/{event.check}", request)
        case CardQuotaObserved():
            return (f"resourcequota/{event.namespace}/{event.name}",)
        case ResourceSliceObserved():
            return (f"resourceslice/{event.name}", *((f"node/{event.node}",) if event.node else ()))
        case ResourceClaimObserved():
            pods = (f"pod/{event.namespace}/{one.name}" for one in event.pods)
            return (f"resourceclaim/{event.namespace}/{event.name}", *pods)
        case DeviceConfigObserved() | NodeConfigsObserved():
            return (f"configmap/{event.namespace}/{event.name}",)
        case SettingsObserved():
            return ("settings/kuelog",)
        case NodeObserved():
            return (f"node/{event.name}",)
        case NodeUsageObserved():
            return (f"node/{event.node}",)
        case DevicesRegistered():
            return (f"node/{event.node}", *(f"card/{card.uuid}" for card in event.cards))
        case NodeLockObserved():
            return (f"node/{event.node}", *((f"pod/{event.namespace}/{event.pod}",) if event.pod else ()))
        case PodCardsAssigned():
            return (f"workload/{event.workload}", f"pod/{event.workload.partition('/')[0]}/{event.pod}")
        case PodObserved():
            owner = (f"workload/{event.workload}",) if event.workload else ()
            return (f"pod/{event.namespace}/{event.name}", *owner)
        case CheckReported() | CheckSettled() | RemoteCheckSettled():
            return (f"workload/{event.workload}", f"admissioncheck/{event.check.name}")
        case EstimatesAsked() | ClustersNominated():
            clusters = (f"multikueuecluster/{name}" for name in event.clusters)
            return (f"workload/{event.workload}", f"admissioncheck/{event.check}", *clusters)
        case ClustersNamed():
            return (f"workload/{event.workload}", *(f"multikueuecluster/{name}" for name in event.clusters))
        case RemoteQueuesObserved():
            return (f"multikueuecluster/{event.cluster}",)
        case QuotaAutomationSettled():
            clusters = (f"multikueuecluster/{name}" for name in event.by_cluster)
            return (f"clusterqueue/{event.cluster_queue}", *clusters)
        case QuotaAutomationEnded():
            return (f"clusterqueue/{event.cluster_queue}",)
        case (
            RemoteGateOpened()
            | ClusterChosen()
            | RemoteWorkloadObserved()
            | RemoteWorkloadGone()
            | RemoteJobSynced()
            | RemoteJobRefused()
        ):
            return (f"workload/{event.workload}", f"multikueuecluster/{event.cluster}")
        case ObjectRemoved() | ObjectRefused():
            kind = KINDS.get(event.kind.lower(), event.kind.lower())
            return (f"{kind}/{event.namespace}/{event.name}" if event.namespace else f"{kind}/{event.name}",)
        case _:
            return _by_field(event)


def _by_field(event: AnyEvent) -> tuple[str, ...]:
    """Events that name their objects in fields of the same name."""
    named = (
        ("workload", "workload"),
        ("card", "card"),
        ("node", "node"),
        ("flavor", "resourceflavor"),
        ("tree", "cohort"),
    )
    return tuple(f"{kind}/{value}" for field, kind in named if (value := getattr(event, field, "")))
