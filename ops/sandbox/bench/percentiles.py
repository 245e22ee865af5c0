"""What nearly all of some figures stay below."""

from collections.abc import Sequence
from statistics import quantiles


def p99(values: Sequence[float]) -> float:
    """What 99 of 100 values stay below; the value itself where there is one only."""
    return quantiles(values, n=100)[98] if len(values) > 1 else values[0]
