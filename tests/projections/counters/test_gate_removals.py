"""How long pods stay at their gates once their workload is admitted, and how often slices of elastic jobs are replaced."""

import msgspec
from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import PodObserved
from events.slices import WorkloadSliceReplaced, WorkloadSliceSubmitted
from events.topology import PodTopology
from events.workload import Member, MemberState, Owner, WorkloadChanged
from projections.counters.counted_in_world import counted_in
from projections.counters.counted_so_far import CountedSoFar, Series
from projections.counters.queue_counters import QueueCounters
from tests.stories.small_world import Story, job, platform

KEY = "team/a"
ASKED = job("a")
GATED = tuple(Member(name=name, uid=f"uid-{name}", pod_set="main") for name in ("p", "q"))
TOPOLOGY, ELASTIC, ADMISSION = (f"kueue.x-k8s.io/{gate}" for gate in ("topology", "elastic-job", "admission"))


def counted(*told: tuple[int, AnyEvent]) -> QueueCounters:
    """What is counted after events with their times, stored and begun anew before each."""
    counters = QueueCounters()
    for at, event in told:
        counters.fold(event, at, sequence=at)
        counters.settle()
        stored = msgspec.json.encode(counters.so_far())
        counters = QueueCounters()
        counters.begin_at(msgspec.json.decode(stored, type=CountedSoFar))
    return counters


def removals(*told: tuple[int, AnyEvent]) -> dict[Series, tuple[int, int]]:
    """By gate, queue and whether it is a group: how many were removed, and after how long together."""
    times = counted(*told).times
    name = "kueue_pod_scheduling_gate_removal_seconds"
    return {series[1:]: (sum(one.counts), one.total) for series, one in times.items() if series[0] == name}


def let_in(at: int, workload: str = KEY) -> list[tuple[int, AnyEvent]]:
    reserved = QuotaReserved(workload=workload, cluster_queue="cq", assignments=())
    return [(at, reserved), (at, WorkloadAdmitted(workload=workload, cluster_queue="cq"))]


def seen(*, topology: bool = False, slice: bool = False, uid: str = "u", leaving: bool = False) -> PodObserved:
    placed = PodTopology(gated=topology)
    fields = {"topology": placed, "waits_for_slice": slice, "terminating": leaving}
    return PodObserved(namespace="team", name="p", uid=uid, workload=KEY, elastic=True, **fields)  # pyright: ignore[reportArgumentType]


def test_a_pod_that_is_let_through_is_counted_from_the_admission_of_its_workload_on() -> None:
    held = replace(ASKED, spec=replace(ASKED.spec, members=GATED), owner=Owner(kind="PodGroup", name="a", uid="a"))
    first, second = (replace(one, state=MemberState.LIVE) for one in GATED)
    told = [
        (1, held),
        *let_in(1000),
        (1030, WorkloadChanged(workload=KEY, spec=replace(held.spec, members=(first, GATED[1])))),
        (1500, WorkloadChanged(workload=KEY, spec=replace(held.spec, members=(first, second)))),
        (1600, WorkloadChanged(workload=KEY, spec=replace(held.spec, members=(first, second)))),
    ]
    assert removals(*told) == {(ADMISSION, "cq", "true"): (2, 530)}
    alone = replace(held, owner=Owner(kind="Pod", name="a", uid="a"))
    assert removals((1, alone), *told[1:]) == {(ADMISSION, "cq", "false"): (2, 530)}


def test_each_gate_of_a_pod_counts_when_it_is_seen_to_be_gone() -> None:
    told = [
        (1, ASKED),
        *let_in(1000),
        (1010, seen(topology=True, slice=True)),
        (1020, seen(topology=True)),
        (1080, seen()),
        (1090, seen()),
    ]
    assert removals(*told) == {(ELASTIC, "cq", "false"): (1, 20), (TOPOLOGY, "cq", "false"): (1, 80)}


def test_no_gate_was_removed_of_a_pod_that_goes_or_is_another() -> None:
    begun = [(1, ASKED), *let_in(1000), (1010, seen(topology=True))]
    gone = ObjectRemoved(kind="Pod", namespace="team", name="p")
    for then in (seen(uid="other"), seen(leaving=True), gone):
        assert removals(*begun, (1020, then), (1030, seen())) == {}
    assert removals((1, ASKED), (10, seen(topology=True)), (20, seen())) == {}, "nobody has admitted its workload"


def test_a_slice_that_is_replaced_counts_in_the_queue_in_which_it_had_its_quota() -> None:
    larger = WorkloadSliceSubmitted(
        workload="team/a-2", uid="a-2", owner=ASKED.owner, created_at=5, spec=ASKED.spec, replaces=KEY
    )
    told = [(1, ASKED), *let_in(10), (20, larger), *let_in(30, "team/a-2")]
    replaced = (30, WorkloadSliceReplaced(workload=KEY, by="team/a-2", message=""))
    name = "kueue_replaced_workload_slices_total"
    assert counted(*told).counts.get((name, "cq")) is None
    assert counted(*told, replaced).counts[name, "cq"] == 1


def test_a_job_that_is_told_in_a_later_slice_is_counted_in_that_also_by_who_begins_in_a_world_with_it() -> None:
    begun = replace(ASKED, workload="team/a-2", spec=replace(ASKED.spec, elastic=True, slice_name="a"))
    told = [(1, begun), *let_in(1000, "team/a-2"), (1010, seen(slice=True)), (1020, seen())]
    assert removals(*told) == {(ELASTIC, "cq", "false"): (1, 20)}
    story = Story().told(*platform(), begun)
    assert counted_in(story.world).slices == {KEY: "team/a-2"} == counted((1, begun)).so_far().slices
