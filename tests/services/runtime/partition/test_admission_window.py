"""Admission does not run far ahead of the cluster, and nobody waits for what is never written."""

import asyncio

from events.application import DecisionApplied
from events.catalogue import Fact
from events.codec import decode_commit, encode
from events.commit import Sighting
from events.event import Millis
from events.quota import LocalQueueObserved, PreemptionPolicy
from events.subjects import FACTS, fact_subject
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadQueued
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from projections.world import World
from services.admitter.decide import Admitter
from services.queue_manager.decide import MOST_EVENTS, QueueManager
from services.runtime.log_port import Message
from services.runtime.partition.admission_window import LONGEST, AdmissionWindow
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
    assert window.opens() is None
    at.told(job("c"))
    at.decided()
    window.look(at.world, at.at)
    assert window.opens() is not None
    at.told(written(at.world, "team/b"))
    window.look(at.world, at.at)
    assert window.opens() is None


def test_an_admission_that_is_not_written_for_long_keeps_nobody_waiting() -> None:
    at, window = story("a"), AdmissionWindow(size=2)
    at.told(written(at.world, "team/a"), job("b"), job("c"))
    at.decided()
    window.look(at.world, at.at)
    opens = window.opens()
    assert opens is not None and opens == at.at + LONGEST
    window.look(at.world, opens)
    assert window.opens() is None


def test_the_first_admissions_of_all_are_bounded_as_well() -> None:
    at, window = story("a", "b"), AdmissionWindow(size=2)
    window.look(at.world, at.at)
    assert window.opens() == at.at + LONGEST


def test_where_nobody_writes_nobody_waits_after_the_first() -> None:
    at, window = story("a", "b"), AdmissionWindow(size=2)
    window.look(at.world, at.at)
    at.at += LONGEST
    window.look(at.world, at.at)
    at.told(job("c"), job("d"), job("e"))
    at.decided()
    window.look(at.world, at.at)
    assert window.opens() is None
    at.told(written(at.world, "team/c"))
    window.look(at.world, at.at)
    assert window.opens() is not None, "somebody does write"


def test_who_ends_before_it_was_written_is_on_its_way_no_more() -> None:
    at, window = story("a"), AdmissionWindow(size=1)
    at.told(written(at.world, "team/a"), job("b"))
    at.decided()
    window.look(at.world, at.at)
    assert window.opens() is not None
    at.told(WorkloadFinished(workload="team/b", reason="Succeeded"))
    window.look(at.world, at.at)
    assert window.opens() is None


def test_while_somebody_who_is_known_is_in_no_line_nobody_is_let_in() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    assert window.opens() == at.at + LONGEST
    at.decided()
    window.look(at.world, at.at)
    assert window.opens() is None
    at.told(job("b", queue="none"))
    window.look(at.world, at.at)
    assert window.opens() is not None
    at.decided()
    window.look(at.world, at.at)
    assert window.opens() is None, "there is no line for it, which is decided"


def test_a_queue_manager_that_is_away_keeps_nobody_waiting_for_long() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    window.look(at.world, at.at + LONGEST)
    assert window.opens() is None
    at.told(job("b"))
    window.look(at.world, at.at + LONGEST)
    assert window.opens() is not None


def test_who_stays_in_no_line_is_waited_for_once_whatever_happens_to_it_after() -> None:
    at, window = Story().told(*without_cards(60), job("a")), AdmissionWindow()
    window.look(at.world, at.at)
    at.at += LONGEST
    window.look(at.world, at.at)
    at.told(WorkloadChanged(workload="team/a", spec=job("a", priority=5).spec))
    window.look(at.world, at.at)
    assert window.opens() is None
    at.decided()
    at.told(WorkloadDeleted(workload="team/a"))
    window.look(at.world, at.at)
    at.told(job("a"))
    window.look(at.world, at.at)
    assert window.opens() is not None, "this is another one"


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
