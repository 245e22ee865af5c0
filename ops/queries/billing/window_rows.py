"""Windows of a price list as people write them: hours of the day by the clocks of a time zone."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from events.billing import PriceWindow
from events.event import Millis
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.zone_clocks import offsets_of

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WORDS = frozenset({"name", "zone", "from", "to", "days"})
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_MINUTE: Millis = 60_000


def windows_of(path: Path, found: object, since: Millis) -> tuple[PriceWindow, ...]:
    """The windows of a list that starts then. Raises `BillRefused`."""
    if not isinstance(found, list):
        raise BillRefused(f"{path}: windows has to be a list of mappings with name, zone, from and to")
    windows = tuple(_window(path, place, row, since) for place, row in enumerate(found, 1))
    names = [one.name for one in windows]
    for name in names:
        if names.count(name) > 1:
            raise BillRefused(f"{path}: window {name} is there twice: give each a name of its own")
    return windows


def _window(path: Path, place: int, row: Any, since: Millis) -> PriceWindow:
    where = f"{path}: window {place}"
    if not isinstance(row, dict):
        raise BillRefused(f"{where} has to be a mapping with name, zone, from and to")
    strange, missing = sorted(set(row) - _WORDS), sorted(_WORDS - {"days"} - set(row))
    if strange or missing:
        wrong = f"has {', '.join(strange)}" if strange else f"lacks {', '.join(missing)}"
        raise BillRefused(f"{where} {wrong}: it has name, zone, from, to, and days where it is not every day's")
    zone = str(row["zone"])
    return PriceWindow(
        name=str(row["name"]),
        zone=zone,
        begin=_clock(where, row, "from"),
        end=_clock(where, row, "to"),
        days=_days(where, row),
        offsets=offsets_of(zone, since),
    )


def _clock(where: str, row: Mapping[str, Any], name: str) -> Millis:
    found = _CLOCK.fullmatch(str(row[name]))
    if found is None:
        raise BillRefused(f'{where}: {name} {str(row[name])!r} is no time of day: write "22:00"')
    return (int(found.group(1)) * 60 + int(found.group(2))) * _MINUTE


def _days(where: str, row: Mapping[str, Any]) -> tuple[int, ...]:
    days = row.get("days", list(DAYS))
    if not isinstance(days, list) or not days or not {str(day) for day in days} <= set(DAYS):
        raise BillRefused(f"{where}: days has to be a list of some of {', '.join(DAYS)}")
    return tuple(sorted({DAYS.index(str(day)) for day in days}))
