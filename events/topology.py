"""Topologies, where pods are to lie in one relative to each other, and where a decision has put them.

Rule: docs/rules/topology.md#explicit-request
"""

from enum import StrEnum
from typing import ClassVar

from events.configuration import ClusterObjectObserved
from events.event import Value


class TopologyObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="TopologyObserved.v1"):
    """A topology stands so in the cluster: the node labels that are its levels, the widest first."""

    kind: ClassVar[str] = "Topology"
    uid: str = ""
    levels: tuple[str, ...]
    terminating: bool = False
    held: bool = False
    """Whether it bears the finalizer `kueue.x-k8s.io/resource-in-use`, so that it stays while something needs it."""


class SliceConstraint(Value, frozen=True, kw_only=True):
    """So many pods in succession stay inside one domain of the level that this node label names."""

    topology: str
    size: int


class TopologyRequest(Value, frozen=True, kw_only=True):
    """Where the pods of a pod set want to lie relative to each other (`spec.podSets[].topologyRequest`)."""

    required: str = ""
    preferred: str = ""
    unconstrained: bool | None = None
    """None where it is not said; a plain False asks for placement without naming a level."""
    pod_set_group: str = ""
    slices: tuple[SliceConstraint, ...] = ()
    """The layers of slices, outermost first; the size is 0 where only the level is given."""
    layered: bool = False
    """The slices stand in the list of layers, which also takes a single one."""
    pod_index_label: str = ""
    """The label in which a pod of this kind of job bears its rank."""
    sub_group_index_label: str = ""
    sub_group_count: int = 0


class TopologyDomain(Value, frozen=True, kw_only=True):
    """One domain, by the values of the assignment's levels, and how many pods of the pod set it takes."""

    values: tuple[str, ...]
    count: int


class TopologyAssignment(Value, frozen=True, kw_only=True):
    """The domains that take the pods of a pod set, in order of their values; levels are node labels, the widest first."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]


class TopologyPlacement(Value, frozen=True, kw_only=True):
    """The pods of a pod set in the domains of a flavor, and what each of them holds of its leaf."""

    flavor: str
    requests: dict[str, int] = {}
    """Of one pod, by its template, in units; its place among the pods of a node comes on top."""
    assignment: TopologyAssignment


class PodTopology(Value, frozen=True, kw_only=True):
    """What a pod shows that is placed by topology.

    Rule: docs/rules/topology.md#ungating
    """

    gated: bool = False
    """It waits at the scheduling gate `kueue.x-k8s.io/topology` until its node selector names its domain."""
    node_selector: dict[str, str] = {}
    indexes: dict[str, int] = {}
    """Its labels that are whole numbers: one of them may be its rank."""
    index_offset: int = 0
    """With which index the pods of its pod set begin (annotation `pod-index-offset`)."""


class DelayedTopology(StrEnum):
    """Whether pods that are placed only after their checks are ready have been (`delayedTopologyRequest`)."""

    PENDING = "Pending"
    READY = "Ready"
