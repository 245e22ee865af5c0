"""Which of the eight Kunlunxin cards of a node are given together: two wings of four (docs/rules/devices.md#vendor-checks).

A wing that is used in part is filled before one is begun that would be left in odd pieces; where no wing has enough, cards
that are linked across the wings are taken.
"""

from collections.abc import Sequence, Set

WING = 4
_WINGS = (range(WING), range(WING, 2 * WING))
_PAIRS = tuple((index, index + WING) for index in range(WING))
_QUADS = ((0, 1, 4, 5), (2, 3, 6, 7), (0, 2, 4, 6), (1, 3, 5, 7), (0, 3, 4, 7), (1, 2, 5, 6))
_ONE_BEST_FROM = (1, 3, 2, 4)
"""How many free cards a wing should have that gives one: what is left then still makes pairs."""


def together(free: Set[int], count: int) -> tuple[int, ...]:
    """The indexes of the cards to take of those that are free; none where so many can't go together."""
    if count == 2 * WING:
        return tuple(sorted(free)) if len(free) == count else ()
    if count not in (1, 2, WING):
        return ()
    wings = [[index for index in wing if index in free] for wing in _WINGS]
    for wanted in _ONE_BEST_FROM if count == 1 else range(count, WING + 1):
        for wing in wings:
            if len(wing) == wanted:
                return tuple(wing[:count])
    return _across(free, count)


def _across(free: Set[int], count: int) -> tuple[int, ...]:
    if count == len(_PAIRS[0]):
        return next((pair for pair in _PAIRS if free >= {*pair}), ())
    found = [quad for quad in _QUADS if free >= {*quad}] if count == WING else []
    if not found or len(free) <= WING + 1:
        return found[0] if found else ()
    return next((quad for quad in found if _linked(sorted(free - {*quad}))), found[-1])


def _linked(pair: Sequence[int]) -> bool:
    """Whether two cards that are left could still go together."""
    left, right = pair
    return left // WING == right // WING or (left, right) in _PAIRS


def wholeness(used: Set[int], taken: Set[int]) -> int:
    """What taking cards adds to a node's score: the fewer odd pieces it leaves, the more."""
    change = _pieces(taken) - _pieces(used)
    return {-1: 3000, 0: 2000, 1: 1000, 2: 0}.get(change, 1000)


def _pieces(indexes: Set[int]) -> int:
    """How broken the wings are in which these cards lie; 1 where there are none."""
    if not indexes:
        return 1
    return sum({WING: 0, 1: 2}.get(sum(index in wing for index in indexes), 1) for wing in _WINGS)
