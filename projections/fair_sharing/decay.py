"""How past usage fades: halved with every half-life, in fixed-point numbers that are the same on every machine.

A factor is an integer count of steps of 2^-64. It is reckoned with 64 further bits and cut off once, so it is at most one step
below the true value (docs/decisions/0006).
"""

from functools import cache
from math import isqrt

from events.event import Millis

BITS = 64
ONE = 1 << BITS
"""The factor 1, and the fixed-point form of one unit of a resource."""
_GUARD = 2 * BITS
_DEPTH = 96
"""So many binary digits of the elapsed part of a half-life are taken: the rest changes nothing that is kept."""


def left(elapsed: Millis, half_life: Millis) -> int:
    """What is left after some time, 0.5^(elapsed/half_life) in steps of 2^-64; nothing at once when there is no half-life."""
    if elapsed <= 0:
        return ONE
    if half_life <= 0:
        return 0
    whole, rest = divmod(elapsed, half_life)
    if whole > BITS:
        return 0
    factor = 1 << _GUARD
    roots = _roots()
    for digit in range(_DEPTH):
        if not rest:
            break
        rest *= 2
        if rest >= half_life:
            rest -= half_life
            factor = factor * roots[digit] >> _GUARD
    return factor >> (_GUARD - BITS + whole)


def faded(past: int, now: int, elapsed: Millis, half_life: Millis) -> int:
    """Past usage drawn towards what is used now: past·left + now·(1 − left). Both and the result in steps of 2^-64.

    Without a half-life nothing is remembered (docs/rules/fair-sharing.md#usage-fades).
    """
    keep = left(elapsed, half_life)
    if half_life <= 0:
        return past * keep >> BITS
    return (past * keep + now * (ONE - keep)) >> BITS


def entry_part(sampling: Millis, half_life: Millis) -> int:
    """The part of its request that a workload is charged when it gets quota: what one sampling interval would count."""
    return ONE - left(sampling, half_life) if half_life > 0 else 0


@cache
def _roots() -> tuple[int, ...]:
    """0.5^(1/2), 0.5^(1/4), ... with all bits: each the root of the one before."""
    found: list[int] = []
    root = 1 << (_GUARD - 1)
    for _ in range(_DEPTH):
        root = isqrt(root << _GUARD)
        found.append(root)
    return tuple(found)
