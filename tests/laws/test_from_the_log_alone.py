"""A decision is a function of the log: hints, memory and shortcuts only save work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ops.queries.replay import fold_partition
from projections.state_hash import state_hash
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.admitter import heads as admitter_heads
from tests.laws.lives import broken
from tests.laws.many_hosts import CARDS, PARTITION
from tests.laws.random_life import Life

STEPS = 8


@pytest.mark.parametrize("block", range(8))
def test_who_starts_now_on_the_log_alone_says_the_same_bytes(block: int) -> None:
    for seed in range(block * 5, block * 5 + 5):
        life = Life(seed).live(STEPS)
        for partition in (PARTITION, CARDS):
            _, replayed = fold_partition(partition, life.hosts.log, verify=True)
            assert not replayed.differences
            assert replayed.verified == len(life.hosts.log[partition])


@pytest.mark.parametrize("block", range(6))
def test_replicas_say_the_same_with_hints_as_without_and_come_to_rest_in_long_lives(block: int) -> None:
    for seed in range(20 + block * 4, 24 + block * 4):
        assert not broken(seed, steps=30)


def found_by_the_law(seeds: range) -> bool:
    found = next((law for seed in seeds if (law := broken(seed, steps=2 * STEPS, fresh=0.5))), "")
    return " said " in found


def test_a_shortcut_that_says_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admitter_heads, "refused_again", lambda *_: True)
    assert found_by_the_law(range(30, 40))


def test_a_hint_that_leaves_somebody_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(world: World) -> set[str]:
        del world
        return set()

    monkeypatch.setattr(World, "touched_trees", nothing)
    assert found_by_the_law(range(20))


def hints_of(world: World) -> object:
    """All that says where looking is worth while; what was only reckoned before is left out."""
    piles = [
        {reader: sorted(pile.keys) for reader, pile in review._readers.items()}
        for review in (world.work, world.reserved_work, world.request_work, world.pod_work)
    ]
    quota = world.quota
    touched = (sorted(quota._touched), sorted(quota._touched_queues), sorted(world.lines.moved))
    cards = (sorted(world.cards.dirty_cards), sorted(world.cards.dirty_workloads), world.cards_looked_at)
    return piles, touched, cards, sorted(world.examined.items()), sorted(world._deadlines)


@contextmanager
def left_as_it_was(world: World) -> Iterator[None]:
    world.quota.trees()  # Laying the trees anew after a change is only put off until somebody asks.
    state, hints = state_hash(world), hints_of(world)
    yield
    assert state_hash(world) == state
    assert hints_of(world) == hints


def questions() -> list[Callable[[World, Workload], object]]:
    from ops.queries.explaining import explain
    from projections.preemption.candidates import PreemptionContext
    from projections.preemption.victims import find_victims
    from projections.quota.columns import Column

    def victims(world: World, workload: Workload) -> object:
        queue = world.cluster_queue_of(workload)
        node = world.quota.node(queue.name) if queue is not None else None
        if queue is None or node is None:
            return None
        needed: tuple[Column, ...] = (0,)
        return find_victims(
            world, PreemptionContext(workload=workload, queue=queue, node=node, usage={0: 2}, needed=needed, at=0)
        )

    return [victims, lambda world, workload: explain(world, workload, 1_795_000_000_000, deep=False)]


@pytest.mark.parametrize("seed", range(6))
def test_asking_changes_neither_the_state_nor_what_is_looked_at(seed: int) -> None:
    world = Life(seed).live(STEPS).hosts.hosts[0].fold.world
    for key in sorted(world.workloads):
        for ask in questions():
            with left_as_it_was(world):
                ask(world, world.workloads[key])


@pytest.mark.parametrize("seed", range(6))
def test_a_trial_that_ends_with_an_error_leaves_no_trace(seed: int) -> None:
    host = Life(seed).live(STEPS).hosts.hosts[0]
    world = host.fold.world
    with left_as_it_was(world), pytest.raises(ZeroDivisionError), world.trial():
        for name in sorted(world.holding):
            for key in list(world.holding[name]):
                world.cards.vacate(key)
                world.quota.remove_usage(name, world.holding[name].usage[key])
        world.work.forget(next(iter(sorted(world.workloads)), ""))
        raise ZeroDivisionError
