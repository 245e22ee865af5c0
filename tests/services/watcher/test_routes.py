"""Where a watcher sends facts about workloads: to the partition of their namespace, once the log says which that is, and for good."""

import pytest

from events.catalogue import Fact
from events.codec import encode
from events.commit import Sighting
from events.control import ObjectRemoved
from events.partition_map import PartitionMapObserved, TreePlacement
from events.pod import PodAccounted
from events.quota import LocalQueueObserved
from events.subjects import FACTS, addressee, is_for, routed_subject
from events.workload import PodsGone, PodsReady, WorkloadDeleted
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus, MemoryStream
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Message
from services.watcher.log_reading import ReportedByAll
from services.watcher.saved_view import ViewSaver
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View
from tests.stories.small_world import job, platform, queue

PLACED = PartitionMapObserved(
    partitions=3,
    placements=(TreePlacement(tree="queue/cq", partition=1), TreePlacement(tree="queue/b", partition=2)),
)
OTHER = (queue("b", nominal=8), LocalQueueObserved(namespace="team", name="lq-b", cluster_queue="b"))
READY = PodsReady(workload="team/a", ready=True)


def blank() -> ReportedByAll:
    return ReportedByAll(View(settings=None), SeenVersions())


async def tell(facts: MemoryStream, *told: Fact) -> None:
    for fact in told:
        name = f"f{len(facts.entries)}"
        await facts.publish([fact_message(Sighting(id=name, at=1000, author="watcher", fact=fact))])


async def reading(*told: Fact) -> ReportedByAll:
    facts, reported = MemoryBus().memory(FACTS), blank()
    await tell(facts, *told)
    await reported.read_back(facts)
    return reported


async def route(*told: Fact, of: Fact = READY) -> str:
    return (await reading(*told)).routes.of(of)


async def test_a_log_that_is_not_divided_has_no_routes() -> None:
    assert await route(*platform(), job("a")) == ""


async def test_facts_of_a_namespace_go_to_the_partition_to_which_its_queues_lead_from_its_first_workload_on() -> None:
    assert await route(PLACED, *platform()) == "", "nobody has been told yet"
    told = (PLACED, *platform(), job("a"))
    ended = PodAccounted(workload="team/a", namespace="team", name="p", uid="u")
    for fact in (READY, PodsGone(workload="team/a"), WorkloadDeleted(workload="team/z"), job("b"), ended):
        assert await route(*told, of=fact) == "LOG_1"
    assert await route(*told, of=PodsReady(workload="other/a", ready=True)) == ""
    assert await route(*told, of=platform()[0]) == "", "configuration is for all"


async def test_a_namespace_whose_queues_lead_to_several_partitions_or_to_none_is_for_all_for_good() -> None:
    assert await route(PLACED, *platform(), *OTHER, job("a")) == ""
    gone = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq-b")
    assert await route(PLACED, *platform(), *OTHER, job("a"), gone, job("c")) == ""
    assert await route(PLACED, job("a"), *platform(), job("c")) == ""


async def test_a_home_is_kept_whatever_queues_come_later() -> None:
    gone = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
    assert await route(PLACED, *platform(), job("a"), *OTHER, gone, job("c")) == "LOG_1"


async def test_a_namespace_that_was_in_use_before_the_log_was_divided_stays_in_the_first_partition() -> None:
    assert await route(*platform(), PLACED, job("a")) == "LOG_0"


@pytest.mark.parametrize("seen", [0, 2, 5, 7])
async def test_a_watcher_that_begins_at_a_saved_view_knows_the_same_routes(seen: int) -> None:
    told = (PLACED, *platform(), job("a"), *OTHER)
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *told[:seen])
    saver = ViewSaver(facts, shelf, None, blank)
    await saver.save()
    await tell(facts, *told[seen:])
    begun = blank()
    await saver.restore(begun)
    await begun.read_back(facts)
    assert begun.position == len(told)
    assert begun.routes.saved() == (await reading(*told)).routes.saved()
    assert begun.routes.of(READY) == "LOG_1"


async def test_a_fact_for_a_partition_that_does_not_decide_about_it_is_not_reported_yet() -> None:
    facts, reported = MemoryBus().memory(FACTS), blank()
    await tell(facts, PLACED, *platform())
    astray = Sighting(id="astray", at=1000, author="watcher", fact=job("a"))
    await facts.publish([Message(routed_subject("LOG_2", "WorkloadSubmitted"), encode(astray), "astray")])
    await reported.read_back(facts)
    assert "team/a" not in reported.view.workloads and reported.routes.of(READY) == ""


def test_a_subject_says_for_whom_a_fact_is() -> None:
    subject = routed_subject("LOG_1", "PodsGone")
    assert addressee(subject) == "LOG_1"
    assert [name for name in ("LOG_0", "LOG_1", "LOG_11", "DEVICES_default", "") if is_for(subject, name)] == [
        "LOG_1",
        "DEVICES_default",
        "",
    ]
    assert addressee("kuelog.facts.to.PodsGone") == "", "a tree may be called so"
    assert is_for("kuelog.facts.team.PodsGone", "LOG_3")
