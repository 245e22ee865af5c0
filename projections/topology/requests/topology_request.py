"""What is asked when pods are to be placed in a topology, and what comes of it (docs/rules/topology.md#levels)."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.selector import NodeTerm, PreferredNodeTerm, Toleration
from events.topology import TopologyAssignment, TopologyRequest
from events.workload import PodSetUpdate
from projections.topology.domains.room import LeafRoom


class Breaking(msgspec.Struct, frozen=True, kw_only=True):
    """How many whole cards pods break; of domains that take as many the one with fewest is taken.

    Rule: docs/rules/topology.md#whole-cards
    """

    at_most: Sequence[int]
    """By leaf, if it takes as many of the pods as its cards do."""
    by: Callable[[int, int], int]
    """By leaf and number of pods."""


class LeafLimit(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods a leaf takes at most, whatever else is free there: what no sum of amounts says, such as whole cards."""

    resource: str
    """What it is called where it keeps pods off."""
    pods: Sequence[int]
    """By leaf, in the order of the tree."""
    beside: Sequence[int] | None = None
    """By leaf, how many pods it takes at most where the leader of their group lies there too; None where that is no less."""
    breaking: Breaking | None = None
    """None where pods leave nothing of a card to others."""


class PlacementRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set that is to be placed on the leaves of one flavor."""

    pod_set: str
    flavor: str
    count: int
    requests: Mapping[str, int]
    """What one pod of the template asks for, in units; its place among the pods of a node is added here."""
    topology: TopologyRequest = TopologyRequest()
    """One that does not ask for anything explicitly is placed anywhere: its queue has only flavors with a topology."""
    node_selector: Mapping[str, str] = {}
    node_terms: tuple[NodeTerm, ...] = ()
    preferred_terms: tuple[PreferredNodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    updates: tuple[PodSetUpdate, ...] = ()
    """What checks that are ready add to the pods of this pod set."""
    limit: LeafLimit | None = None
    previous: TopologyAssignment | None = None
    """Where its pods are: those of the workload that it replaces, or its own when a node has failed."""


class FlavorRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A flavor as pods are placed on it: what is free, and the tolerations that it adds to them."""

    room: LeafRoom
    tolerations: tuple[Toleration, ...] = ()


class PodSetPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one pod set: an assignment, or the reason why there is none."""

    pod_set: str
    assignment: TopologyAssignment | None = None
    failure: str = ""
