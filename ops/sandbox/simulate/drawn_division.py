"""Into how many partitions a seed divides the log of its history, when, and from when on trees in use move there."""

import random

import msgspec

from events.event import Millis

_DIVIDED_EVERY = 17
"""In one of so many seeds the log is divided; with no other share that seeds go by in common, so all else meets it, too."""


class DrawnDivision(msgspec.Struct, frozen=True):
    """How the log of a history is divided."""

    partitions: int = 1
    after: Millis = 0
    """Since the beginning; 0 when it begins divided."""
    moved_after: Millis = 0
    """From when on, and after how long again, trees in use move; 0 where none does."""
    most_moves: int = 2
    """After so many moves no tree moves any more."""


def drawn_division(seed: int, span: Millis, partitions: int = 0) -> DrawnDivision:
    """How a seed divides its log; most do not, where they are not to have so many partitions, and in those trees always move."""
    chance = random.Random(f"{seed}/division")  # noqa: S311 - a world, not a secret
    drawn, after = chance.choice((4, 16, 16)), chance.choice((0, chance.randrange(300, span // 2)))
    if partitions:
        moved, most = chance.randrange(500, span // 4), chance.choice((1, 2, 4))
        return DrawnDivision(partitions, after if partitions > 1 else 0, moved, most)
    if seed % _DIVIDED_EVERY != _DIVIDED_EVERY - 1:
        return DrawnDivision()
    return DrawnDivision(drawn, after, moves_after(seed, span))


def moves_after(seed: int, span: Millis) -> Millis:
    """After how long trees of a divided history begin to move; 0 in every third, where none does."""
    chance = random.Random(f"{seed}/moves-after")  # noqa: S311 - a world, not a secret
    return 0 if chance.randrange(3) == 0 else chance.randrange(500, span // 4)
