"""Where the cards offer less than the quota promises: told for flavors under the policies Warn and Cap."""

from collections.abc import Iterator

from events.catalogue import Decision
from events.device import CapacityCovered, CapacityShort
from events.settings import DevicePolicy
from projections.devices.offer import Offer, offers, policy_of
from projections.set_aside.records import Scope
from projections.world import World
from services.accountant.guarding import each


def shortages(world: World) -> Iterator[Decision]:
    """Tell a shortage when it comes or its numbers change, and when it is over."""
    told = world.cards.care.short
    known = sorted(world.flavors)
    gone = sorted({key.partition("/")[0] for key in told} - world.flavors.keys())
    yield from each(world, Scope.FLAVOR, (*known, *gone), lambda flavor: _of_flavor(world, flavor))


def _of_flavor(world: World, flavor: str) -> list[Decision]:
    told = {key: numbers for key, numbers in world.cards.care.short.items() if key.partition("/")[0] == flavor}
    found: list[Decision] = []
    for offer in offers(world, flavor) if policy_of(world, flavor) is not DevicePolicy.IGNORE else ():
        before = told.pop(f"{flavor}/{offer.resource}", None)
        if offer.short and before != (offer.nominal, offer.offered):
            found.append(_short(offer))
        elif before is not None and not offer.short:
            found.append(_covered(flavor, offer.resource, offer.nominal, offer.offered))
    for key in sorted(told):
        found.append(_covered(flavor, key.partition("/")[2], *told[key]))
    return found


def told_of(offer: Offer) -> str:
    """A shortage in numbers."""
    missing = [
        f"{amount} {what}"
        for amount, what in (
            (offer.unhealthy, "unhealthy"),
            (offer.absent, "on nodes that are not ready"),
            (offer.cordoned, "cordoned"),
            (offer.unmanaged, "held by pods that no queue manages"),
        )
        if amount
    ]
    why = f" ({', '.join(missing)})" if missing else ""
    return (
        f"quotas promise {offer.nominal} {offer.resource} of flavor {offer.flavor}; its cards offer {offer.offered} of "
        f"{offer.registered} registered{why}"
    )


def _short(offer: Offer) -> Decision:
    return CapacityShort(
        flavor=offer.flavor,
        resource=offer.resource,
        nominal=offer.nominal,
        offered=offer.offered,
        message=told_of(offer),
    )


def _covered(flavor: str, resource: str, nominal: int, offered: int) -> Decision:
    return CapacityCovered(flavor=flavor, resource=resource, nominal=nominal, offered=offered)
