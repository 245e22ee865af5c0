"""Whether all pods of a workload find cards, all or nothing, and where (design §3, device fit)."""

from collections.abc import Mapping, Sequence

import msgspec

from events.device import NodeObserved, PodPlacement
from events.pod_set import PodSet
from events.quota import FlavorObserved
from events.selector import Effect
from projections.card_holdings import CardHoldings
from projections.devices.annotations import NODE_POLICY
from projections.devices.fit import NodeCards, fit_pod, fullness
from projections.devices.requests import pod_card_requests
from projections.flavors.affinity import first_untolerated, satisfies
from projections.trail import Trail

EXCEEDS_CARDS = "ExceedsCardCapacity"
"""No card could hold it even if nothing ran."""
WAITING_FOR_CARDS = "WaitingForDevices"
"""It would fit if others gave cards back."""


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
    """Place all pods on a trial ledger, which is as it was afterwards."""
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


def _place_gang(
    cards: CardHoldings, nodes: Mapping[str, NodeObserved], gang: Gang, placements: list[PodPlacement]
) -> Placed | None:
    requests, init = pod_card_requests(gang.pod_set.shape)
    if all(request is None for request in requests):
        return None
    names = [name for name in sorted(cards.nodes) if name in nodes and suits(nodes[name], gang)]
    annotations = gang.pod_set.shape.device_annotations
    spread = "spread" in annotations.get(NODE_POLICY, "binpack")
    for index in range(gang.count):
        best: tuple[int, str] | None = None
        found: PodPlacement | None = None
        refusals: dict[str, int] = {}
        for name in names:
            on = cards.cards_of(name)
            fit = fit_pod(on, requests, init, annotations)
            if fit.shares is None:
                for code, times in fit.refusals.items():
                    refusals[code] = refusals.get(code, 0) + times
                continue
            score = sum(fullness(card, on.used[card.uuid]) for card in on.cards) * (1 if spread else -1)
            if best is None or (score, name) < best:
                best = (score, name)
                found = PodPlacement(
                    pod_set=gang.pod_set.name, index=index, node=name, containers=fit.shares, init=init
                )
        if found is None:
            return _refusal(cards, nodes, gang, names, index, refusals)
        placements.append(found)
        cards.trial((found,))
    return None


def suits(node: NodeObserved, gang: Gang) -> bool:
    """Whether pods of the gang may go to a node: ready, labels of the flavor, selector, affinity, taints."""
    if not node.ready or node.unschedulable:
        return False
    shape, flavor = gang.pod_set.shape, gang.flavor
    wanted = {**shape.node_selector, **(flavor.node_labels if flavor is not None else {})}
    if any(node.labels.get(key) != value for key, value in wanted.items()):
        return False
    tolerations = (*shape.tolerations, *(flavor.tolerations if flavor is not None else ()))
    taints = tuple(taint for taint in node.taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)
    if first_untolerated(taints, tolerations) is not None:
        return False
    return not shape.node_terms or any(
        all(satisfies(node.labels, requirement) for requirement in term.expressions) for term in shape.node_terms
    )


def _refusal(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    gang: Gang,
    names: Sequence[str],
    placed: int,
    refusals: Mapping[str, int],
) -> Placed:
    requests, init = pod_card_requests(gang.pod_set.shape)
    ever = any(
        fit_pod(_emptied(cards.cards_of(name)), requests, init, gang.pod_set.shape.device_annotations).shares
        is not None
        for name in names
    )
    asked = "; ".join(
        f"{request.count} card(s) with {f'{request.memory} MiB' if request.memory else f'{request.percent} % of the memory'}"
        f" and {request.cores} % of the cores each"
        for request in requests
        if request is not None
    )
    where = f"flavor {gang.flavor.name}" if gang.flavor is not None else "any flavor"
    codes = ", ".join(f"{times} {code}" for code, times in sorted(refusals.items())) or "no node has cards"
    message = (
        f"pod {placed + 1} of {gang.count} of pod set {gang.pod_set.name} finds no cards in {where}: asked {asked}; "
        f"{_largest(cards, names)}; {len(names)} node(s): {codes}"
    )
    return Placed(pod_set=gang.pod_set.name, reason=WAITING_FOR_CARDS if ever else EXCEEDS_CARDS, message=message)


def _emptied(on: NodeCards) -> NodeCards:
    return NodeCards(node=on.node, cards=on.cards, cordoned=frozenset(), used={})


def _largest(cards: CardHoldings, names: Sequence[str]) -> str:
    free = [
        (card.memory - on.used[card.uuid].memory, card.memory)
        for name in names
        for on in (cards.cards_of(name),)
        for card in on.cards
        if card.healthy
    ]
    if not free:
        return "no healthy card"
    return (
        f"largest free piece {max(piece for piece, _ in free)} MiB on one card of {max(whole for _, whole in free)} MiB, "
        f"{sum(piece for piece, _ in free)} MiB free in sum"
    )
