"""Why a pod finds no cards, node by node and card by card."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from events.card import CardRequest
from projections.devices.card_use import CardState, NodeCards, states_of
from projections.devices.fit.pod_fit import Asking, asking, fit_asking, fit_container, reason_text
from projections.devices.placement.gang import Gang
from projections.devices.placement.suitability import NodeSuitability
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.state import DeviceState
from projections.devices.vendors.vendor import is_card_of


class CardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Why one card can't serve a pod: HAMi's reason codes, none if it could serve any of its containers."""

    card: str
    reasons: tuple[str, ...]


class NodeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a node takes the pod as things are, and the answer of each of its cards."""

    node: str
    fits: bool
    reason: str
    """Why the node does not take it, in HAMi's words or by what Kubernetes would say."""
    cards: tuple[CardAnswer, ...] = ()


def answers(world: DeviceState, gang: Gang) -> list[NodeAnswer]:
    """What every node with cards answers to one pod of the gang, by node name."""
    shape = gang.pod_set.shape
    asked_by = pod_card_requests(shape, gang.config)
    flat = [request for asked in asked_by.containers for request in asked]
    pod = _asking(gang, flat)
    suitable = NodeSuitability(shape, gang.flavor)
    found: list[NodeAnswer] = []
    for name in sorted(world.cards.nodes):
        node = world.nodes.get(name)
        refused = "the node is gone" if node is None else suitable.refuses(node)
        if refused:
            found.append(NodeAnswer(node=name, fits=False, reason=refused))
            continue
        on = world.cards.cards_of(name)
        fit = fit_asking(on, asked_by.containers, asked_by.init, pod, asked_by.sidecars)
        cards = tuple(_card(on, state, flat, gang) for state in states_of(on))
        reason = "" if fit.shares is not None else reason_text(fit.refusals, fit.cards)
        found.append(NodeAnswer(node=name, fits=fit.shares is not None, reason=reason, cards=cards))
    return found


def _card(on: NodeCards, state: CardState, requests: Sequence[CardRequest], gang: Gang) -> CardAnswer:
    reasons: dict[str, None] = {}
    for request in requests:
        vendor = gang.config.by_word.get(request.vendor)
        if vendor is None or not is_card_of(vendor, state.card):
            reasons[f"no {request.vendor} card"] = None
            continue
        single = replace(request, count=1)
        alone = NodeCards(node=on.node, cards=(state.card,), cordoned=on.cordoned, annotations=on.annotations)
        fit = fit_container([state], [single], _asking(gang, [single]), on=alone).fit
        if not fit.complete:
            reasons.update(dict.fromkeys(sorted(fit.refusals)))
    return CardAnswer(card=state.card.uuid, reasons=tuple(reasons))


def _asking(gang: Gang, requests: Sequence[CardRequest]) -> Asking:
    config = gang.config
    own = gang.pod_set.shape.device_annotations
    return asking(own, requests, default_policy=config.card_policy, vendors=config.by_word)
