"""What a request for a topology means on the levels of one tree.

Rule: docs/rules/topology.md#levels
"""

from collections.abc import Sequence

import msgspec

from events.topology import SliceConstraint, TopologyRequest
from projections.flavors.suitability import asks_for_topology
from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.gates import TopologyGates


class SearchShape(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods are to be placed, bundled how, and within what: everything but what a pod asks of a node."""

    count: int
    """Pods to be placed; those beyond the last whole slice get no place."""
    leaders: int = 0
    """1 if a pod of another pod set of the group is to lie in their midst."""
    level: int
    """The level of which one domain is to hold all, or should if it can."""
    slice_level: int
    slice_size: int
    """Pods of a slice stay within one domain of the slice level; 1 where nothing is said."""
    inner: tuple[int, ...]
    """By level, in bundles of how many pods domains below the slice level are filled; 0 where nothing is said."""
    constraints: tuple[SliceConstraint, ...]
    required: bool
    unconstrained: bool
    least_free: bool
    """Domains with least room come first."""
    by_affinity: bool
    """Domains with nodes that the pods prefer come before all else."""

    @property
    def slices(self) -> int:
        """How many slices are to be placed."""
        return self.count // self.slice_size


class BadRequest(msgspec.Struct, frozen=True):
    """The topology can't answer the request, whatever is free."""

    failure: str


def search_shape(
    tree: TopologyTree, request: TopologyRequest, count: int, leaders: int, gates: TopologyGates
) -> SearchShape | BadRequest:
    """What the request means on this tree, or what is wrong with it."""
    layers = request.slices
    size = layers[0].size if layers else 1
    if size <= 0:
        return BadRequest("slice topology requested, but slice size not provided")
    slices_only = asks_for_slices_only(request)
    unconstrained = bool(request.unconstrained) or not asks_for_topology(request) or slices_only
    label = request.required or request.preferred
    if not label and slices_only:
        label = tree.levels[0]
    elif not label and unconstrained:
        label = tree.levels[-1]
    if not label:
        return BadRequest("topology level not specified")
    level = tree.level_of(label)
    if level is None:
        return BadRequest(f"no requested topology level: {label}")
    slice_label = layers[0].topology if layers else tree.levels[-1]
    slice_level = tree.level_of(slice_label)
    if slice_level is None:
        return BadRequest(f"no requested topology level for slices: {slice_label}")
    if level > slice_level:
        return BadRequest(f"podset slice topology {slice_label} is above the podset topology {label}")
    inner = _inner_sizes(tree, layers, slice_level)
    if isinstance(inner, BadRequest):
        return inner
    return SearchShape(
        count=count,
        leaders=leaders,
        level=level,
        slice_level=slice_level,
        slice_size=size,
        inner=inner,
        constraints=layers,
        required=bool(request.required),
        unconstrained=unconstrained,
        least_free=unconstrained and gates.mixed_profile,
        by_affinity=gates.preferred_affinity,
    )


def asks_for_slices_only(request: TopologyRequest) -> bool:
    """Whether only slices are to stay together, and lie where they will."""
    return bool(request.slices) and not request.required and not request.preferred


def _inner_sizes(
    tree: TopologyTree, layers: Sequence[SliceConstraint], slice_level: int
) -> tuple[int, ...] | BadRequest:
    """The sizes of the layers below the outermost, for every level from below one layer's down to the next one's."""
    sizes = [0] * len(tree.levels)
    above = slice_level
    for outer, layer in zip(layers, layers[1:], strict=False):
        level = tree.level_of(layer.topology)
        if level is None:
            return BadRequest(f"no requested topology level for additional slice layer: {layer.topology}")
        if level <= above:
            return BadRequest(
                f"additional slice layer topology {layer.topology} must be at a lower level than {tree.levels[above]}"
            )
        if layer.size <= 0 or outer.size % layer.size:
            return BadRequest(
                f"additional slice layer size {layer.size} must evenly divide parent layer size {outer.size}"
            )
        sizes[above + 1 : level + 1] = [layer.size] * (level - above)
        above = level
    return tuple(sizes)
