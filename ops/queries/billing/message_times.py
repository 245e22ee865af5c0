"""The time of each message of a stream: its own, unless others of its author there show that his clock was wrong then.

Of the messages of one author on one stream as many as possible keep their time, such that none is before one that the author
stored ahead of it; of two choices the earlier message keeps it. The others are moved between their neighbours that kept
theirs. Rule: docs/rules/billing.md#clock
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from events.event import Millis
from events.subjects import FACTS
from services.runtime.control_log import Control
from services.runtime.log_port import Entry


class _Header(msgspec.Struct, frozen=True):
    """The part of a message that says when it was made and by whom; any version can read it."""

    at: Millis = 0
    author: str = ""


_header = msgspec.json.Decoder(_Header)


def message_times(stream: str, entries: Sequence[Entry], control: Control) -> Sequence[Millis]:
    """The time that counts of every message of a stream, in its order.

    A partition has one order for all of its authors: each has folded what stands ahead of it.
    """
    times = array("q")
    by_author: dict[str, array[int]] = {}
    for place, entry in enumerate(entries):
        try:
            header = _header.decode(entry.data)
        except (ValueError, RecursionError):
            times.append(times[-1] if times else 0)  # Whoever opens it says what it is.
            continue
        latest = control.latest(entry.stored)
        times.append(header.at if latest is None else min(header.at, latest))
        by_author.setdefault(header.author if stream == FACTS else "", array("q")).append(place)
    for places in by_author.values():
        own = [times[place] for place in places]
        if any(later < earlier for earlier, later in zip(own, own[1:], strict=False)):
            for place, at in zip(places, in_order(own), strict=True):
                times[place] = at
    return times


def in_order(times: Sequence[Millis]) -> list[Millis]:
    """Times that never go back, with as few of them moved as can be."""
    kept = _kept(times)
    found: list[Millis] = []
    ahead = iter([*kept, len(times)])
    following = next(ahead)
    for place, at in enumerate(times):
        if place == following:
            following = next(ahead)
            found.append(at)
            continue
        until = times[following] if following < len(times) else at
        found.append(max(min(at, until), found[-1] if found else min(at, until)))
    return found


def _kept(times: Sequence[Millis]) -> list[int]:
    """The places of a longest run of times that never go back; seen from behind, so that the earlier of two is in it."""
    tails: list[Millis] = []
    at_tail: list[int] = []
    before: dict[int, int] = {}
    for place in range(len(times) - 1, -1, -1):
        length = bisect_right(tails, -times[place])
        if length:
            before[place] = at_tail[length - 1]
        if length == len(tails):
            tails.append(-times[place])
            at_tail.append(place)
        else:
            tails[length], at_tail[length] = -times[place], place
    place: int | None = at_tail[-1] if at_tail else None
    found: list[int] = []
    while place is not None:
        found.append(place)
        place = before.get(place)
    return found
