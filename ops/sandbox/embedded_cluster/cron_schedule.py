"""When a schedule of cron comes round: five fields, in UTC."""

import re

from events.event import Millis
from events.timestamp import civil_from_days

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_PART = re.compile(r"^(\*|\?|\w+)(?:-(\w+))?(?:/(\d+))?$")
_FIELDS = 5
_THURSDAY = 4
"""The day of the week that time begins with."""
_LONGEST_DAYS = 366 * 9
"""Within so many days every date comes round that ever does."""


class BadSchedule(Exception):
    """A text that is no schedule."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{text!r} is no schedule of cron: {problem}; write e.g. */5 * * * *")


class Schedule:
    """A schedule, read once."""

    def __init__(self, text: str) -> None:
        """Raise `BadSchedule`."""
        fields = _NAMED.get(text.strip(), text).split()
        if len(fields) != _FIELDS:
            raise BadSchedule(text, f"it has {len(fields)} fields, not {_FIELDS}")
        minutes, hours, days, months, week = fields
        self._text = text
        self._minutes, self._hours = self._set(minutes, 0, 59), self._set(hours, 0, 23)
        self._days, self._months = self._set(days, 1, 31), self._set(months, 1, 12, _MONTHS)
        self._week = {day % len(_WEEK) for day in self._set(week, 0, 7, _WEEK)}
        # As in every cron: where both are named, one of them is enough.
        self._either = days[0] not in "*?" and week[0] not in "*?"

    def after(self, at: Millis) -> Millis | None:
        """The first time after that; None where it never comes."""
        begin = (at // _MINUTE + 1) * _MINUTE
        for day in range(begin // _DAY, begin // _DAY + _LONGEST_DAYS):
            if self._is_on(day):
                for hour in sorted(self._hours):
                    for minute in sorted(self._minutes):
                        found = day * _DAY + hour * _HOUR + minute * _MINUTE
                        if found >= begin:
                            return found
        return None

    def _is_on(self, day: int) -> bool:
        _, month, date = civil_from_days(day)
        on_date, on_week = date in self._days, (day + _THURSDAY) % len(_WEEK) in self._week
        return month in self._months and (on_date or on_week if self._either else on_date and on_week)

    def _set(self, field: str, least: int, most: int, names: tuple[str, ...] = ()) -> set[int]:
        found: set[int] = set()
        for part in field.split(","):
            match = _PART.match(part)
            if match is None:
                raise BadSchedule(self._text, f"{part!r} is neither a number nor a range")
            first, last, step = match.groups()
            low = least if first in "*?" else self._number(first, least, most, names)
            high = self._number(last, least, most, names) if last else most if first in "*?" or step else low
            if step == "0":
                raise BadSchedule(self._text, "a step of 0")
            found |= set(range(low, high + 1, int(step or 1)))
        return found

    def _number(self, text: str, least: int, most: int, names: tuple[str, ...]) -> int:
        if text.lower() in names:
            return names.index(text.lower()) + (1 if names is _MONTHS else 0)
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise BadSchedule(self._text, f"{text!r} is not between {least} and {most}")
        return int(text)
