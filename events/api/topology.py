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
