"""The period of a bill as people write it: months, days, moments, or so long after the log began."""

import re

from events.event import Millis
from events.timestamp import civil_from_days, days_from_civil, format_timestamp
from ops.queries.billing.problems import BillRefused
from ops.queries.time_travel import BadTime, moment
from projections.billing.entries.entry import Window
from projections.calendar import DAY

_DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?", re.ASCII)


def period(since: str, until: str, first: Millis, last: Millis) -> Window:
    """A half-open period in UTC; what is not named is as far as the log goes. Raises `BillRefused`."""
    window = Window(time(since, first) if since else first, time(until, first) if until else last)
    if window.until < window.since:
        raise BillRefused(
            f"the period ends at {format_timestamp(window.until)}, before it starts at "
            f"{format_timestamp(window.since)}: give --from the earlier and --to the later time"
        )
    if window.until == window.since and (since or until):
        raise BillRefused(
            f"the period from {format_timestamp(window.since)} is empty: --to is not part of it, so name a later time"
        )
    return window


def time(text: str, first: Millis) -> Millis:
    """A moment: 2026-11, 2026-11-01, 2026-11-01T12:00:00Z, or +90s after the log began. Raises `BillRefused`."""
    date = _DATE.fullmatch(text)
    if date is not None:
        civil = (int(date.group(1)), int(date.group(2)), int(date.group(3) or 1))
        days = days_from_civil(*civil)
        if civil_from_days(days) == civil:
            return days * DAY
    try:
        return moment(text, first)
    except BadTime as bad:
        raise BillRefused(
            f"{text!r} is no time: write a month 2026-11, a day 2026-11-01, a moment 2026-11-01T12:00:00Z (UTC), or "
            "+90s for so long after the log began"
        ) from bad
