"""Shortages: where the cards of a flavor offer less than its quota, reported under the device policies Warn and Cap.

Rule: docs/rules/devices.md#device-policy
"""

from collections.abc import Iterator

from events.catalogue import Decision
from events.device import CapacityCovered, CapacityShort
from events.settings import DevicePolicy
from projections.devices.capacity.offer import Offer, offers, policy_of
from projections.devices.state import DeviceState
from projections.set_aside.records import Scope
from services.accountant.guarding import each
from services.accountant.state import AccountantState


def shortages(world: AccountantState) -> Iterator[Decision]:
    """Report a shortage when it appears or its numbers change, and when it is over."""
    reported = world.cards.care.short
    known = sorted(world.flavors)
    gone = sorted({key.partition("/")[0] for key in reported} - world.flavors.keys())
    yield from each(world, Scope.FLAVOR, (*known, *gone), lambda flavor: _of_flavor(world, flavor))


def _of_flavor(world: DeviceState, flavor: str) -> list[Decision]:
    reported = {key: numbers for key, numbers in world.cards.care.short.items() if key.partition("/")[0] == flavor}
    events: list[Decision] = []
    for offer in offers(world, flavor) if policy_of(world, flavor) is not DevicePolicy.IGNORE else ():
        before = reported.pop(f"{flavor}/{offer.resource}", None)
        if offer.short and before != (offer.nominal, offer.offered):
            events.append(_short(offer))
        elif before is not None and not offer.short:
            events.append(_covered(flavor, offer.resource, offer.nominal, offer.offered))
    for key in sorted(reported):
        events.append(_covered(flavor, key.partition("/")[2], *reported[key]))
    return events


def shortage_message(offer: Offer) -> str:
    """The message of a shortage, in numbers."""
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
        message=shortage_message(offer),
    )


def _covered(flavor: str, resource: str, nominal: int, offered: int) -> Decision:
    return CapacityCovered(flavor=flavor, resource=resource, nominal=nominal, offered=offered)
