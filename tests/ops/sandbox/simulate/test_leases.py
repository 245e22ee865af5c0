"""Histories in which replicas hold leases: safety rests on none of it, and two replicas write what one would."""

import pytest

from ops.sandbox.simulate.fault_plan import ALL, Fault, FaultKind, has_leases, schedule_of
from ops.sandbox.simulate.history import play

SPAN = 30_000
OF_LEASES = [kind for kind in FaultKind if kind.startswith("lease")]
SEEDS = [seed for seed in range(200) if has_leases(seed)]
UNDIVIDED = tuple(kind for kind in ALL if kind is not FaultKind.COHORT)


def storm(seed: int) -> list[Fault]:
    """Every kind of fault of leases every few seconds, and now and then a process that dies."""
    kinds = (*OF_LEASES, FaultKind.LEASES_AWAY, FaultKind.KILL, FaultKind.PAUSE)
    return [
        Fault(
            index=index,
            at=1000 + index * (SPAN // 24),
            kind=kinds[(seed + index) % len(kinds)],
            process=seed * 7 + index * 5,
            number=seed * 31 + index * 17,
            lasts=(1500, 3000, 20_000)[(seed + index) % 3],
        )
        for index in range(22)
    ]


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_whatever_befalls_leases_every_law_holds(seed: int) -> None:
    assert play(seed, SPAN, storm(seed)).broken == ()


@pytest.mark.parametrize("seed", SEEDS[6:9])
def test_leases_of_several_partitions_spread_and_every_law_holds(seed: int) -> None:
    assert play(seed, SPAN, [*schedule_of(seed, SPAN, UNDIVIDED), *storm(seed)], partitions=4).broken == ()


def test_two_replicas_write_no_more_than_one_but_once_for_each_takeover() -> None:
    seeds = SEEDS[:12]
    alone, two = ([play(seed, SPAN, (), replicas=count) for seed in seeds] for count in (1, 2))
    assert not any(one.broken for one in (*alone, *two))
    moved = sum(one.takeovers for one in two) - sum(one.takeovers for one in alone)
    assert moved >= len(seeds), "each gets a share"
    assert sum(one.writes for one in two) <= sum(one.writes for one in alone) + moved


def test_who_has_a_wrong_clock_hands_over_once_and_every_law_holds() -> None:
    for seed in SEEDS[:3]:
        wrong = [
            Fault(index=index, at=5000 + index, kind=FaultKind.CLOCK_SKEW, process=2 * index, number=4, lasts=10 * SPAN)
            for index in range(6)
        ]
        right, found = play(seed, SPAN, (), replicas=2), play(seed, SPAN, wrong, replicas=2)
        assert not found.broken
        assert 0 < found.takeovers - right.takeovers <= 3 * len(wrong), "it does not wander from one to the other"


def test_leases_are_lost_and_go_on_the_same_each_time() -> None:
    assert play(SEEDS[1], SPAN, storm(SEEDS[1])) == play(SEEDS[1], SPAN, storm(SEEDS[1]))
