"""Into how many partitions a seed divides the log of its history, and when."""

import random

import msgspec

from events.event import Millis

_DIVIDED_EVERY = 17
"""In one of so many seeds the log is divided; with no other share that seeds go by in common, so all else meets it, too."""


class SeedDivision(msgspec.Struct, frozen=True):
    """How the log of a history is divided."""

    partitions: int = 1
    after: Millis = 0
    """Since the beginning; 0 when it begins divided."""


def division_of(seed: int, span: Millis) -> SeedDivision:
    """How a seed divides its log; most do not."""
    if seed % _DIVIDED_EVERY != _DIVIDED_EVERY - 1:
        return SeedDivision()
    chance = random.Random(f"{seed}/division")  # noqa: S311 - a world, not a secret
    return SeedDivision(chance.choice((4, 16, 16)), chance.choice((0, chance.randrange(300, span // 2))))
