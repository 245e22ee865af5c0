"""A world that comes from its saved tables is the one that went in, and takes no more memory than that."""

import hashlib

import msgspec

from events.quota import NamespaceObserved
from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import Tables, tables_of, world_of
from projections.state_hash import state_hash, tables
from projections.workloads.saved_workload import as_saved
from projections.world import World
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
    return world_of(msgspec.json.decode(msgspec.json.encode(tables_of(world)), type=Tables))


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
