"""Which of several fitting cards are linked best, by their pair scores (docs/rules/devices.md#vendor-checks)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

PairScores = Mapping[str, Mapping[str, int]]


def best_together(uuids: Sequence[str], count: int, scores: PairScores) -> tuple[int, ...]:
    """Positions of the cards to take out of those that fit, which are at least `count`.

    One card: the one with the lowest sum of pair scores, so that well linked cards stay together. Several: the
    combination with the highest sum. The first wins on a tie. Pieces of one card stand beside each other.
    """
    if len(uuids) == count:
        return tuple(range(count))
    if count == 1:
        sums = [sum(_pair(scores, one, other) for other in uuids if other != one) for one in uuids]
        return (sums.index(min(sums)),)
    pieces: dict[str, list[int]] = {}
    for place, uuid in enumerate(uuids):
        pieces.setdefault(uuid, []).append(place)
    return max(
        _choices([*pieces.values()], count),
        key=lambda picked: sum(_pair(scores, uuids[one], uuids[other]) for one, other in combinations(picked, 2)),
    )


def _choices(cards: Sequence[Sequence[int]], count: int) -> Iterator[tuple[int, ...]]:
    """So many of the pieces of these cards, in order of their places; of each card the first ones, for one is as good as the other."""
    if sum(map(len, cards)) < count:
        return
    if not count:
        yield ()
        return
    first, *others = cards
    for taken in range(min(count, len(first)), -1, -1):
        for rest in _choices(others, count - taken):
            yield (*first[:taken], *rest)


def _pair(scores: PairScores, one: str, other: str) -> int:
    return scores.get(one, {}).get(other, 0)
