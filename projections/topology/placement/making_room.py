"""Whom to move or stop so that pods with cards find a domain.

Rule: docs/rules/devices.md#making-room-in-domains
"""

from collections.abc import Sequence

from events.device import PodPlacement
from projections.devices.capacity.fragmentation import Advice, holders_on, room_by, vacate_cards
from projections.devices.placement.gang import Gang, place
from projections.devices.placement.workload_gangs import gangs_of
from projections.topology.placement.workload_cards import ledger_of
from projections.topology.placement.workload_placement import first_failure, place_with_cards
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.pod_set_request import placement_of, request_of
from projections.topology.requests.topology_request import PlacementRequest
from projections.topology.state import TopologyState


def make_room_in_domains(
    world: TopologyState, requests: Sequence[PlacementRequest], gangs: Sequence[Gang]
) -> Advice | None:
    """Whom to move or stop so that pods which ask for cards find domains; None if even the end of everybody would not help."""
    return room_by(world, _Domains(world, requests, gangs))


class _Domains:
    """Domains, and the cards in them."""

    def __init__(self, world: TopologyState, requests: Sequence[PlacementRequest], gangs: Sequence[Gang]) -> None:
        self._world, self._requests, self._gangs = world, requests, gangs

    def holders(self) -> list[str]:
        world, flavors = self._world, {one.flavor for one in self._requests}
        there = {node for room in world.domains.rooms(flavors).values() for node in room.room.tree.leaf_by_node}
        placed = [key for key, held in world.domains.held().items() if any(one.flavor in flavors for one in held)]
        return holders_on(world, there, placed)

    def vacate(self, holder: str) -> None:
        vacate_cards(self._world, holder)
        held = self._world.domains.held_by(holder)
        if held is not None:
            held.vacate()

    def fit(self) -> tuple[PodPlacement, ...] | None:
        return self._placed(self._requests, self._gangs)

    def move(self, holder: str) -> tuple[PodPlacement, ...] | None:
        world, workload = self._world, self._world.workloads.get(holder)
        if workload is None or workload.admission is None:
            return None
        given = {one.name: one for one in workload.admission.assignments}
        requests = [
            request_of(world, workload, pod_set, one.count, one.topology.flavor)
            for pod_set in workload.spec.pod_sets
            if (one := given.get(pod_set.name)) is not None and one.topology is not None
        ]
        names = {one.pod_set for one in requests}
        gangs = gangs_of(world, workload)
        there = [one for one in gangs if one.pod_set.name in names]
        elsewhere = [one for one in gangs if one.pod_set.name not in names]
        if not requests and not elsewhere:
            return None
        placed = self._placed(requests, there)
        if placed is None or not elsewhere:
            return placed
        rest = place(world.cards, world.nodes, elsewhere, world.trail).placements
        world.cards.trial(rest)
        return (*placed, *rest) if rest else None

    def _placed(self, requests: Sequence[PlacementRequest], gangs: Sequence[Gang]) -> tuple[PodPlacement, ...] | None:
        world = self._world
        found = place_with_cards(
            world.domains.rooms({one.flavor for one in requests}),
            requests,
            topology_gates(world.settings),
            ledger_of(world),
            gangs,
        )
        if first_failure(found.pod_sets) is not None:
            return None
        world.cards.trial(found.cards)
        asked = {one.pod_set: one for one in requests}
        world.domains.try_with(
            [placement_of(asked[one.pod_set], one.assignment) for one in found.pod_sets if one.assignment is not None],
            1,
        )
        return found.cards
