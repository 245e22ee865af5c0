"""When a card that was unhealthy may be given to new pods again: by rule, with hysteresis, from recorded facts alone.

HAMi takes a card out of service at the first bad report, and its plugin may report it well again at once, or never
before it is restarted (docs/rules/devices.md#health). Here the first bad report counts at once too. A card comes back
when it has been reported healthy without a break for `QUIET`, doubled for every further failure within `WINDOW` before
it.
"""

from collections.abc import Mapping

import msgspec

from events.event import Millis

QUIET: Millis = 60_000
WINDOW: Millis = 3_600_000
LONGEST: Millis = 3_600_000


class CardHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a card that has ever failed."""

    node: str
    failures: tuple[Millis, ...]
    """When it was reported unhealthy after it had been well: the last failure and those within `WINDOW` before it."""
    healthy_since: Millis | None = None
    """Since when it is reported healthy; None while it is not."""
    out: bool = True
    """Whether new pods are kept from it."""


def reported(known: CardHealth | None, node: str, at: Millis, *, healthy: bool) -> CardHealth | None:
    """What is remembered after a report; None of a card that has never failed."""
    if healthy:
        if known is None or known.healthy_since is not None:
            return known
        return msgspec.structs.replace(known, node=node, healthy_since=at)
    if known is None:
        return CardHealth(node=node, failures=(at,))
    if known.healthy_since is None:
        return known
    recent = tuple(failure for failure in known.failures if failure > at - WINDOW)
    return CardHealth(node=node, failures=(*recent, at))


def returned(known: CardHealth) -> CardHealth:
    """What is remembered when the card is given to new pods again."""
    return msgspec.structs.replace(known, out=False)


def due(known: CardHealth) -> Millis | None:
    """When the card may come back if it stays healthy; None while it is unhealthy, or back already."""
    if not known.out or known.healthy_since is None:
        return None
    return known.healthy_since + quiet_time(len(known.failures))


def quiet_time(failures: int) -> Millis:
    """How long a card with so many failures has to be healthy before it comes back, in milliseconds."""
    time = QUIET
    for _ in range(failures - 1):
        time = min(time * 2, LONGEST)
    return time


def out_of_service(health: Mapping[str, CardHealth], card: str) -> bool:
    """Whether new pods are kept from a card that is reported healthy."""
    known = health.get(card)
    return known is not None and known.out
