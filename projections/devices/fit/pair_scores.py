"""Which of several fitting cards are linked best, by their pair scores (docs/rules/devices.md#vendor-checks)."""

from collections.abc import Mapping, Sequence
from itertools import combinations

PairScores = Mapping[str, Mapping[str, int]]


def best_together(uuids: Sequence[str], count: int, scores: PairScores) -> tuple[int, ...]:
    """Positions of the cards to take out of those that fit, which are at least `count`.

    One card: the one with the lowest sum of pair scores, so that well linked cards stay together. Several: the
    combination with the highest sum. The first wins on a tie.
    """
    if len(uuids) == count:
        return tuple(range(count))
    if count == 1:
        sums = [sum(_pair(scores, one, other) for other in uuids if other != one) for one in uuids]
        return (sums.index(min(sums)),)
    return max(
        combinations(range(len(uuids)), count),
        key=lambda picked: sum(_pair(scores, uuids[one], uuids[other]) for one, other in combinations(picked, 2)),
    )


def _pair(scores: PairScores, one: str, other: str) -> int:
    return scores.get(one, {}).get(other, 0)
