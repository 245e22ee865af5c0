"""A hundred random days, each written as a log: every decision comes out the same again, under any hash seed."""

import subprocess
import sys

import msgspec
import pytest

from events.admission import QuotaReserved
from events.catalogue import Decision
from events.codec import decode_commit, encode
from events.event import Millis
from events.subjects import FACTS
from ops.cli.questions.replay_rows import changes_of
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import large_day, played, small_day
from projections.log_position import LogPosition
from projections.work_queue import WorkQueue
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager import decide
from services.queue_manager.decide import QueueManager
from services.queue_manager.reconcile import reconcile
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.host import Decider
from tests.places import ROOT

TURNS = 150


@pytest.mark.parametrize("seed", range(100))
def test_every_decision_of_a_random_day_comes_out_the_same(seed: int) -> None:
    entries, _ = played(small_day(seed), most=TURNS)
    results = [fold_partition(partition, entries, verify=True)[1] for partition in (PARTITION, DEVICE_PARTITION)]
    assert sum(one.verified for one in results) > 0
    differing = [f"{one.partition}/{d.sequence} by {d.author}" for one in results for d in one.differences]
    assert not differing


@pytest.mark.parametrize("seed", range(20))
def test_who_looks_at_everything_each_time_finds_nothing_that_was_passed_over(seed: int) -> None:
    entries, _ = played(small_day(seed), most=TURNS)
    deciders: dict[str, Decider] = {one.name: one for one in (QueueManager(), Admitter(), Preemptor(), Accountant())}
    for partition in (PARTITION, DEVICE_PARTITION):
        fold = PartitionFold(partition)
        for name in {FACTS, PARTITION, DEVICE_PARTITION} - {partition}:
            fold.offer(name, entries[name])
        for entry in entries[partition]:
            commit = decode_commit(entry.data)
            fold.fold_ahead(commit.inputs)
            fold.world.review_all()
            fold.world.advance(commit.at)
            place = LogPosition(partition=partition, sequence=entry.sequence, at=commit.at)
            assert tuple(deciders[commit.author].decide(fold.world, place)) == commit.events
            fold.fold_commit(entry, commit)


def test_somebody_whom_every_service_passes_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told, look_at_all = WorkQueue.mark_dirty, World.review_all

    def told_of_others(review: WorkQueue, key: str) -> None:
        if key != "day/w3":
            told(review, key)

    def look(world: World) -> None:
        with monkeypatch.context() as for_once:
            for_once.setattr(WorkQueue, "mark_dirty", told)
            look_at_all(world)

    monkeypatch.setattr(WorkQueue, "mark_dirty", told_of_others)
    monkeypatch.setattr(World, "review_all", look)
    entries, _ = played(small_day(1), most=TURNS)
    _, result = fold_partition(PARTITION, entries, verify=True)
    first = result.differences[0]
    assert first.author == "queue-manager"
    assert b'"workload":"day/w3"' in first.decided
    assert b'"workload":"day/w3"' not in first.recorded
    _, at_once = fold_partition(PARTITION, entries, verify=True, looks_at_all=True)
    assert at_once.differences[0].sequence < first.sequence


def test_four_times_the_log_takes_about_four_times_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def counted(world: World, workload: Workload, at: Millis) -> list[Decision]:
        looks.append(workload.key)
        return reconcile(world, workload, at)

    def looks_at(workloads: int) -> int:
        entries, _ = played(large_day(workloads), cards=False, step=1000)
        looks.clear()
        with monkeypatch.context() as counting:
            counting.setattr(decide, "reconcile", counted)
            fold_partition(PARTITION, entries, verify=True)
        return len(looks)

    few, many = looks_at(200), looks_at(800)
    assert few > 200
    assert many < few * 5


def test_a_decision_that_was_changed_is_found_with_what_led_to_it() -> None:
    entries, _ = played(small_day(2), most=60)
    commits = [decode_commit(entry.data) for entry in entries[PARTITION]]
    index = next(i for i, each in enumerate(commits) if any(isinstance(one, QuotaReserved) for one in each.events))
    entry, commit = entries[PARTITION][index], commits[index]
    reserved = [event for event in commit.events if isinstance(event, QuotaReserved)]
    other = msgspec.structs.replace(reserved[0], borrow_level=7)
    events = tuple(other if event is reserved[0] else event for event in commit.events)
    changed = msgspec.structs.replace(entry, data=encode(msgspec.structs.replace(commit, events=events)))
    upto = {**entries, PARTITION: [*entries[PARTITION][:index], changed]}
    _, result = fold_partition(PARTITION, upto, verify=True)
    (difference,) = result.differences
    assert difference.sequence == entry.sequence
    (change,) = changes_of(difference)
    assert change.fields == ["borrow_level"]
    assert change.recorded["borrow_level"] == 7


WRITE_DAYS = """
import hashlib
from ops.sandbox.bench.day import played, small_day
digest = hashlib.sha256()
for seed in range(6):
    entries, _ = played(small_day(seed), most=80)
    for name in sorted(entries):
        for entry in entries[name]:
            digest.update(entry.data)
print(digest.hexdigest())
"""


def test_a_day_is_the_same_to_the_byte_under_any_hash_seed() -> None:
    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", WRITE_DAYS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(ROOT)},
        )
        return done.stdout

    assert run("1") == run("4711") == run("0")
