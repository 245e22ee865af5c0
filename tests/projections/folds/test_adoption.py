"""What is there of a workload that is new to the log, by the status that its object shows."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import CheckRule
from events.settings import SettingsObserved
from events.workload import (
    AdoptedStatus,
    CheckState,
    Condition,
    EvictionCount,
    GateState,
    PodSetAssignment,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.workloads.lifecycle import Devices
from projections.workloads.stops import Requeue
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, check, false, true

HERE = PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 1000})
CARDS = PodShape(containers=(ContainerShape(name="main", limits={"nvidia.com/gpu": 1}),))
RESERVED = true("QuotaReserved", "QuotaReserved", since=MINUTE)
ADMITTED = true("Admitted", "Admitted", since=MINUTE * 2)


def found(
    *conditions: Condition, room: Room | None = None, spec: WorkloadSpec = SPEC, held: bool = False, **more: Any
) -> Room:
    """A room in which a workload was found with these conditions, and with an admission where it is `held`."""
    given: dict[str, Any] = {"cluster_queue": "cq", "assignments": (HERE,)} if held else {}
    status = AdoptedStatus(conditions=conditions, **{**given, **more})
    return (room or Room()).tell(WorkloadSubmitted(workload=KEY, uid="u", created_at=0, spec=spec, adopted=status))


def charged(room: Room) -> list[int]:
    return list((room.world.holders("cq").usage.get(KEY) or {}).values())


def test_its_conditions_checks_back_off_evictions_gates_and_time_are_those_that_its_object_shows() -> None:
    conditions = (false("QuotaReserved", "Pending", since=MINUTE), true("Evicted", "Preempted", since=MINUTE))
    ready = check("k", CheckState.READY, since=MINUTE)
    evictions = (EvictionCount(reason="Preempted", count=3),)
    gate = GateState(name="g")
    one = found(
        *conditions,
        checks=(ready,),
        requeue_count=2,
        requeue_at=MINUTE * 90,
        evictions=evictions,
        past_execution=MINUTE * 7,
        gates=(gate,),
        unhealthy_nodes=("n",),
    ).workload
    assert one.conditions == {one.type: one for one in conditions}
    assert one.checks == {"k": ready}
    assert one.stops.requeue == Requeue(count=2, at=MINUTE * 90)
    assert (one.stops.evictions, one.stops.past_execution) == (evictions, MINUTE * 7)
    assert one.gates == {"g": gate}
    assert one.second_pass.unhealthy_nodes == ("n",)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [(RESERVED, True), (false("QuotaReserved", "Pending", since=MINUTE), False), (None, True)],
    ids=["reserved", "lost", "untold"],
)
def test_it_is_charged_at_once_where_its_object_says_where_it_was_let_in_and_not_that_this_is_over(
    condition: Condition | None, *, holds: bool
) -> None:
    room = found(*([] if condition is None else [condition]), held=True)
    assert charged(room) == ([1000] if holds else [])
    assert room.workload.reserved is holds
    if room.workload.admission is not None:
        assert room.workload.admission.reserved_at == (room.at if condition is None else condition.since)
        assert room.workload.admission.of_others
    assert not found(RESERVED).workload.reserved, "it does not say where"


def test_who_has_finished_is_charged_for_nothing_and_its_end_is_on_its_object_already() -> None:
    over = found(RESERVED, ADMITTED, true("Finished", "Succeeded"), held=True)
    assert charged(over) == []
    assert over.workload.finish_shown
    assert not found(RESERVED, ADMITTED, held=True).workload.finish_shown
    assert not found(RESERVED, ADMITTED, false("Finished", "Succeeded"), held=True).workload.finish_shown


def test_pods_that_were_given_back_are_not_charged_unless_nothing_is_given_back() -> None:
    spec = replace(SPEC, pod_sets=(replace(SPEC.pod_sets[0], count=2),))
    two = replace(HERE, count=2, usage={"cpu": 2000})
    one = found(RESERVED, ADMITTED, spec=spec, held=True, assignments=(two,), reclaimable={"main": 1})
    assert (charged(one), one.workload.reclaimable) == ([1000], {"main": 1})
    off = Room(SettingsObserved(gates={"ReclaimablePods": False}))
    found(RESERVED, ADMITTED, room=off, spec=spec, held=True, assignments=(two,), reclaimable={"main": 1})
    assert (charged(off), off.workload.reclaimable) == ([2000], {})


def test_what_protects_it_counts_from_the_times_that_its_object_shows() -> None:
    runs = found(RESERVED, ADMITTED, true("Preempted", "InClusterQueue", since=MINUTE), held=True).workload
    assert (runs.admitted_at, runs.stops.preempted_at) == (MINUTE * 2, MINUTE)
    waits = found(
        false("Admitted", "NoReservation", since=MINUTE * 2), false("Preempted", "QuotaReserved", since=MINUTE)
    ).workload
    assert (waits.admitted_at, waits.stops.preempted_at) == (None, MINUTE)
    untold = found(true("Admitted", "Admitted"), true("Preempted", "InClusterQueue")).workload
    assert (untold.admitted_at, untold.stops.preempted_at) == (None, None)


def test_who_runs_has_its_cards_and_nothing_is_set_aside_for_it_once_more() -> None:
    cards = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=CARDS),))
    one = found(RESERVED, ADMITTED, spec=cards, held=True).workload
    assert one.admission is not None
    assert one.devices == Devices(reservation=one.admission.reservation)
    assert found(RESERVED, spec=cards, held=True).workload.devices is None, "it does not run yet"
    assert found(RESERVED, ADMITTED, held=True).workload.devices is None, "it asks for none"


def test_the_checks_that_it_needs_are_those_of_its_queue_and_without_one_those_that_it_has() -> None:
    shown = (check("k", CheckState.READY), check("old", CheckState.READY))
    with_queue = found(RESERVED, room=Room(checks=(CheckRule(name="k"),)), held=True, checks=shown).workload
    without = found(RESERVED, held=True, cluster_queue="gone", checks=shown).workload
    assert with_queue.admission is not None and with_queue.admission.required_checks == ("k",)
    assert without.admission is not None and without.admission.required_checks == ("k", "old")
