"""What the cards of a flavor really offer beside the quota that is promised of them, resource by resource.

Device plugins register all cards. Workloads can't have these: cards out of service, cards on nodes that are gone
or not ready, cards that an operator keeps new pods from, and what pods hold that no queue manages
(docs/rules/devices.md#device-policy).
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.amount import UNLIMITED
from events.card import Card
from events.settings import DevicePolicy
from projections.configuration import Configuration
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.card_use import IDLE, CardUse, whole_of
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.card_stakes import POD
from projections.devices.state import DeviceState, config_of
from projections.devices.vendors.vendor import Vendor
from projections.nodes.affinity import has_labels
from projections.nodes.state import NodeState

COUNT, MEMORY, CORES = "count", "memory", "cores"
PERCENT = 100


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of one flavor, in the units of its quota: slots, MiB (or the vendor's multiple), percent of cards."""

    flavor: str
    resource: str
    policy: DevicePolicy
    nominal: int
    """The nominal quotas of all queues and cohorts for it, added up."""
    registered: int = 0
    unhealthy: int = 0
    absent: int = 0
    cordoned: int = 0
    unmanaged: int = 0

    @property
    def offered(self) -> int:
        """What is really there for workloads."""
        return self.registered - self.unhealthy - self.absent - self.cordoned - self.unmanaged

    @property
    def short(self) -> bool:
        """Whether less is there than is promised."""
        return self.offered < self.nominal


class CardResource(msgspec.Struct, frozen=True):
    """What a resource counts of cards."""

    vendor: Vendor
    what: str
    """`COUNT`, `MEMORY` or `CORES`."""


def meaning_of(resource: str, config: CardConfig = HAMI) -> CardResource | None:
    """The vendor whose cards a resource counts, and what of them; None for any other resource.

    A percentage of memory is of no use as quota: it depends on the card.
    """
    for vendor in config.vendors:
        names = vendor.resources
        for what, name in ((COUNT, names.count), (MEMORY, names.memory), (CORES, names.cores)):
            if name and name == resource:
                return CardResource(vendor, what)
    return None


def offers(world: DeviceState, flavor: str) -> list[Offer]:
    """All card resources of a flavor that some quota promises, by name."""
    promised = nominal_of(world, flavor)
    return [
        offer
        for resource in sorted(promised)
        for offer in (_offer(world, flavor, resource, promised[resource]),)
        if offer is not None
    ]


def cap(world: DeviceState, flavor: str, resource: str) -> int | None:
    """The most of a resource that workloads may hold of a flavor in all; None where the quota alone decides.

    Asked for flavors under the policy `Cap` (docs/rules/devices.md#device-policy).
    """
    if policy_of(world, flavor) is not DevicePolicy.CAP:
        return None
    offer = _offer(world, flavor, resource, 0)
    return None if offer is None else max(offer.offered, 0)


def any_cap(world: Configuration) -> bool:
    """Whether the cards bound the quota of any flavor."""
    return DevicePolicy.CAP in world.settings.device_policies.values() or any(
        flavor.device_policy is DevicePolicy.CAP for flavor in world.flavors.values()
    )


def policy_of(world: Configuration, flavor: str) -> DevicePolicy:
    """What the cards that are really there mean for a flavor: by its own word, else by the settings'."""
    known = world.flavors.get(flavor)
    if known is not None and known.device_policy is not None:
        return known.device_policy
    return world.settings.device_policies.get(flavor, DevicePolicy.IGNORE)


def nominal_of(world: Configuration, flavor: str) -> dict[str, int]:
    """What all cluster queues and cohorts promise of a flavor, by resource."""
    found: dict[str, int] = {}
    for owner in (*world.cluster_queues.values(), *world.cohorts.values()):
        for group in owner.groups:
            for quotas in group.flavors:
                for quota in quotas.quotas if quotas.flavor == flavor else ():
                    found[quota.resource] = min(found.get(quota.resource, 0) + quota.nominal, UNLIMITED)
    return found


def _offer(world: DeviceState, flavor: str, resource: str, nominal: int) -> Offer | None:
    meaning, known = meaning_of(resource, config_of(world)), world.flavors.get(flavor)
    if meaning is None or known is None:
        return None
    version, cached = world.cards.offer_version(), world.cards.offered.get((flavor, resource))
    if cached is None or cached[0] != version or cached[1] is not known:
        cached = world.cards.offered[flavor, resource] = (
            version,
            known,
            _totals(world, known.node_labels, meaning.vendor, meaning.what),
        )
    return Offer(flavor=flavor, resource=resource, policy=policy_of(world, flavor), nominal=nominal, **cached[2])


def _totals(world: DeviceState, labels: Mapping[str, str], vendor: Vendor, what: str) -> dict[str, int]:
    totals: dict[str, int] = dict.fromkeys(("registered", "unhealthy", "absent", "cordoned", "unmanaged"), 0)
    for node in _nodes(world.cards, world, labels):
        registered, seen = world.cards.nodes[node], world.nodes.get(node)
        for card in registered.cards:
            if card.vendor != vendor.word:
                continue
            whole = _amount(card, whole_of(card), vendor, what)
            totals["registered"] += whole
            if seen is None or not seen.ready:
                totals["absent"] += whole
            elif not world.cards.in_service(node, card):
                totals["unhealthy"] += whole
            elif card.uuid in registered.cordoned or seen.unschedulable:
                totals["cordoned"] += whole
            else:
                totals["unmanaged"] += min(_amount(card, unmanaged_use(world.cards, card), vendor, what), whole)
    return totals


def _nodes(cards: CardHoldings, world: NodeState, labels: Mapping[str, str]) -> Iterable[str]:
    for node in cards.nodes:
        seen = world.nodes.get(node)
        if seen is not None and has_labels(seen, labels):
            yield node


def unmanaged_use(cards: CardHoldings, card: Card) -> CardUse:
    """What pods that no queue manages hold of a card; all its slots where they leave no memory or no cores."""
    use = IDLE
    for holder, stake in cards.stakes.get(card.uuid, {}).items():
        if holder.startswith(POD):
            use = use.plus(stake.charged())
    cores = whole_of(card).cores
    if use.memory >= card.memory or (cores and use.cores >= cores):
        return CardUse(card.slots, use.memory, use.cores)
    return use


def _amount(card: Card, use: CardUse, vendor: Vendor, what: str) -> int:
    if what == COUNT:
        return use.slots
    if what == MEMORY:
        return use.memory // vendor.resources.factor
    # Requests are in percent of a card whatever its own unit is, where the vendor counts compute units.
    return use.cores * PERCENT // card.cores if vendor.rules.compute_units and card.cores else use.cores
