"""The whole time of a log in equal parts, with how many messages each holds: what the time slider is drawn from."""

from collections.abc import Mapping

from events.json_object import JsonObject
from ops.queries.log_times import LogTimes

PARTS = 120


def time_strip(times: LogTimes, upto: Mapping[str, int]) -> JsonObject:
    """When the log begins and ends, and the messages of each part of that time; one that was stored late counts where it lies."""
    began, ended = times.span()
    width = max(1, ended - began + 1)
    # The last bound is the end: whatever was stored until then lies in one of the parts.
    bounds = [began - 1 + width * part // PARTS for part in range(1, PARTS)]
    counted = [*times.counts(bounds, upto), sum(upto.values())]
    return {
        "began": began,
        "ended": ended,
        "parts": [n - before for n, before in zip(counted, [0, *counted], strict=False)],
    }
