"""Admission does not run far ahead of the cluster, and nobody waits for one that alone is never written."""

import asyncio

from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.application import DecisionApplied, DecisionRejected
from events.catalogue import Fact
from events.codec import decode_commit, decode_sighting, encode
from events.commit import Sighting
from events.event import Millis
from events.quota import LocalQueueObserved, PreemptionPolicy
from events.rules import RULES
from events.subjects import FACTS, fact_subject
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadQueued
from ops.production.archive.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_partition
from projections.world import World
from services.admitter.decide import Admitter
from services.queue_manager.decide import MOST_EVENTS, QueueManager
from services.runtime.log_port import Message
from services.runtime.partition.admission_window import LONGEST, PROBE, SIZE, AdmissionWindow
from services.runtime.partition.host import PartitionHost
from services.runtime.tracing import NoTracer
from tests.services.runtime.partition.test_host import admitted, stop, tell, without_cards
from tests.services.runtime.partition.test_killed_hosts import StillClock
from tests.stories.small_world import Story, job, queue

WRITTEN_AFTER: Millis = 100


def story(*names: str) -> Story:
    """Some jobs that are admitted at once."""
    found = Story().told(*without_cards(60), *(job(name) for name in names))
    found.decided()
    return found


def written(world: World, key: str) -> DecisionApplied:
    return DecisionApplied(workload=key, partition=PARTITION, sequence=world.workloads[key].decided)


def test_as_many_as_are_written_at_a_time_may_be_on_their_way() -> None:
    at, window = story("a"), AdmissionWindow(size=2)
    at.told(written(at.world, "team/a"), job("b"))
    at.decided()
    window.look(at.world, at.at)
    assert window.is_open and window.room == 1
    at.told(job("c"))
    at.decided()
    window.look(at.world, at.at)
    assert not window.is_open
    at.told(written(at.world, "team/b"))
    window.look(at.world, at.at)
    assert window.is_open and window.room == 1


def test_while_nothing_is_written_one_is_let_in_each_half_minute_and_no_more() -> None:
    at, window = story("a", "b"), AdmissionWindow(size=2)
    for one in ("c", "d"):
        window.look(at.world, at.at)
        assert not window.is_open and window.opens_at == at.at + PROBE
        at.at += 29_999
        window.look(at.world, at.at)
        assert not window.is_open
        at.at += 1
        window.look(at.world, at.at)
        assert window.is_open and window.room == 1 and window.opens_at is None
        at.told(job(one))
        at.decided()


def test_a_process_that_starts_while_nothing_is_written_lets_nobody_in_either() -> None:
    at, began = story("a", "b"), AdmissionWindow(size=2)
    at.at += PROBE - 1
    began.look(at.world, at.at)
    assert not began.is_open
    at.told(written(at.world, "team/a"))
    began.look(at.world, at.at)
    assert began.is_open and began.room == 1


def test_as_many_may_be_on_their_way_as_were_written_lately() -> None:
    names = [f"j{number}" for number in range(6)]
    at, window = story(*names), AdmissionWindow(size=2)
    window.look(at.world, at.at)
    assert window.room < 0
    at.told(*(written(at.world, f"team/{name}") for name in names))
    window.look(at.world, at.at)
    assert window.is_open and window.room == len(names)
    window.look(at.world, at.at)
    assert window.room == len(names), "each counts once"
    at.at += 1999
    window.look(at.world, at.at)
    assert window.room == len(names), "two seconds are not over"
    at.at += 1
    window.look(at.world, at.at)
    assert window.room == 2


def test_one_that_is_never_written_keeps_nobody_waiting_once_others_overtake_it() -> None:
    at, window = story("stuck"), AdmissionWindow(size=1)
    window.look(at.world, at.at)
    assert not window.is_open
    at.told(job("other"))
    at.decided()
    at.told(written(at.world, "team/other"))
    window.look(at.world, at.at)
    assert not window.is_open, "it has not taken long yet"
    at.at += LONGEST
    at.told(job("later"))
    at.decided()
    at.told(written(at.world, "team/later"))
    window.look(at.world, at.at)
    assert window.is_open


def test_what_was_decided_before_it_overtakes_nobody() -> None:
    at, window = story("early", "stuck"), AdmissionWindow(size=1)
    window.look(at.world, at.at)
    at.at += LONGEST
    at.told(written(at.world, "team/early"))
    window.look(at.world, at.at)
    assert not window.is_open


def test_one_is_given_up_when_as_many_others_have_overtaken_it_as_are_written_at_a_time() -> None:
    at, window = story("stuck"), AdmissionWindow()
    window.look(at.world, at.at)
    at.at += LONGEST
    for number in range(4):
        assert window.room == 4 - 1, f"{number} have overtaken it"
        at.told(job(f"other-{number}"))
        at.decided()
        at.told(written(at.world, f"team/other-{number}"))
        window.look(at.world, at.at)
    assert window.room == 4, "four were written, and nothing is on its way"


def test_what_the_cluster_does_not_take_keeps_nobody_waiting() -> None:
    at, window = story("a"), AdmissionWindow(size=1)
    window.look(at.world, at.at)
    assert not window.is_open
    of = at.world.workloads["team/a"].decided
    at.told(DecisionRejected(workload="team/a", partition=PARTITION, sequence=of, reason="Invalid", message="no"))
    window.look(at.world, at.at)
    assert window.is_open


def test_what_is_decided_later_about_who_runs_is_no_admission() -> None:
    at, window = story("a"), AdmissionWindow(size=1)
    at.told(written(at.world, "team/a"))
    window.look(at.world, at.at)
    workload = at.world.workloads["team/a"]
    at.world.put_workload(replace(workload, decided=workload.decided + 1))
    window.look(at.world, at.at)
    assert window.is_open


def test_who_is_deleted_before_it_was_written_is_on_its_way_no_more() -> None:
    at, window = story("a"), AdmissionWindow(size=1)
    window.look(at.world, at.at)
    at.told(WorkloadDeleted(workload="team/a"))
    window.look(at.world, at.at)
    assert window.is_open


def test_who_ends_before_it_was_written_is_on_its_way_no_more() -> None:
    at, window = story("a"), AdmissionWindow(size=1)
    at.told(written(at.world, "team/a"), job("b"))
    at.decided()
    window.look(at.world, at.at)
    assert not window.is_open
    at.told(WorkloadFinished(workload="team/b", reason="Succeeded"))
    window.look(at.world, at.at)
    assert window.is_open


def test_while_somebody_who_is_known_is_in_no_line_nobody_is_let_in() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    assert window.opens_at == at.at + LONGEST and not window.is_open
    at.decided()
    window.look(at.world, at.at)
    assert window.is_open
    at.told(job("b", queue="none"))
    window.look(at.world, at.at)
    assert not window.is_open
    at.decided()
    window.look(at.world, at.at)
    assert window.is_open, "there is no line for it, which is decided"


def test_a_queue_manager_that_is_away_keeps_nobody_waiting_for_long() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    window.look(at.world, at.at + LONGEST)
    assert window.is_open
    at.told(job("b"))
    window.look(at.world, at.at + LONGEST)
    assert not window.is_open


def test_who_stays_in_no_line_is_waited_for_once_whatever_happens_to_it_after() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    at.at += LONGEST
    window.look(at.world, at.at)
    at.told(WorkloadChanged(workload="team/a", spec=job("a", priority=5).spec))
    window.look(at.world, at.at)
    assert window.is_open
    at.decided()
    at.told(WorkloadDeleted(workload="team/a"))
    window.look(at.world, at.at)
    at.told(job("a"))
    window.look(at.world, at.at)
    assert not window.is_open, "this is another one"


async def test_nobody_borrows_before_the_owners_are_in_line_however_many_come_at_once() -> None:
    bus, many = MemoryBus(), 2 * MOST_EVENTS
    facts = [
        *without_cards(1, cohort="c"),
        queue("owners", nominal=1, reclaim=PreemptionPolicy.ANY, cohort="c"),
        LocalQueueObserved(namespace="team", name="own", cluster_queue="owners"),
        *(job(f"borrower-{index}") for index in range(many)),
        job("owner", queue="own"),
    ]
    await tell(bus, facts)
    host = PartitionHost(
        own=bus.memory(PARTITION),
        inputs=[bus.memory(DEVICE_PARTITION), bus.memory(FACTS)],
        deciders=[QueueManager(), Admitter()],
        clock=StillClock(),
        tracer=NoTracer(),
        rules="1",
        replica="one",
        window=AdmissionWindow(),
    )
    serving = asyncio.create_task(host.run())
    let_in = await admitted(bus, 2)
    assert "team/owner" in let_in
    await stop(serving)


async def test_who_comes_with_priority_while_others_are_being_written_is_admitted_before_who_came_earlier() -> None:
    bus, clock = MemoryBus(), StillClock()
    host = PartitionHost(
        own=bus.memory(PARTITION),
        inputs=[bus.memory(DEVICE_PARTITION), bus.memory(FACTS)],
        deciders=[QueueManager(), Admitter()],
        clock=clock,
        tracer=NoTracer(),
        rules="1",
        replica="one",
        window=AdmissionWindow(size=2),
    )
    serving = asyncio.create_task(host.run())
    await tell(bus, [*without_cards(4), job("first")])
    await admitted(bus, 1)
    await write(bus, "team/first")
    await tell(bus, [job("second"), job("third")], begin=100)
    await admitted(bus, 3)
    await tell(bus, [job("early")], begin=200)
    await queued(bus, "team/early")
    await tell(bus, [job("urgent", priority=10)], begin=300)
    await queued(bus, "team/urgent")
    await write(bus, "team/second")
    assert (await admitted(bus, 4))[3:] == ["team/urgent"]
    await stop(serving)


async def test_no_more_are_admitted_and_not_written_than_were_written_lately_and_a_replay_decides_the_same() -> None:
    bus, clock, many = MemoryBus(), StillClock(), 40
    hosts = [bounded(bus, clock, name) for name in ("one", "two")]
    serving = asyncio.create_task(hosts[0].run())
    await tell(bus, [*without_cards(many), *(job(f"j{number:02}") for number in range(many))])
    known = await admitted(bus, SIZE)
    done = 0
    while len(known) < many:
        if done == SIZE:
            # Another takes over while nothing is written, and knows of no pace.
            await stop(serving)
            serving = asyncio.create_task(hosts[1].run())
            await asyncio.wait_for(hosts[1].caught_up.wait(), 30)
        for key in known[done:]:
            await write(bus, key)
        done = len(known)
        known = await asyncio.wait_for(admitted(bus, done + 1), 30)
    await stop(serving)
    log = await read_everything(bus)
    facts, upto, let_in = [decode_sighting(one.data).fact for one in log[FACTS]], 0, 0
    commits = [decode_commit(one.data) for one in log[PARTITION]]
    for commit in commits:
        upto = max((run.upto for run in commit.inputs if run.stream == FACTS), default=upto)
        let_in += sum(isinstance(one, WorkloadAdmitted) for one in commit.events)
        applied = sum(isinstance(one, DecisionApplied) for one in facts[:upto])
        assert let_in - applied <= max(SIZE, applied)
    assert any(0 < one.most_admissions < many for one in commits)
    _, replayed = fold_partition(PARTITION, log, verify=True)
    assert replayed.verified == len(commits) and not replayed.differences


def bounded(bus: MemoryBus, clock: StillClock, name: str) -> PartitionHost:
    return PartitionHost(
        own=bus.memory(PARTITION),
        inputs=[bus.memory(DEVICE_PARTITION), bus.memory(FACTS)],
        deciders=[QueueManager(), Admitter()],
        clock=clock,
        tracer=NoTracer(),
        rules=RULES,
        replica=name,
        window=AdmissionWindow(),
    )


async def write(bus: MemoryBus, key: str) -> None:
    fact: Fact = DecisionApplied(
        workload=key, partition=PARTITION, sequence=(await bus.memory(PARTITION).last()).sequence
    )
    sighting = Sighting(id=f"written {key}", at=WRITTEN_AFTER, author="applier", fact=fact)
    message = Message(fact_subject("", "DecisionApplied"), encode(sighting), sighting.id)
    await bus.memory(FACTS).publish([message])


async def queued(bus: MemoryBus, key: str) -> None:
    """Follow the partition until the workload waits for its queue."""
    async for batch in bus.memory(PARTITION).follow(0):
        for entry in batch:
            if any(isinstance(one, WorkloadQueued) and one.workload == key for one in decode_commit(entry.data).events):
                return
