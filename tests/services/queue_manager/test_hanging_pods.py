"""Pods that hang on nodes out of reach: when they are ended by force, and which are left alone.

Rule: docs/rules/eviction.md#failure-recovery
"""

import pytest
from msgspec.structs import replace

from events.control import ObjectRemoved
from events.device import NodeObserved, PodObserved
from events.pod import PodEndForced
from events.selector import Effect, Taint
from events.slices import WorkloadSliceReplaced
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, after, settings, submitted

NEXT = "team/w-2"
OUT_OF_REACH = NodeObserved(
    name="a", ready=False, taints=(Taint(key="node.kubernetes.io/unreachable", value="", effect=Effect.NO_SCHEDULE),)
)
ON = settings(gates={"FailureRecoveryPolicy": True})
POD = PodObserved(
    namespace="team",
    name="p0",
    uid="u0",
    node="a",
    phase="Running",
    workload=KEY,
    pod_set="main",
    terminating=True,
    gone_by=MINUTE * 60,
    cardless=True,
    forcible=True,
)
FORCED = PodEndForced(workload=KEY, namespace="team", pod="p0", uid="u0", node="a", due=MINUTE * 60)


def hanging(pod: PodObserved = POD, *, on: bool = True, node: NodeObserved = OUT_OF_REACH) -> Room:
    room = Room(*([ON] if on else []), node)
    return room.tell(submitted(SPEC, reserved=True, admitted_at=MINUTE)).tell(pod)


def forced(room: Room) -> list[PodEndForced]:
    return [one for one in room.steps() if isinstance(one, PodEndForced)]


@pytest.mark.parametrize("saved", [False, True], ids=["", "from a saved world"])
def test_it_is_ended_by_force_a_minute_after_it_should_have_been_gone_and_once(*, saved: bool) -> None:
    room = hanging()
    assert forced(room) == []
    if saved:
        room.world = world_of(tables_of(room.world))
    assert forced(after(room, 59)) == [] and KEY not in room.world.work.waiting("queue-manager")
    assert KEY in after(room, 1).world.work.waiting("queue-manager")
    assert forced(room) == [FORCED]
    assert forced(after(room, 600)) == []
    again = world_of(tables_of(room.world))
    assert again.forced_pods == {"team/p0": FORCED} and state_hash(again) == state_hash(room.world)


def test_one_of_an_elastic_job_is_ended_in_time_also_when_another_slice_has_taken_it_over() -> None:
    elastic = replace(SPEC, elastic=True)
    room = Room(ON, OUT_OF_REACH).tell(submitted(elastic, reserved=True, admitted_at=MINUTE))
    room.tell(replace(POD, elastic=True), replace(submitted(elastic), workload=NEXT, uid="next"))
    room.tell(WorkloadSliceReplaced(workload=KEY, by=NEXT, message=""))
    assert room.world.pods["team/p0"].workload == NEXT
    assert NEXT in after(room, 60).world.work.waiting("queue-manager")


@pytest.mark.parametrize(
    "room",
    [
        hanging(on=False),
        hanging(replace(POD, forcible=False)),
        hanging(replace(POD, phase="Failed")),
        hanging(replace(POD, node="")),
        hanging(replace(POD, workload="team/other")),
        hanging(node=NodeObserved(name="a", ready=False)),
        hanging(
            node=replace(OUT_OF_REACH, taints=(replace(OUT_OF_REACH.taints[0], key="node.kubernetes.io/not-ready"),))
        ),
        hanging(node=NodeObserved(name="b")),
    ],
    ids=[
        "gate off",
        "did not say so",
        "ended",
        "on no node",
        "another's",
        "node not out of reach",
        "node not ready",
        "node gone",
    ],
)
def test_others_are_left_alone(room: Room) -> None:
    assert forced(after(room, 600)) == []


def test_it_is_looked_at_again_when_its_node_gets_out_of_reach() -> None:
    room = hanging(node=NodeObserved(name="a"))
    assert forced(after(room, 600)) == []
    list(room.world.work.take_all("queue-manager"))
    room.tell(OUT_OF_REACH)
    assert KEY in room.world.work.waiting("queue-manager")
    assert forced(room) == [FORCED]


def test_once_it_is_gone_nothing_is_known_of_it_and_another_of_its_name_is_another() -> None:
    room = after(hanging(), 60)
    assert forced(room) == [FORCED]
    room.tell(replace(POD, uid="u1", terminating=False, forcible=False))
    assert not room.world.forced_pods and not room.world.hanging_pods
    room = after(hanging(), 60)
    assert forced(room) == [FORCED]
    room.tell(ObjectRemoved(kind="Pod", namespace="team", name="p0"))
    assert not room.world.forced_pods and not room.world.hanging_pods


def test_its_workload_is_looked_at_again_for_others_that_hang_and_all_else() -> None:
    room = hanging().tell(replace(POD, name="p1", uid="u1"))
    after(room, 60)
    list(room.world.work.take_all("queue-manager"))
    room.tell(FORCED)
    assert KEY in room.world.work.waiting("queue-manager")
    assert forced(room) == [replace(FORCED, pod="p1", uid="u1")]
