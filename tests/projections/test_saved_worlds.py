"""A world that comes from its saved tables is the one that went in, and takes no more memory than that."""

import hashlib
import tracemalloc
from collections.abc import Callable

import msgspec

from events.quota import NamespaceObserved
from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import Tables, tables_as_json, tables_of, world_from_json, world_of
from projections.state_hash import state_hash, tables
from projections.workloads.saved_workload import as_saved
from projections.world import World
from services.runtime.packed import packed
from tests.events.test_shared_specs import asked, submitted

SPOT = LogPosition(partition="FACTS", sequence=1, at=5)


def filled(workloads: int) -> World:
    world = World()
    for number in range(workloads):
        evolve(world, NamespaceObserved(name=f"space-{number}"), SPOT)
        evolve(world, submitted(f"w{number}", asked()), SPOT)
    world.settle()
    return world


def again(world: World) -> World:
    return world_from_json(msgspec.json.encode(tables_of(world)))


def test_the_digest_of_many_rows_is_that_of_each_table_written_at_once() -> None:
    world = filled(2500)
    encoder, digest = msgspec.json.Encoder(order="deterministic"), hashlib.sha256()
    for name, table in tables(world):
        digest.update(name.encode())
        rows = {key: as_saved(table[key]) if name == "workloads" else table[key] for key in sorted(table)}
        digest.update(encoder.encode(rows))
    assert state_hash(world) == digest.hexdigest()


def test_workloads_of_a_saved_world_hold_together_what_they_have_in_common() -> None:
    world = filled(2)
    other = again(world)
    assert state_hash(other) == state_hash(world)
    one, two = other.workloads.values()
    assert one.spec is two.spec and one.equivalence is two.equivalence
    assert one.conditions is two.conditions is one.checks
    assert one.owner is not None and one.owner.uid is one.uid


def test_a_workload_without_a_job_comes_back_as_it_was() -> None:
    world = World()
    alone = WorkloadSubmitted(workload="team/a", uid="u", created_at=1, spec=WorkloadSpec(queue="lq", pod_sets=()))
    evolve(world, alone, SPOT)
    world.settle()
    assert again(world).workloads == world.workloads


def most_held(work: Callable[[], object]) -> int:
    """The most bytes that were held while this was done, what came of it among them."""
    tracemalloc.start()
    try:
        came = work()
        most = tracemalloc.get_traced_memory()[1]
        del came
        return most
    finally:
        tracemalloc.stop()


def test_a_world_is_saved_and_read_again_without_being_held_a_second_time_in_another_shape() -> None:
    world = filled(3000)
    data = msgspec.json.encode(tables_of(world))
    whole = most_held(lambda: world_of(msgspec.json.decode(data, type=Tables)))
    assert most_held(lambda: world_from_json(data)) < whole / 2
    assert most_held(lambda: packed(tables_as_json(world))) < len(data) / 2
