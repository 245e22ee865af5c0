"""How long a workload that has failed waits before it is tried again (docs/rules/eviction.md#back-off)."""

from events.event import Millis

SHORTEST: Millis = 1000
"""Kueue tells such times in whole seconds. Without any wait one job could fill the log with its attempts."""
_MOST_DOUBLINGS = 40


def back_off(base: Millis, most: Millis, count: int) -> Millis:
    """The wait after it has failed for the `count`-th time."""
    return max(min(base * 2 ** min(max(count - 1, 0), _MOST_DOUBLINGS), most), SHORTEST)
