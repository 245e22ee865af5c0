"""Which domains of a level are taken together: enough, none too many, and never fewer than there are (docs/rules/topology.md#search)."""

import random
from collections.abc import Sequence

from msgspec.structs import replace

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts
from projections.topology.search.level_search import FoundDomains, NoFit, as_good, search
from projections.topology.search.order import Fit, best_fit
from tests.projections.topology.makers import tree_with
from tests.projections.topology.search.level_makers import level, shaped


def most(counts: LevelCounts, domains: list[int], *, leader: bool) -> int:
    """The most slices that these domains hold, the leader in the best of those that take it; -1 where none does."""
    everything = sum(counts.slices[one] for one in domains)
    if not leader:
        return everything
    lost = [counts.slices[one] - counts.slices_with_leader[one] for one in domains if counts.leaders[one]]
    return everything - min(lost) if lost else -1


def held(counts: LevelCounts, domains: list[int]) -> int:
    """The slices that these domains hold, the leader in the first of them."""
    return counts.slices_with_leader[domains[0]] + sum(counts.slices[one] for one in domains[1:])


def in_order(counts: LevelCounts, domains: Sequence[int], shape: SearchShape, *, leader: bool) -> list[int]:
    """Domains in their order, by what decides first, second and so on."""
    slices, pods = (counts.slices_with_leader, counts.pods_with_leader) if leader else (counts.slices, counts.pods)

    def decides(one: int) -> tuple[int, ...]:
        return (
            -counts.leaders[one] if leader else 0,
            -counts.affinity[one] if shape.by_affinity else 0,
            slices[one] if shape.least_free else -slices[one],
            pods[one],
            counts.opened[one] if counts.opened is not None else 0,
            one,
        )

    return sorted(domains, key=decides)


def tightest(counts: LevelCounts, domains: Sequence[int], need: int, shape: SearchShape, *, leader: bool) -> int:
    """Of those that are preferred as much as the first, and hold all that is needed, the one with least room."""
    room = counts.slices_with_leader if leader else counts.slices
    wide = [
        (room[one], counts.opened[one] if counts.opened is not None else 0, place)
        for place, one in enumerate(domains)
        if room[one] >= need
        and (counts.leaders[one] or not leader)
        and (counts.affinity[one] == counts.affinity[domains[0]] or not shape.by_affinity)
    ]
    return domains[min(wide)[-1]]


def taken_together(counts: LevelCounts, shape: SearchShape) -> list[int] | None:
    """The domains that pods which may lie anywhere are given, by the rule; None where there are too few."""
    leader, slices = bool(shape.leaders), shape.slices
    order = in_order(counts, range(len(counts.slices)), shape, leader=leader)
    room = counts.slices_with_leader if leader else counts.slices
    holds_all = [one for one in order if room[one] >= slices and (counts.leaders[one] or not leader)]
    if shape.least_free and holds_all:
        return holds_all[:1]
    if order[0] in holds_all:
        return [tightest(counts, order, slices, shape, leader=leader)]
    taken: list[int] = []
    if leader:
        able = [one for one in order if counts.leaders[one]]
        everything = sum(counts.slices)
        leave_enough = [one for one in able if everything - counts.slices[one] + room[one] >= slices]
        if not able:
            return None
        taken = (leave_enough or able)[:1]
        slices -= room[taken[0]]
        order = in_order(counts, [one for one in order if one not in taken], shape, leader=False)
    for place, one in enumerate(order):
        if slices <= 0:
            break
        if counts.slices[one] >= slices and not shape.least_free:
            return [*taken, tightest(counts, order[place:], slices, shape, leader=False)]
        if counts.slices[one]:
            taken.append(one)
            slices -= counts.slices[one]
    return taken if slices <= 0 else None


def test_domains_are_taken_in_their_order_the_one_for_the_leader_first_and_the_tightest_last() -> None:
    several = 0
    for seed in range(3000):
        chance = random.Random(seed)
        leader, size = chance.random() < 0.5, chance.choice((1, 2, 3))
        counts, shape = level(chance, leader=leader, size=size), shaped(chance, leader=leader, size=size)
        if chance.random() < 0.3:
            counts.opened = [chance.randint(0, 2) for _ in counts.pods]
        tree = tree_with(("host",), {f"h{number}": 1 for number in range(len(counts.slices))})
        found, wanted = search(tree, [counts], shape), taken_together(counts, shape)
        assert (found.domains if isinstance(found, FoundDomains) else None) == wanted, seed
        several += wanted is not None and len(wanted) > 1
    assert several > 300


def test_domains_that_are_taken_together_are_enough_and_none_is_one_too_many() -> None:
    found_several = 0
    for seed in range(3000):
        chance = random.Random(seed)
        leader = chance.random() < 0.5
        counts, shape = level(chance, leader=leader), shaped(chance, leader=leader)
        tree = tree_with(("host",), {f"h{number}": 1 for number in range(len(counts.slices))})
        found = search(tree, [counts], shape)
        possible = most(counts, list(range(len(counts.slices))), leader=leader)
        if possible < shape.slices:
            assert isinstance(found, NoFit) and found.level == 0, seed
            if not leader:
                assert found.fit == possible, seed
            continue
        assert isinstance(found, FoundDomains) and found.level == 0, seed
        taken = found.domains
        assert len(set(taken)) == len(taken), seed
        assert held(counts, taken) >= shape.slices, seed
        assert counts.leaders[taken[0]] >= shape.leaders, "the leader lies in the first"
        found_several += len(taken) > 1
        assert len(taken) == 1 or held(counts, taken[:-1]) < shape.slices, seed
    assert found_several > 100


def test_of_domains_that_hold_what_is_needed_the_tightest_is_best_of_those_the_one_that_breaks_fewest_whole_cards() -> (
    None
):
    for seed in range(500):
        chance = random.Random(seed)
        counts, shape = level(chance, leader=False), replace(shaped(chance, leader=False), by_affinity=False)
        everyone, need = list(range(len(counts.slices))), chance.randint(1, 3)
        counts.opened = [chance.randint(0, 2) for _ in everyone]
        opened = counts.opened
        wide = [one for one in everyone if counts.slices[one] >= need]
        best = min(wide, key=lambda one: (counts.slices[one], opened[one]), default=0)
        assert best_fit(counts, everyone, need, shape, Fit(slices=True)) == best, seed


def test_as_good_as_a_domain_are_those_that_hold_as_much_are_as_much_preferred_and_take_the_leader() -> None:
    several = 0
    for seed in range(2000):
        chance = random.Random(seed)
        leader = chance.random() < 0.5
        counts, shape = level(chance, leader=leader), shaped(chance, leader=leader)
        chosen = chance.randrange(len(counts.slices))
        if counts.leaders[chosen] < shape.leaders:
            continue
        room = counts.slices_with_leader if leader else counts.slices
        found = as_good(counts, chosen, shape)
        for one in range(len(room)):
            alike = room[one] == room[chosen] and counts.affinity[one] == counts.affinity[chosen]
            assert (one in found) == (alike and (counts.leaders[one] == 1 or not leader)), seed
        several += len(found) > 1
    assert several > 100
