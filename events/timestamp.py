"""Times as Kubernetes writes them (RFC 3339) to milliseconds since 1970 and back, without a clock or a time zone."""

import re
from functools import lru_cache

from events.event import Millis

_FORM = re.compile(r"^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$")
_DAY = 86_400_000
_LAST_HOUR, _LAST_MINUTE = 23, 59


class BadTimestamp(ValueError):
    """A text that is not an RFC 3339 time."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a time: write it as 2026-01-31T12:00:00Z")
        self.text = text


@lru_cache(maxsize=4096)
def parse_timestamp(text: str) -> Millis:
    """Milliseconds since 1970. Raises `BadTimestamp`."""
    found = _FORM.match(text)
    if found is None:
        raise BadTimestamp(text)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    millis = int((found.group(7) or "0").ljust(3, "0")[:3])
    days = days_from_civil(year, month, day)
    if civil_from_days(days) != (year, month, day) or hour > _LAST_HOUR or max(minute, second) > _LAST_MINUTE:
        raise BadTimestamp(text)
    total = days * _DAY + ((hour * 60 + minute) * 60 + second) * 1000 + millis
    if found.group(8):
        shift = (int(found.group(9)) * 60 + int(found.group(10))) * 60_000
        total += -shift if found.group(8) == "+" else shift
    return total


@lru_cache(maxsize=4096)
def format_timestamp(at: Millis) -> str:
    """The time to the second, in UTC, as Kubernetes' metav1.Time writes it."""
    days, rest = divmod(at, _DAY)
    year, month, day = civil_from_days(days)
    second = rest // 1000
    return f"{year:04d}-{month:02d}-{day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def format_exactly(at: Millis) -> str:
    """The time with its milliseconds, where it is no whole second: as RFC 3339, in UTC."""
    text, rest = format_timestamp(at), at % 1000
    return f"{text.removesuffix('Z')}.{rest:03d}Z" if rest else text


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date of the Gregorian calendar."""
    year -= month <= 2  # noqa: PLR2004 - the reckoning's year begins in March
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1  # noqa: PLR2004
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The date of a day counted from 1970-01-01."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)  # noqa: PLR2004 - the reckoning's year begins in March
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1  # noqa: PLR2004
