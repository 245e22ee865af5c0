"""Which cards lie where the pods of a workload are placed, and what is left of those of an elastic job that has become smaller.

Rule: docs/rules/elastic.md#cards, docs/rules/topology.md#shrunk
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from events.device import PodPlacement
from projections.devices.placement.pod_cards import living_assignments
from projections.devices.placement.slice_cards import first_of, key_of
from projections.topology.domains.tree import HOSTNAME
from projections.topology.placement.node_failures import host_of
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload

_Domain = tuple[str, ...]


def cards_left(world: TopologyState, workload: Workload) -> tuple[PodPlacement, ...] | None:
    """The cards that a slice still holds which has become smaller; None while no pod too many is gone.

    Which pods end is for the job's controller to say: the cards of each are held until it is gone. Of cards that no living pod has
    those stay that lie where pods may still come to.
    """
    if workload.finished or not workload.spec.elastic or workload.devices is None or workload.admission is None:
        return None
    given = workload.devices.placements
    alive = living_assignments(world, workload)
    living = Counter(pod_set for pod_set, _ in alive)
    counts = {one.name: max(one.count, living[one.name]) for one in workload.admission.assignments}
    if len(given) <= sum(counts.values()):
        return None
    living_ones = [one for one in given if key_of(one) in alive]
    others = [one for one in given if key_of(one) not in alive]
    others.sort(key=key_of)
    stay = in_their_places(world, workload, [*living_ones, *others])
    left = first_of([*living_ones, *sorted(others, key=lambda one: key_of(one) not in stay)], counts)
    return left if len(left) < len(given) else None


def in_their_places(
    world: TopologyState, workload: Workload, placements: Iterable[PodPlacement], *, lost: str = ""
) -> set[tuple[str, int]]:
    """The placements, by their keys, that lie where pods are placed by topology: as many in each domain as pods are to lie there, the first ones.

    On a host that is lost none is to lie.
    """
    room: Counter[tuple[str, _Domain]] = Counter()
    levels: dict[str, tuple[str, ...]] = {}
    for one in workload.admission.assignments if workload.admission is not None else ():
        if one.topology is not None:
            levels[one.name] = one.topology.assignment.levels
            for domain in one.topology.assignment.domains:
                if domain.values[-1] != lost:
                    room[one.name, _shortened(levels[one.name], domain.values)] += domain.count
    found: set[tuple[str, int]] = set()
    for one in placements:
        place = one.pod_set, _domain_of(world, levels.get(one.pod_set, ()), one.node)
        if room[place] > 0:
            room[place] -= 1
            found.add(key_of(one))
    return found


def _shortened(levels: Sequence[str], values: _Domain) -> _Domain:
    """A host is known by its name alone, also when it is gone."""
    return values[-1:] if levels[-1:] == (HOSTNAME,) else values


def _domain_of(world: TopologyState, levels: Sequence[str], node: str) -> _Domain:
    if levels[-1:] == (HOSTNAME,):
        return (host_of(world, node),)
    known = world.nodes.get(node)
    return () if known is None else tuple(known.labels.get(level, "") for level in levels)
