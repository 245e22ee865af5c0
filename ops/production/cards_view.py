"""Cards as people and programs see them: state, slices, what flavors offer, what is scattered."""

from collections.abc import Iterator

import msgspec

from events.card import Card, CardRequest
from events.device import DevicesRegistered
from events.event import Millis
from projections.devices.capacity.fragmentation import stranded
from projections.devices.capacity.model_capacity import ModelCapacity, ModelRoom, capacity
from projections.devices.capacity.offer import Offer, offers
from projections.devices.card_use import IDLE, CardUse, NodeCards
from projections.devices.fit.pod_fit import asking
from projections.devices.holdings.card_stakes import POD
from projections.devices.holdings.drift import why_out_of_service
from projections.devices.registration.card_health import due
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.state import config_of
from projections.topology.placement.largest import DomainCards, domain_cards
from projections.world import World

_SHORT = {
    "reported unhealthy": "unhealthy",
    "not trusted yet": "recovering",
    "silent": "plugin silent",
    "pieces": "pieces unknown",
}
"""In short what `why_out_of_service` says at length."""


class ShownSlice(msgspec.Struct, frozen=True, kw_only=True):
    """What one holder has of a card; `reserved` by the log, `held` by HAMi's annotations of living pods."""

    holder: str
    """The job of a workload as `namespace/name`, or `pod:namespace/name`."""
    workload: str
    slots: int
    memory: int
    cores: int
    reserved: int
    held: int
    """Both in MiB."""


class CardView(msgspec.Struct, frozen=True, kw_only=True):
    """One card. Memory in MiB, cores in the card's own unit (percent, or compute units)."""

    node: str
    card: str
    index: int
    vendor: str
    model: str
    mode: str
    numa: int
    state: str
    returns_at: Millis | None
    """When a card that is well again comes back, if it stays so."""
    slots: int
    slots_used: int
    memory: int
    memory_used: int
    cores: int
    cores_used: int
    slices: tuple[ShownSlice, ...]


def card_views(world: World, *, node: str = "", model: str = "") -> list[CardView]:
    """All cards by node and index, or those of one node, or of models whose name holds a text."""
    return [
        _view(world, registered, card)
        for name, registered in sorted(world.cards.nodes.items())
        if not node or name == node
        for card in sorted(registered.cards, key=lambda card: (card.vendor, card.index, card.uuid))
        if model.lower() in card.model.lower()
    ]


def flavor_offers(world: World) -> list[Offer]:
    """What the cards of every flavor offer beside its quota."""
    return [offer for flavor in sorted(world.flavors) for offer in offers(world, flavor)]


def model_capacities(world: World) -> list[ModelCapacity]:
    """What is free of each model, in sum and in one piece, on nodes that are there."""
    return list(capacity(_ready(world)).values())


def domain_capacities(world: World) -> list[DomainCards]:
    """Of each level of every flavor with a topology, the domain with most idle cards."""
    return [
        one
        for name, room in world.domains.rooms(world.flavors).items()
        for one in domain_cards(name, room.room.tree, world.cards, world.nodes)
    ]


def unwanted(world: World) -> ModelRoom:
    """What is free on cards of which no workload that waits could use its part; nothing while nobody waits."""
    asked: dict[CardRequest, None] = {}
    for key in sorted(world.workloads):
        workload = world.workloads[key]
        if workload.admission is not None or workload.finished:
            continue
        for pod_set in workload.spec.pod_sets:
            asked.update(
                dict.fromkeys(
                    one for each in pod_card_requests(pod_set.shape, config_of(world)).containers for one in each
                )
            )
    ready = list(_ready(world))
    return stranded(ready, list(asked), asking({}, asked, vendors=config_of(world).by_word)) if asked else ModelRoom()


def job_of(world: World, holder: str) -> str:
    """What people call a holder: the job of a workload."""
    workload = world.workloads.get(holder)
    return holder if workload is None else workload.job


def _ready(world: World) -> Iterator[NodeCards]:
    """The cards of nodes that are there; those of a node that takes no pods are cordoned, all of them."""
    for on in world.cards.all_cards():
        node = world.nodes.get(on.node)
        if node is not None and node.ready:
            kept = frozenset(card.uuid for card in on.cards) if node.unschedulable else on.cordoned
            yield msgspec.structs.replace(on, cordoned=kept)


def _view(world: World, registered: DevicesRegistered, card: Card) -> CardView:
    cards = world.cards
    use: CardUse = cards.used.get(card.uuid, IDLE)
    known = cards.care.health.get(card.uuid)
    return CardView(
        node=registered.node,
        card=card.uuid,
        index=card.index,
        vendor=card.vendor,
        model=card.model,
        mode=card.mode,
        numa=card.numa,
        state=state_of(world, registered, card),
        returns_at=due(known) if known is not None else None,
        slots=card.slots,
        slots_used=use.slots,
        memory=card.memory,
        memory_used=use.memory,
        cores=card.cores,
        cores_used=use.cores,
        slices=tuple(
            ShownSlice(
                holder=job_of(world, holder),
                workload="" if holder.startswith(POD) else holder,
                slots=stake.charged().slots,
                memory=stake.charged().memory,
                cores=stake.charged().cores,
                reserved=stake.reserved.memory,
                held=stake.held.memory,
            )
            for holder, stake in sorted(cards.stakes.get(card.uuid, {}).items())
        ),
    )


def state_of(world: World, registered: DevicesRegistered, card: Card) -> str:
    """Whether new pods may have a card: ok, or in one word why not."""
    node = world.nodes.get(registered.node)
    if node is None or not node.ready:
        return "node not ready"
    why = why_out_of_service(world.cards, registered, card)
    if why:
        return next(short for word, short in _SHORT.items() if word in why)
    if card.uuid in registered.cordoned or node.unschedulable:
        return "cordoned"
    return "ok"
