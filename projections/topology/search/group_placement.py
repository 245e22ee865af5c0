"""Where the pods of one pod set, or of a leader and its workers, are placed on one flavor.

Rule: docs/rules/topology.md#placement
"""

from collections.abc import Sequence

import msgspec

from projections.topology.domains.room import LeafRoom
from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.level_parameters import BadRequest, SearchShape, search_shape
from projections.topology.requests.node_filters import NodeLabelConflict, node_filters
from projections.topology.requests.topology_request import Breaking, FlavorRoom, LeafLimit, PlacementRequest
from projections.topology.search.balanced import balanced_portions
from projections.topology.search.counts import Demand, LevelCounts, count_domains, count_leaves, demand
from projections.topology.search.distribution import Portion, distribute
from projections.topology.search.failure_text import exclusions, shortage
from projections.topology.search.level_search import FoundDomains, NoDomains, NoFit, as_good, search


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are placed together: what their topology and nodes are is said by the workers for both."""

    workers: PlacementRequest
    leader: PlacementRequest | None = None


class GroupPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group is placed: by leaf, the number of workers and of leaders."""

    workers: dict[int, int]
    leader: dict[int, int]


class Unplaced(msgspec.Struct, frozen=True):
    """The pods find no place; `failure` is Kueue's message."""

    failure: str


def place_group(flavor: FlavorRoom, group: Group, gates: TopologyGates, within: range | None) -> GroupPlaces | Unplaced:
    """Places for all pods of a group, on the leaves of a range where one is given; or why there are none."""
    workers, leader = group.workers, group.leader
    tree = flavor.room.tree
    filters = node_filters(workers, flavor)
    if isinstance(filters, NodeLabelConflict):
        return Unplaced(filters.failure)
    shape = search_shape(tree, workers.topology, workers.count, 0 if leader is None else 1, gates)
    if isinstance(shape, BadRequest):
        return Unplaced(shape.failure)
    asked = demand(filters, workers, leader)
    portions = _leaf_portions(flavor.room, shape, msgspec.structs.replace(asked, within=within), gates)
    if isinstance(portions, Unplaced):
        return portions
    return GroupPlaces(
        workers={portion.domain: portion.pods for portion in portions if portion.pods},
        leader={portion.domain: portion.leaders for portion in portions if portion.leaders},
    )


def _leaf_portions(room: LeafRoom, shape: SearchShape, asked: Demand, gates: TopologyGates) -> list[Portion] | Unplaced:
    tree = room.tree
    leaves = count_leaves(room, shape, asked)
    levels = count_domains(tree, shape, leaves.counts)
    if gates.balanced and not shape.required and not shape.unconstrained:
        balanced = balanced_portions(tree, levels, shape)
        if balanced is not None and _are_all(balanced, shape):
            return balanced
    found = search(tree, levels, shape)
    if isinstance(found, NoDomains):
        return Unplaced(f"no topology domains at level: {tree.levels[found.level]}")
    if isinstance(found, NoFit):
        return Unplaced(shortage(tree, levels, shape, found) + exclusions(tree, leaves, asked))
    portions = _with_fewest_broken(tree, levels, shape, found, asked.limit)
    if not _are_all(portions, shape):
        placed = sum(portion.pods for portion in portions) // shape.slice_size
        return Unplaced(shortage(tree, levels, shape, NoFit(level=found.level, fit=placed)))
    return portions


def _with_fewest_broken(
    tree: TopologyTree,
    levels: Sequence[LevelCounts],
    shape: SearchShape,
    found: FoundDomains,
    limit: LeafLimit | None,
) -> list[Portion]:
    """What each leaf gets in the domain that was found, or in one as good where fewer whole cards are broken.

    Rule: docs/rules/topology.md#whole-cards
    """
    portions = distribute(tree, levels, shape, found)
    if limit is None or limit.breaking is None or len(found.domains) > 1 or found.level == tree.lowest:
        return portions
    best, fewest = portions, _broken(limit.breaking, portions)
    for one in as_good(levels[found.level], found.domains[0], shape):
        if not fewest:
            break
        other = distribute(tree, levels, shape, FoundDomains(level=found.level, domains=[one]))
        broken = _broken(limit.breaking, other)
        if broken < fewest and _are_all(other, shape):
            best, fewest = other, broken
    return best


def _broken(breaking: Breaking, portions: Sequence[Portion]) -> int:
    return sum(breaking.by(one.domain, one.pods) for one in portions)


def _are_all(portions: Sequence[Portion], shape: SearchShape) -> bool:
    """Whether everybody has a place: where counts have promised more than there is, nobody is admitted without."""
    pods, leaders = sum(portion.pods for portion in portions), sum(portion.leaders for portion in portions)
    return (pods, leaders) == (shape.slices * shape.slice_size, shape.leaders)
