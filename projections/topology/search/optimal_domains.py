"""The fewest domains that hold what is asked for with the least room to spare.

Rule: docs/rules/topology.md#balanced
"""

from collections.abc import Sequence

import msgspec

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts
from projections.topology.search.order import leader_order, plain_order

MOST_STEPS = 200_000
"""So many steps a search may take. They grow with the cube of the domains where each has other room, and how many are taken is a user's choice."""


class Greedy(msgspec.Struct, frozen=True, kw_only=True):
    """How few domains will do when the roomiest are taken first."""

    domains: tuple[int, ...] = ()
    last_with_leader: int | None = None
    last: int | None = None

    @property
    def taken(self) -> int:
        """How many domains these are."""
        return len(self.domains)


def fewest(counts: LevelCounts, domains: Sequence[int], shape: SearchShape) -> Greedy | None:
    """The number of domains that it takes, of those in the order of their values; None if all together are too few."""
    missing, leaders, taken = shape.slices, shape.leaders, list[int]()
    last_with_leader = last = None
    rest = sorted(domains)
    for one in leader_order(counts, rest, shape) if leaders else ():
        if not leaders or not counts.leaders[one]:
            break
        leaders -= counts.leaders[one]
        missing -= counts.slices_with_leader[one]
        taken.append(one)
        last_with_leader = one
        rest.remove(one)
    for one in plain_order(counts, rest, shape):
        if missing <= 0 or not counts.slices[one]:
            break
        missing -= counts.slices[one]
        taken.append(one)
        last = one
    if missing > 0 or leaders > 0:
        return None
    return Greedy(domains=tuple(taken), last_with_leader=last_with_leader, last=last)


class _State(msgspec.Struct, frozen=True, order=True):
    """What is left to be placed."""

    leaders: int
    pods: int


class _Step(msgspec.Struct, frozen=True):
    """The domain that led to a state, and the state before."""

    domain: int
    before: _State


def optimal_domains(counts: LevelCounts, ordered: Sequence[int], shape: SearchShape) -> list[int] | None:
    """The domains with least room to spare among the sets of that size; of equal sets the first in the given order.

    Where that takes more than `MOST_STEPS`, the roomiest ones.
    """
    few = fewest(counts, ordered, shape)
    if few is None or not few.taken:
        return None
    start = _State(shape.leaders, shape.slices * shape.slice_size)
    reached: list[dict[_State, _Step | None]] = [{start: None}, *({} for _ in range(few.taken))]
    steps = 0
    for domain in ordered:
        steps += sum(map(len, reached))
        if steps > MOST_STEPS:
            return [one for one in ordered if one in few.domains]
        for used in range(few.taken, 0, -1):
            for state in sorted(reached[used - 1]):
                if state.leaders <= 0 and state.pods <= 0:
                    continue
                if state.leaders > 0 and counts.leaders[domain]:
                    after = _State(state.leaders - counts.leaders[domain], state.pods - counts.pods_with_leader[domain])
                    reached[used].setdefault(after, _Step(domain, state))
                if counts.slices[domain]:
                    after = _State(state.leaders, state.pods - counts.pods[domain])
                    reached[used].setdefault(after, _Step(domain, state))
    enough = [state for state in reached[few.taken] if state.leaders <= 0 and state.pods <= 0]
    return _way(reached, max(enough, key=lambda state: state.pods)) if enough else None


def _way(reached: Sequence[dict[_State, _Step | None]], state: _State) -> list[int]:
    """The domains by which a state was reached, in their order."""
    way: list[int] = []
    for steps in reversed(reached):
        step = steps[state]
        if step is None:
            break
        way.append(step.domain)
        state = step.before
    way.reverse()
    return way
