"""Who runs where nothing can run any more has to go, and queues again (docs/rules/eviction.md#node-failures)."""

from msgspec.structs import replace

from events.application import DecisionApplied
from events.card import Card, CardShare
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from events.workload import EvictionOrdered, Owner, PodsGone, QuotaReleased, WorkloadParked
from tests.services.queue_manager.waiting_room import KEY, MINUTE, Room, submitted

CARD = Card(uuid="gpu-1", index=0, slots=10, memory=1000, cores=100, model="V100", vendor="NVIDIA")
SHARE = CardShare(uuid="gpu-1", vendor="NVIDIA", memory=1000, cores=100)
JOB = Owner(kind="Job", name="j", uid="j")
LOST = "Workload was evicted as there was no replacement for unhealthy node(s): node"
FAILED = "Workload was evicted as there was no replacement for failed card(s): gpu-1"


def running(owner: Owner = JOB, share: CardShare = SHARE) -> Room:
    room = Room(NodeObserved(name="node"), NodeObserved(name="other"), DevicesRegistered(node="node", cards=(CARD,)))
    room.tell(submitted(reserved=True, admitted_at=MINUTE, owner=owner))
    admission = room.workload.admission
    assert admission is not None
    placement = PodPlacement(pod_set="main", index=0, node="node", containers=((share,),))
    return room.tell(
        DevicesReserved(workload=KEY, reservation=admission.reservation, placements=(placement,)),
        PodObserved(namespace="team", name="p", uid="p", node="node", phase="Running", workload=KEY),
    )


def evicted(message: str) -> list[EvictionOrdered]:
    return [EvictionOrdered(workload=KEY, reason="NodeFailures", message=message)]


def test_who_runs_on_a_healthy_node_runs_on() -> None:
    assert running().steps() == []


def test_who_ran_on_a_node_that_is_gone_is_evicted_and_may_return_at_once() -> None:
    room = running().tell(ObjectRemoved(kind="Node", name="node"))
    assert room.step() == evicted(LOST)
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}")).step()
    assert room.told("Requeued") == ("True", "NodeFailures", LOST)


def test_a_pod_that_was_its_own_job_does_not_come_back() -> None:
    room = running(Owner(kind="Pod", name="p", uid="p", api_version="v1")).tell(ObjectRemoved(kind="Node", name="node"))
    assert room.step() == evicted(LOST)
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.stops.stopped_by))
    released, parked = room.steps()
    assert isinstance(released, QuotaReleased)
    assert parked == WorkloadParked(workload=KEY, cluster_queue="cq", reason="NodeFailures", message=LOST)
    assert room.told("Requeued") == ("False", "NodeFailures", LOST)
    assert room.told("QuotaReserved") == ("False", "PendingEvaluation", LOST)


def test_on_a_node_that_is_not_ready_it_goes_when_no_pod_of_it_goes_on_there() -> None:
    room = running().tell(NodeObserved(name="node", ready=False))
    assert room.steps() == []
    goes_on = PodObserved(namespace="team", name="p", uid="p", node="node", phase="Running", workload=KEY)
    for over in (
        replace(goes_on, terminating=True),
        replace(goes_on, phase="Succeeded"),
        replace(goes_on, phase="Failed"),
        replace(goes_on, node="other"),
    ):
        assert running().tell(NodeObserved(name="node", ready=False), over).step() == evicted(LOST)


def test_who_was_given_a_card_that_has_failed_is_evicted() -> None:
    room = running().tell(DevicesRegistered(node="node", cards=(replace(CARD, healthy=False),)))
    assert room.step() == evicted(FAILED)


OTHER = replace(CARD, uuid="gpu-2", index=1)


def test_who_was_given_a_card_that_its_node_no_longer_tells_of_is_evicted() -> None:
    room = running().tell(DevicesRegistered(node="node", cards=(CARD, OTHER)))
    assert room.steps() == []
    assert room.tell(DevicesRegistered(node="node", cards=(OTHER,))).step() == evicted(FAILED)


def test_a_node_that_tells_of_no_card_of_the_vendor_says_nothing_of_those_that_run_on_it() -> None:
    assert running().tell(DevicesRegistered(node="node", cards=())).steps() == []
    other = Card(uuid="dcu-1", slots=4, memory=1000, model="DCU-K100", vendor="DCU")
    assert running().tell(DevicesRegistered(node="node", cards=(other,))).steps() == []


def test_fewer_cards_that_are_only_counted_do_not_say_which_of_them_is_gone() -> None:
    told = [replace(CARD, uuid=f"node-cambricon-mlu-{i}", index=i, vendor="MLU", model="MLU") for i in range(2)]
    room = running(share=CardShare(uuid="node-cambricon-mlu-1", vendor="MLU", memory=1, cores=1))
    assert room.tell(DevicesRegistered(node="node", cards=tuple(told))).steps() == []
    assert room.tell(DevicesRegistered(node="node", cards=tuple(told[:1]))).steps() == []


def test_something_that_happens_to_a_node_has_its_workloads_looked_at() -> None:
    room = running()
    list(room.world.work.take("queue-manager"))
    room.tell(ObjectRemoved(kind="Node", name="node"))
    assert list(room.world.work.take("queue-manager")) == [KEY]
