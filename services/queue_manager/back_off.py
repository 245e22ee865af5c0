"""The exponential back-off before an evicted workload is tried again (docs/rules/eviction.md#back-off)."""

from events.event import Millis

SHORTEST: Millis = 1000
"""Kueue has such times in whole seconds. Without any wait one job could fill the log with its attempts."""
_MOST_DOUBLINGS = 40


def back_off(base: Millis, most: Millis, count: int) -> Millis:
    """The wait after the `count`-th failure, from 1: `base`, doubled each time, at most `most`, at least `SHORTEST`."""
    return max(min(base * 2 ** min(max(count - 1, 0), _MOST_DOUBLINGS), most), SHORTEST)
