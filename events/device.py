"""Cards: what nodes and pods show of them, and what the accountant decides about them."""

from enum import StrEnum

from events.card import Card, CardShare
from events.event import Event, Millis, Value
from events.selector import Taint
from events.topology import PodTopology


class NodeObserved(Event, frozen=True, kw_only=True, tag="NodeObserved.v1"):
    """A node, as far as placement cares."""

    name: str
    uid: str = ""
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    not_ready_since: Millis = 0
    """Since when its condition Ready is not True; 0 while it is, and where it has none."""
    unreported: bool = False
    """It has no condition Ready at all: nobody says whether it is."""
    unschedulable: bool = False
    allocatable: dict[str, int] = {}


class NodeUsageObserved(Event, frozen=True, kw_only=True, tag="NodeUsageObserved.v1"):
    """What pods hold of a node that are not placed by topology, in units, with `pods` for how many they are.

    Rule: docs/rules/topology.md#other-pods
    """

    node: str
    requests: dict[str, int] = {}


class DevicesRegistered(Event, frozen=True, kw_only=True, tag="DevicesRegistered.v1"):
    """The cards that a node's device plugins report, with those an operator has cordoned."""

    node: str
    cards: tuple[Card, ...]
    cordoned: tuple[str, ...] = ()
    pair_scores: dict[str, dict[str, int]] = {}
    silent: tuple[str, ...] = ()
    """Vendors whose plugin leaves HAMi's handshake unanswered while the node offers none of their cards."""
    soft_split: bool = False
    """Whether the node splits Ascend cards by software."""
    never_soft_split: bool = False
    """Whether the node says that it does not, whatever HAMi's configuration says of all nodes."""
    link_scores: dict[str, str] = {}
    """By annotation, what MetaX's plugin tells of how so many cards of the node would be linked, and what giving them would break."""


class NodeLockObserved(Event, frozen=True, kw_only=True, tag="NodeLockObserved.v1"):
    """HAMi's lock on a node's cards, by which it binds one pod there after the other; no lock where there is no time."""

    node: str
    since: Millis = 0
    namespace: str = ""
    pod: str = ""
    """For whom it was taken; an older HAMi does not say."""


class PodObserved(Event, frozen=True, kw_only=True, tag="PodObserved.v1"):
    """A pod that holds cards, or may come to, that claims devices or is placed by topology: where it is and what is written on it."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = "Pending"
    workload: str = ""
    """The workload it belongs to; empty when no queue manages it."""
    pod_set: str = ""
    shares: tuple[tuple[CardShare, ...], ...] = ()
    """Per container, init containers first."""
    init: int = 0
    """How many of the containers are init containers."""
    sidecars: tuple[int, ...] = ()
    """Which of the init containers run on beside the others, by their places."""
    init_done: bool = False
    terminating: bool = False
    gone_by: Millis = 0
    """When a terminating pod is to be gone at the latest, its grace period included."""
    assigned: str = ""
    """The node whose cards HAMi has given to the pod, while it is not bound."""
    bind_failed: bool = False
    """HAMi could not bind the pod, and its annotations still hold the cards."""
    gated: bool = False
    """It is held at its scheduling gate until it is assigned its own of the workload's cards."""
    created_at: Millis = 0
    """Creation time of a pod that is gated so; 0 for others."""
    completion_index: int | None = None
    """The completion index of a pod of an Indexed Job that is gated so."""
    topology: PodTopology | None = None
    """Where its workload's pods are placed by topology."""
    cardless: bool = False
    """It neither holds cards nor asks for any: it is told for what it claims, its place in a topology, or among its slice's pods, alone."""
    elastic: bool = False
    """Its job is elastic: it belongs to the slice that holds the quota by now, whichever its annotation names."""
    waits_for_slice: bool = False
    """It is held at its scheduling gate until a slice is admitted that has room for it."""
    forcible: bool = False
    """It is being deleted, and says that it may be ended by force where it hangs."""


class CardQuotaObserved(Event, frozen=True, kw_only=True, tag="CardQuotaObserved.v1"):
    """What a ResourceQuota leaves a namespace of card memory and cores, which HAMi keeps and Kubernetes does not."""

    namespace: str
    name: str
    hard: dict[str, int] = {}
    """By key of the ResourceQuota, `limits.<resource>`; only those of cards."""


class PodPlacement(Value, frozen=True, kw_only=True):
    """Where one pod of a workload is to run, and the cards that its containers get, init containers first."""

    pod_set: str
    index: int
    node: str
    containers: tuple[tuple[CardShare, ...], ...]
    init: int = 0
    """How many of the containers are init containers."""
    sidecars: tuple[int, ...] = ()
    """Which of the init containers run on beside the others, by their places."""
    policy: str = ""
    """HAMi's card policy under which the cards were chosen, where it is not the pod's own; the pod is annotated with it."""


class DevicesReserved(Event, frozen=True, kw_only=True, tag="DevicesReserved.v1"):
    """Cards are set aside for every pod of a workload, all or nothing."""

    workload: str
    reservation: int
    """Sequence of the commit that reserved the quota: which attempt this is for."""
    placements: tuple[PodPlacement, ...]


class DevicesRefused(Event, frozen=True, kw_only=True, tag="DevicesRefused.v1"):
    """No set of cards holds all pods of the workload, although the quota would allow it."""

    workload: str
    reservation: int
    reason: str
    message: str


class PodCardsAssigned(Event, frozen=True, kw_only=True, tag="PodCardsAssigned.v1"):
    """A pod gets the cards of one placement of its workload's reservation, and no others."""

    workload: str
    reservation: int
    pod_set: str
    index: int
    """The placement, by its place in the pod set."""
    pod: str
    uid: str


class DevicesReleased(Event, frozen=True, kw_only=True, tag="DevicesReleased.v1"):
    """The cards of an attempt are free again; `proof` says how that is known."""

    workload: str
    reservation: int
    proof: str


class CardReturned(Event, frozen=True, kw_only=True, tag="CardReturned.v1"):
    """A card that was unhealthy has been healthy for long enough: new pods may have it again."""

    node: str
    card: str
    healthy_since: Millis


class PluginLost(Event, frozen=True, kw_only=True, tag="PluginLost.v1"):
    """A vendor's plugin has been silent for too long: new pods get none of its cards until it answers again."""

    node: str
    vendor: str
    since: Millis


class DriftKind(StrEnum):
    """In what the log, HAMi's annotations and the pods that exist may disagree about a card."""

    UNMANAGED = "Unmanaged"
    """A pod that no queue manages holds it."""
    UNRESERVED = "Unreserved"
    """Pods of a workload hold more of it than the log has reserved for them."""
    OVERFULL = "Overfull"
    """More of it is taken than it has."""
    UNHEALTHY = "Unhealthy"
    """It is out of service while somebody holds it."""
    UNREGISTERED = "Unregistered"
    """Somebody holds it, and no node registers it."""
    NODE_LOST = "NodeLost"
    """Somebody holds it, and its node is gone or not ready."""
    UNWRITTEN = "Unwritten"
    """A pod that asks for cards runs, and HAMi has not written which it got."""
    VACANT = "Vacant"
    """The log has it reserved, and no pod holds it although others of the workload run."""
    STALE = "Stale"
    """HAMi's annotations hold it for a pod that should be gone."""
    REGISTERED_TWICE = "RegisteredTwice"
    """Several nodes register it. It is told of the log, and never recorded on it."""


class DriftDetected(Event, frozen=True, kw_only=True, tag="DriftDetected.v1"):
    """The log and the cluster disagree about a card."""

    node: str
    card: str
    message: str
    kind: DriftKind | None = None
    holder: str = ""
    """The workload, or `pod:namespace/name` for a pod that no queue manages; empty where it is about all of them."""


class DriftResolved(Event, frozen=True, kw_only=True, tag="DriftResolved.v1"):
    """The log and the cluster agree again: the drift of this kind, card and holder (`DriftDetected`) is over."""

    node: str
    card: str
    kind: DriftKind
    holder: str = ""


class AllocationStale(Event, frozen=True, kw_only=True, tag="AllocationStale.v1"):
    """HAMi's annotations hold a card for a pod that is gone."""

    node: str
    pod: str
    cards: tuple[str, ...]
    since: Millis
    message: str = ""


class CapacityShort(Event, frozen=True, kw_only=True, tag="CapacityShort.v1"):
    """The cards of a flavor offer less of a resource than the quotas promise, in the units of the quota."""

    flavor: str
    resource: str
    nominal: int
    offered: int
    message: str


class CapacityCovered(Event, frozen=True, kw_only=True, tag="CapacityCovered.v1"):
    """The cards of a flavor offer again all of a resource that the quotas promise."""

    flavor: str
    resource: str
    nominal: int
    offered: int
