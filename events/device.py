"""Cards: what nodes and pods show of them, and what the accountant decides about them."""

from events.card import Card, CardShare
from events.event import Event, Millis, Value
from events.selector import Taint


class NodeObserved(Event, frozen=True, kw_only=True, tag="NodeObserved.v1"):
    """A node, as far as placement cares."""

    name: str
    uid: str = ""
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False
    allocatable: dict[str, int] = {}


class DevicesRegistered(Event, frozen=True, kw_only=True, tag="DevicesRegistered.v1"):
    """The cards that a node's device plugins report, with those an operator has cordoned."""

    node: str
    cards: tuple[Card, ...]
    cordoned: tuple[str, ...] = ()
    pair_scores: dict[str, dict[str, int]] = {}


class PodObserved(Event, frozen=True, kw_only=True, tag="PodObserved.v1"):
    """A pod that holds cards, or may come to: where it is and what HAMi has written on it."""

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
    init_done: bool = False
    terminating: bool = False


class PodPlacement(Value, frozen=True, kw_only=True):
    """Where one pod of a workload is to run, and the cards that its containers get, init containers first."""

    pod_set: str
    index: int
    node: str
    containers: tuple[tuple[CardShare, ...], ...]
    init: int = 0
    """How many of the containers are init containers."""


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


class DevicesReleased(Event, frozen=True, kw_only=True, tag="DevicesReleased.v1"):
    """The cards of an attempt are free again; `proof` says by what it is known."""

    workload: str
    reservation: int
    proof: str


class DriftDetected(Event, frozen=True, kw_only=True, tag="DriftDetected.v1"):
    """The log and the cluster disagree about a card."""

    node: str
    card: str
    message: str


class AllocationStale(Event, frozen=True, kw_only=True, tag="AllocationStale.v1"):
    """HAMi's annotations hold a card for a pod that is gone."""

    node: str
    pod: str
    cards: tuple[str, ...]
    since: Millis
