"""What the clocks of a time zone show, as recorded with a price list: from the machine's own zone data, once, when it is entered."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from events.billing import LocalOffset
from events.event import Millis
from ops.queries.billing.problems import BillRefused
from projections.calendar import DAY

YEARS = 25
"""For so long after the list starts its clocks are known; the last offset holds after that."""
_SECOND: Millis = 1000


def offsets_of(zone: str, since: Millis) -> tuple[LocalOffset, ...]:
    """How far the zone's clocks are ahead of UTC, from a year before a time on. Raises `BillRefused`."""
    try:
        known = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise BillRefused(
            f"this machine knows no time zone {zone!r}: write an IANA name such as Europe/Berlin, or install tzdata"
        ) from problem
    at = (since - 366 * DAY) // DAY * DAY
    found = [LocalOffset(at=at, ahead=_ahead(known, at))]
    for day in range(at, since + YEARS * 366 * DAY, DAY):
        if _ahead(known, day + DAY) != found[-1].ahead:
            changed = _changed(known, day, day + DAY)
            found.append(LocalOffset(at=changed, ahead=_ahead(known, changed)))
    return tuple(found)


def _changed(zone: ZoneInfo, before: Millis, after: Millis) -> Millis:
    """The second from which on the clocks show what they show at the end of a day."""
    shown = _ahead(zone, after)
    while after - before > _SECOND:
        middle = (before + after) // 2 // _SECOND * _SECOND
        before, after = (before, middle) if _ahead(zone, middle) == shown else (middle, after)
    return after


def _ahead(zone: ZoneInfo, at: Millis) -> Millis:
    offset = datetime.fromtimestamp(at // _SECOND, UTC).astimezone(zone).utcoffset()
    return (offset.days * 86_400 + offset.seconds) * _SECOND if offset is not None else 0
