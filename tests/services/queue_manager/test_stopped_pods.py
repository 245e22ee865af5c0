"""Pods that were stopped and hang: their quota returns without them, their cards and their workload wait for them.

Rule: docs/rules/eviction.md#hanging-pods
"""

import pytest
from msgspec.structs import replace

from events.application import DecisionApplied
from events.card import Card, CardShare
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.preemption import PreemptionOrdered
from events.workload import (
    EvictionOrdered,
    Member,
    MemberState,
    Owner,
    QuotaReleased,
    WorkloadChanged,
    WorkloadParked,
    WorkloadQueued,
    WorkloadSpec,
)
from projections.snapshot import tables_of, world_of
from projections.workloads.pods import runs_without_admission
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SECOND, SPEC, Room, after, submitted

GROUP = Owner(kind="PodGroup", name="g", uid="g", api_version="v1")
SERVES = Owner(kind="StatefulSet", name="s", uid="s", api_version="apps/v1")
BEGIN = 60 * MINUTE
STOP = PreemptionOrdered(workload=KEY, preemptor="team/x", reason="InClusterQueue", message="for another")


def member(name: str, state: MemberState = MemberState.LIVE, holds_until: int = 0) -> Member:
    return Member(name=name, uid=f"u-{name}", pod_set="main", state=state, holds_until=holds_until)


def of(*members: Member) -> WorkloadSpec:
    return replace(SPEC, members=members)


def stopped(*members: Member, owner: Owner = GROUP) -> Room:
    """A workload that is preempted, whose pods are being deleted."""
    room = Room(submitted(of(member("a"), member("b")), reserved=True, admitted_at=MINUTE, owner=owner)).tell(STOP)
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.stops.stopped_by))
    return room.tell(WorkloadChanged(workload=KEY, spec=of(*members)))


def looked_at(room: Room) -> bool:
    return list(room.world.work.take("queue-manager")) == [KEY]


HANGS = member("a", holds_until=BEGIN + 60 * SECOND)
HANGS_LONGER = member("b", holds_until=BEGIN + 90 * SECOND)
OVER = member("b", MemberState.OVER)


@pytest.mark.parametrize("saved", [False, True], ids=["", "from a saved world"])
@pytest.mark.parametrize("owner", [GROUP, SERVES], ids=["group", "serves"])
def test_quota_returns_once_the_last_pod_has_been_waited_for_long_enough(owner: Owner, *, saved: bool) -> None:
    room = stopped(HANGS, HANGS_LONGER, owner=owner)
    assert room.steps() == []
    if saved:
        room.world = world_of(tables_of(room.world))
    assert not looked_at(after(room, 89)) and room.steps() == []
    assert looked_at(after(room, 1))
    released = room.step()
    assert released == [QuotaReleased(workload=KEY, reason="Preempted", message="for another")]


def test_a_pod_that_nobody_has_deleted_yet_is_waited_for() -> None:
    room = after(stopped(HANGS, member("b")), 3600)
    assert room.steps() == []


def test_it_is_waited_for_that_the_stop_is_carried_out_before_pods_count_that_hung_already() -> None:
    room = Room(submitted(of(HANGS, OVER), reserved=True, admitted_at=MINUTE, owner=GROUP)).tell(STOP)
    assert after(room, 60).steps() == []
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.stops.stopped_by))
    assert isinstance(room.step()[0], QuotaReleased)


def test_what_runs_and_has_a_pod_that_hangs_keeps_its_quota() -> None:
    room = Room(submitted(of(HANGS, member("b")), reserved=True, admitted_at=MINUTE, owner=GROUP))
    assert after(room, 3600).steps() == []
    room.tell(WorkloadChanged(workload=KEY, spec=of(HANGS, HANGS_LONGER)))
    assert after(room, 3600).steps() == []


def test_what_is_scaled_to_zero_gives_its_quota_back_though_a_pod_of_it_hangs() -> None:
    room = Room(submitted(of(member("a")), reserved=True, admitted_at=MINUTE, owner=SERVES))
    room.tell(WorkloadChanged(workload=KEY, spec=replace(of(HANGS), on_hold=True)))
    assert not looked_at(after(room, 59)) and room.steps() == []
    assert looked_at(after(room, 1))
    (released,) = room.step()
    assert isinstance(released, QuotaReleased) and (released.withdrawn, released.reason) == (True, "OnHold")


def test_it_queues_again_once_none_of_its_pods_hangs_any_more() -> None:
    room = after(stopped(HANGS, member("b", MemberState.GATED)), 60)
    released, parked = room.steps()
    assert isinstance(released, QuotaReleased) and isinstance(parked, WorkloadParked)
    assert (parked.reason, parked.message) == ("WaitingForReplacementPods", "Pods that were stopped are not gone yet")
    assert room.told("Requeued") == ("True", "Preempted", "for another")
    assert not runs_without_admission(room.workload), "its pod is being deleted, so there is nothing to end"
    assert after(room, 3600).steps() == []
    gone = of(member("a", MemberState.OVER), member("b", MemberState.GATED))
    room.tell(WorkloadChanged(workload=KEY, spec=gone))
    assert room.steps() == [WorkloadQueued(workload=KEY, cluster_queue="cq")]


def test_its_cards_are_free_only_when_the_pod_is_gone() -> None:
    share = CardShare(uuid="gpu-1", vendor="NVIDIA", memory=1000, cores=100)
    card = Card(uuid="gpu-1", index=0, slots=10, memory=1000, cores=100, model="V100", vendor="NVIDIA")
    pod = PodObserved(
        namespace="team", name="a", uid="u-a", node="n", phase="Running", workload=KEY, shares=((share,),)
    )
    room = stopped(HANGS, OVER).tell(
        NodeObserved(name="n"), DevicesRegistered(node="n", cards=(card,)), replace(pod, terminating=True)
    )
    after(room, 60).steps()
    assert not room.workload.reserved and room.world.cards.used["gpu-1"].memory == 1000


def test_an_eviction_finds_that_pods_have_hung_for_long_already() -> None:
    room = Room(submitted(of(HANGS, OVER), reserved=True, admitted_at=MINUTE, owner=GROUP))
    after(room, 3600)
    room.tell(EvictionOrdered(workload=KEY, reason="ClusterQueueStopped", message=""))
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.stops.stopped_by))
    assert isinstance(room.step()[0], QuotaReleased)
