"""Topology: the levels of a data centre by their node labels, the widest first (docs/rules/objects.md#versions)."""

from typing import Annotated

from msgspec import Meta

from events.api.meta import ApiStruct, ObjectMeta


class TopologyLevel(ApiStruct, frozen=True, kw_only=True):
    """One level, such as a rack."""

    node_label: Annotated[str, Meta(min_length=1, max_length=316)]


class TopologySpec(ApiStruct, frozen=True, kw_only=True):
    """A Topology's specification."""

    levels: Annotated[tuple[TopologyLevel, ...], Meta(min_length=1, max_length=16)]


class ApiTopology(ApiStruct, frozen=True, kw_only=True):
    """A Topology."""

    metadata: ObjectMeta
    spec: TopologySpec


class IndividualValues(ApiStruct, frozen=True, kw_only=True):
    """A label value per domain: what all begin and end with, and what lies between."""

    prefix: str | None = None
    suffix: str | None = None
    roots: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100_000)]


class LevelValues(ApiStruct, frozen=True, kw_only=True):
    """The label values of one level: one for all domains, or one for each."""

    universal: str | None = None
    individual: IndividualValues | None = None


class DomainPodCounts(ApiStruct, frozen=True, kw_only=True):
    """How many pods domains take: one number for all of them, or one for each."""

    universal: int | None = None
    individual: tuple[int, ...] | None = None


class TopologyAssignmentSlice(ApiStruct, frozen=True, kw_only=True):
    """Some of the domains of an assignment, a column per level and one for the pods."""

    domain_count: Annotated[int, Meta(ge=1)]
    values_per_level: tuple[LevelValues, ...]
    pod_counts: DomainPodCounts


class ApiTopologyAssignment(ApiStruct, frozen=True, kw_only=True):
    """Where the pods of a pod set lie (`status.admission.podSetAssignments[].topologyAssignment`)."""

    levels: Annotated[tuple[str, ...], Meta(min_length=1, max_length=16)]
    slices: Annotated[tuple[TopologyAssignmentSlice, ...], Meta(max_length=1000)]
