"""Whether all pods of a workload find cards, all or nothing, and where (design §3, device fit).

Nodes are tried from the best by score; the first that fits is the best that fits. While pods of one shape are placed,
cards only fill up, so a node that does not fit one of them is not looked at again.
"""

import heapq
from collections.abc import Mapping, Sequence

import msgspec

from events.card import CardRequest
from events.device import NodeObserved, PodPlacement
from events.pod_set import PodSet
from events.quota import FlavorObserved
from projections.card_holdings import CardHoldings
from projections.devices.annotations import NODE_POLICY
from projections.devices.digest import may_hold
from projections.devices.fit import Asking, asking, fit_asking
from projections.devices.refusal import refusal
from projections.devices.requests import pod_card_requests
from projections.devices.steering import BINPACK, SPREAD
from projections.devices.suitability import Suitability
from projections.trail import Trail

EXCEEDS_CARDS = "ExceedsCardCapacity"
"""No card could hold it even if nothing ran."""
WAITING_FOR_CARDS = "WaitingForDevices"
"""It would fit if others gave cards back."""

_BEYOND = 1 << 20
"""Makes any percentage of a card count for more than any amount that is named."""

Containers = Sequence[Sequence[CardRequest]]


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """So many pods of a set, to be placed on nodes of one flavor (of any, where there is none)."""

    pod_set: PodSet
    count: int
    flavor: FlavorObserved | None


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Where every pod goes, or for which pod set and why there is no place."""

    placements: tuple[PodPlacement, ...] = ()
    pod_set: str = ""
    reason: str = ""
    message: str = ""


def place(cards: CardHoldings, nodes: Mapping[str, NodeObserved], gangs: Sequence[Gang], trail: Trail) -> Placed:
    """Place all pods on a trial ledger, which is as it was afterwards.

    Pod sets are tried in the workload's order, and if that fails with the largest request first.
    """
    placed = _try(cards, nodes, gangs, trail)
    if placed.placements or len(gangs) == 1:
        return placed
    by_size = sorted(gangs, key=_largest_request, reverse=True)
    again = _try(cards, nodes, by_size, trail)
    if not again.placements:
        return placed
    order = {gang.pod_set.name: place for place, gang in enumerate(gangs)}
    return Placed(placements=tuple(sorted(again.placements, key=lambda each: (order[each.pod_set], each.index))))


def _try(cards: CardHoldings, nodes: Mapping[str, NodeObserved], gangs: Sequence[Gang], trail: Trail) -> Placed:
    mark = trail.mark()
    placements: list[PodPlacement] = []
    try:
        for gang in gangs:
            refused = _place_gang(cards, nodes, gang, placements)
            if refused is not None:
                return refused
        return Placed(placements=tuple(placements))
    finally:
        trail.undo(mark)


def _largest_request(gang: Gang) -> tuple[int, int, int]:
    requests, _ = pod_card_requests(gang.pod_set.shape)
    return max(
        (
            (each.count, each.memory or (each.percent or 0) * _BEYOND, each.cores)
            for asked in requests
            for each in asked
        ),
        default=(0, 0, 0),
    )


def suits(node: NodeObserved, gang: Gang) -> bool:
    """Whether pods of the gang may go to a node: ready, labels of the flavor, selector, affinity, taints."""
    return Suitability(gang.pod_set.shape, gang.flavor).allows(node)


def _place_gang(
    cards: CardHoldings, nodes: Mapping[str, NodeObserved], gang: Gang, placements: list[PodPlacement]
) -> Placed | None:
    shape = gang.pod_set.shape
    requests, init = pod_card_requests(shape)
    if not any(requests):
        return None
    suitable = Suitability(shape, gang.flavor)
    names = [name for name in cards.nodes if name in nodes and suitable.allows(nodes[name])]
    pod = asking(shape.device_annotations, [request for asked in requests for request in asked])
    spread = shape.device_annotations.get(NODE_POLICY, BINPACK) == SPREAD
    line = [
        (found.fullness if spread else -found.fullness, name)
        for name in names
        for found in (cards.digest(name),)
        if may_hold(found, requests)
    ]
    heapq.heapify(line)
    for index in range(gang.count):
        placement = _place_pod(cards, line, gang, index, (requests, init, pod), spread=spread)
        if placement is None:
            ever, message = refusal(cards, sorted(names), requests, init, pod)
            where = f"flavor {gang.flavor.name}" if gang.flavor is not None else "any flavor"
            return Placed(
                pod_set=gang.pod_set.name,
                reason=WAITING_FOR_CARDS if ever else EXCEEDS_CARDS,
                message=f"pod {index + 1} of {gang.count} of pod set {gang.pod_set.name} finds no cards in {where}: "
                + message,
            )
        placements.append(placement)
    return None


def _place_pod(
    cards: CardHoldings,
    line: list[tuple[int, str]],
    gang: Gang,
    index: int,
    asked: tuple[Containers, int, Asking],
    *,
    spread: bool,
) -> PodPlacement | None:
    """Take the best node that fits; its cards are charged, and it goes back into line with its new score."""
    requests, init, pod = asked
    while line:
        _, name = heapq.heappop(line)
        fit = fit_asking(cards.digest(name).on, requests, init, pod)
        if fit.shares is None:
            continue
        placement = PodPlacement(pod_set=gang.pod_set.name, index=index, node=name, containers=fit.shares, init=init)
        cards.trial((placement,))
        after = cards.digest(name).fullness
        heapq.heappush(line, (after if spread else -after, name))
        return placement
    return None
