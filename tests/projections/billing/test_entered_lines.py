"""What the ledger enters for each event that means time or money, event by event, and what it enters for none."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from events.admission import PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.billing import CorrectionEntered, LineKind, Meter, PriceListSet
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from events.event import Millis
from events.pod_set import PodSet, PodShape
from events.preemption import PreemptionOrdered
from events.settings import SettingsObserved
from events.upkeep import DiscardReason, WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    EvictionOrdered,
    Owner,
    PodSetAssignment,
    PodsReclaimed,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.billing.cards.reconcile import reconcile
from projections.billing.entries.entry import CardEntry, Window
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import quantity
from projections.billing.quota.quota_book import HeldQuotaKey
from projections.log_position import LogPosition

KEY, OTHER = "team/w", "team/urgent"
CARD = Card(uuid="GPU-1", index=0, slots=10, memory=16_000, model="A100")
SHARE = CardShare(uuid=CARD.uuid, vendor="NVIDIA", memory=4_000, cores=25)
PLACEMENT = PodPlacement(pod_set="main", index=0, node="n", containers=((SHARE,),))
GIVEN = PodSetAssignment(
    name="main", count=4, flavors={"cpu": "spot", "gpu": "v100"}, usage={"cpu": 4000, "gpu": 8, "pods": 4}
)
SPEC = WorkloadSpec(queue="lq", pod_sets=())
CPU, GPU = HeldQuotaKey("team", "cq", "spot", "cpu"), HeldQuotaKey("team", "cq", "v100", "gpu")
PLATFORM = (NodeObserved(name="n"), DevicesRegistered(node="n", cards=(CARD,)))
SUBMITTED = WorkloadSubmitted(
    workload=KEY, uid="u", created_at=0, spec=SPEC, owner=Owner(kind="Job", name="j", uid="j")
)
RESERVED = QuotaReserved(workload=KEY, cluster_queue="cq", assignments=(GIVEN,))
ADMITTED = WorkloadAdmitted(workload=KEY, cluster_queue="cq")
CARDS = DevicesReserved(workload=KEY, reservation=2, placements=(PLACEMENT,))
RETURNED = DevicesReleased(workload=KEY, reservation=2, proof="pods gone")
EVICTED = EvictionOrdered(workload=KEY, reason="PodsReadyTimeout")
RUNS = (SUBMITTED, RESERVED, ADMITTED, CARDS)


def told(*events: AnyEvent, window: Window = ALWAYS) -> Ledger:
    """A ledger that is told of a platform, then of each event in its second, whose number is also that of its message."""
    ledger = Ledger(LedgerScope(window=window))
    for event in PLATFORM:
        ledger.fold(event, LogPosition(partition="FACTS", sequence=1, at=0))
    for number, event in enumerate(events, 1):
        ledger.fold(event, LogPosition(partition="LOG_0", sequence=number, at=number * 1000))
    return ledger


def lines(ledger: Ledger) -> list[tuple[LineKind, Millis, Millis]]:
    ledger.finish()
    return [(one.kind, one.since, one.until) for one in ledger.entries]


def held(ledger: Ledger) -> dict[HeldQuotaKey, int]:
    ledger.finish()
    return ledger.quota.held


def test_cards_are_reserved_until_the_admission_and_used_from_then_on() -> None:
    late = told(SUBMITTED, RESERVED, CARDS, ADMITTED, RETURNED)
    assert lines(late) == [(LineKind.RESERVATION, 3000, 4000), (LineKind.USAGE, 4000, 5000)]
    first, second = late.entries
    assert (str(first.began), str(first.ended)) == ("reserved LOG_0/3", "admitted LOG_0/4")
    assert (str(second.began), str(second.ended)) == ("admitted LOG_0/4", "released LOG_0/5")
    assert lines(told(*RUNS, ADMITTED, RETURNED)) == [(LineKind.USAGE, 4000, 6000)], "nobody is admitted twice"
    assert lines(told(ADMITTED)) == [], "nor is anybody of whom nothing is known"


@pytest.mark.parametrize(
    ("change", "why", "again"),
    [
        (NodeObserved(name="n", ready=False), "node not ready FACTS/9", NodeObserved(name="n")),
        (ObjectRemoved(kind="Node", name="n"), "node gone FACTS/9", None),
        (DevicesRegistered(node="n", cards=()), "cards registered FACTS/9", PLATFORM[1]),
    ],
)
def test_nobody_pays_for_a_card_that_can_not_be_used_and_the_line_says_why(
    change: AnyEvent, why: str, again: AnyEvent | None
) -> None:
    ledger = told(*RUNS)
    ledger.fold(change, LogPosition(partition="FACTS", sequence=9, at=9000))
    for event in (again,) if again is not None else ():
        ledger.fold(event, LogPosition(partition="FACTS", sequence=11, at=11_000))
    ledger.fold(RETURNED, LogPosition(partition="LOG_0", sequence=12, at=12_000))
    assert str(ledger.entries[0].ended) == why
    assert [(one.since, one.until) for one in ledger.entries] == [(4000, 9000), (11_000, 12_000)][: len(ledger.entries)]
    assert len(ledger.entries) == (2 if again is not None else 1)


def whole(uuid: str, index: int, **part: int) -> PodPlacement:
    """A pod with all of a card, or with this part of it."""
    share = CardShare(uuid=uuid, vendor="NVIDIA", **{"memory": 16_000, "cores": 0, **part})
    return PodPlacement(pod_set="main", index=index, node="n", containers=((share,),))


PAIR = (CARD, replace(CARD, uuid="GPU-2", index=1))


@pytest.mark.parametrize(
    ("given", "node_cards"),
    [
        ((whole("GPU-1", 0), whole("GPU-2", 1)), 2),
        ((whole("GPU-1", 0, memory=1, cores=100), whole("GPU-2", 1)), 2),
        ((whole("GPU-1", 0),), 0),
        ((whole("GPU-1", 0), whole("GPU-2", 1, memory=15_999)), 0),
        ((whole("GPU-1", 0), whole("GPU-2", 1, memory=8_000), whole("GPU-2", 2, memory=8_000)), 0),
    ],
    ids=["all", "all by their cores", "one", "not all of one", "one by two pods"],
)
def test_a_node_is_given_whole_where_one_attempt_has_each_of_its_cards_whole_each_by_one_pod(
    given: tuple[PodPlacement, ...], node_cards: int
) -> None:
    ledger = told(DevicesRegistered(node="n", cards=PAIR), replace(CARDS, placements=given))
    three = DevicesRegistered(node="n", cards=(*PAIR, replace(CARD, uuid="GPU-3", index=2)))
    ledger.fold(three, LogPosition(partition="FACTS", sequence=9, at=9000))
    ledger.finish()
    assert {one.slice.node_cards for one in ledger.entries} == {node_cards}
    part = quantity(ledger.entries[0], Meter.NODE, 3_600_000)
    assert Fraction(*part) == (Fraction(1, 2) if node_cards else 0)


def test_two_attempts_that_have_all_cards_of_a_node_between_them_are_not_given_it_whole() -> None:
    one, other = (replace(CARDS, placements=(whole(card.uuid, 0),)) for card in PAIR)
    ledger = told(DevicesRegistered(node="n", cards=PAIR), one, replace(other, workload=OTHER))
    ledger.fold(PLATFORM[0], LogPosition(partition="FACTS", sequence=9, at=9000))
    ledger.finish()
    assert [one.slice.node_cards for one in ledger.entries] == [0, 0]


def test_what_is_told_of_a_card_at_a_time_that_it_has_passed_counts_from_that_one_in_both_books() -> None:
    other = replace(CARDS, workload=OTHER, placements=(replace(PLACEMENT, index=1),))
    ledger = told(*RUNS, RETURNED)
    ledger.fold(other, LogPosition(partition="LOG_0", sequence=6, at=3000))
    ledger.fold(replace(RETURNED, workload=OTHER), LogPosition(partition="LOG_0", sequence=7, at=7000))
    assert lines(ledger) == [(LineKind.USAGE, 4000, 5000), (LineKind.RESERVATION, 5000, 7000)]
    assert not reconcile(ledger.cards.book, ledger.entries).mismatches


def test_who_is_let_in_again_with_the_pods_alone_that_are_not_done_is_billed_for_those_until_more_are() -> None:
    half = replace(GIVEN, count=2, usage={"cpu": 2000, "gpu": 4, "pods": 2})
    done, out = PodsReclaimed(workload=KEY, counts={"main": 2}), QuotaReleased(workload=KEY, reason="Preempted")
    again = replace(RESERVED, assignments=(half,))
    first = 4000 * 1000 + 2000 * 1000
    ledger = told(SUBMITTED, RESERVED, done, out, again, ADMITTED, replace(done, counts={"main": 3}), ADMITTED)
    assert held(ledger)[CPU] == first + 2000 * 2000 + 1000 * 1000


def test_who_was_let_in_by_another_manager_is_billed_for_what_it_still_needs() -> None:
    pods = (PodSet(name="main", count=4, shape=PodShape(containers=())),)
    for count, before, later, amount in ((4, 0, 1, 3), (4, 1, 2, 2), (2, 2, 2, 2), (2, 2, 3, 1), (3, 0, 1, 2)):
        given = replace(GIVEN, count=count, usage={"cpu": 1000 * count})
        reserved = Condition(type="QuotaReserved", status=ConditionStatus.TRUE, reason="QuotaReserved")
        adopted = AdoptedStatus(
            conditions=(reserved,), cluster_queue="cq", assignments=(given,), reclaimable={"main": before}
        )
        found = replace(SUBMITTED, spec=replace(SPEC, pod_sets=pods), adopted=adopted)
        ledger = told(found, PodsReclaimed(workload=KEY, counts={"main": later}), ADMITTED)
        needed = min(count, 4 - before)
        assert held(ledger)[CPU] == 1000 * 1000 * (needed + amount), (count, before, later)


@pytest.mark.parametrize(
    "end",
    [
        QuotaReleased(workload=KEY, reason="Preempted"),
        WorkloadOrphaned(workload=KEY),
        WorkloadFailedToStart(workload=KEY, message="no"),
        WorkloadDiscarded(workload=KEY, reason=DiscardReason.DELETED),
        WorkloadDeleted(workload=KEY),
        WorkloadFinished(workload=KEY, reason="Succeeded"),
    ],
)
def test_quota_is_held_from_its_reservation_until_the_workload_lets_it_go(end: AnyEvent) -> None:
    ledger = told(SUBMITTED, RESERVED, ADMITTED, end, NodeObserved(name="n"))
    assert held(ledger) == {CPU: 4000 * 2000, GPU: 8 * 2000}, (
        "pods have no flavor, so there is nothing to sum them up by"
    )
    reclaimed = told(SUBMITTED, RESERVED, ADMITTED, end, PodsReclaimed(workload=KEY, counts={"main": 1}), EVICTED)
    assert held(reclaimed) == {CPU: 4000 * 2000, GPU: 8 * 2000}, "pods that are done later give nothing back"


def test_pods_that_are_done_give_back_their_part_of_the_quota_unless_the_gate_is_off() -> None:
    done = PodsReclaimed(workload=KEY, counts={"main": 3})
    assert held(told(SUBMITTED, RESERVED, done, ADMITTED)) == {CPU: 4000 * 1000 + 1000 * 1000, GPU: 8 * 1000 + 2 * 1000}
    off = SettingsObserved(gates={"ReclaimablePods": False})
    assert held(told(off, SUBMITTED, RESERVED, done, ADMITTED)) == {CPU: 4000 * 2000, GPU: 8 * 2000}


def test_pod_sets_of_one_flavor_are_held_together() -> None:
    both = replace(RESERVED, assignments=(GIVEN, replace(GIVEN, name="more", usage={"gpu": 3})))
    assert held(told(SUBMITTED, both, EVICTED)) == {CPU: 4000 * 1000, GPU: 11 * 1000}


def test_what_operators_enter_moves_no_time() -> None:
    ledger = told(*RUNS)
    for event in (
        PriceListSet(name="p", currency="EUR", starts=0, prices=()),
        CorrectionEntered(tenant="team", reason="r", author="ann"),
    ):
        ledger.fold(event, LogPosition(partition="CONTROL", sequence=1, at=90_000))
    assert ledger.at == 4000
    ledger.fold(NodeObserved(name="n"), LogPosition(partition="FACTS", sequence=2, at=3000))
    assert ledger.at == 4000, "and a late fact takes none back"


def test_what_goes_on_is_entered_as_far_as_the_log_reaches_or_as_far_as_is_asked() -> None:
    for asked, until in ((None, 6000), (5500, 5500), (7000, 6000)):
        ledger = told(*RUNS, NodeObserved(name="n"), NodeObserved(name="n"))
        ledger.finish(asked)
        assert [(one.since, one.until, one.ended) for one in ledger.entries] == [(4000, until, None)]
        assert ledger.quota.held[GPU] == 8 * (until - 2000)


def test_a_workload_that_changed_its_queue_holds_its_next_cards_under_that_one() -> None:
    moved = WorkloadChanged(workload=KEY, spec=replace(SPEC, queue="new"))
    first, second = (told(*events, RETURNED) for events in (RUNS, (SUBMITTED, RESERVED, moved, CARDS)))
    assert [one.entries[0].holder.local_queue for one in (first, second)] == ["lq", "lq"], "the attempt began under it"
    again = told(SUBMITTED, moved, RESERVED, replace(CARDS, reservation=3), replace(RETURNED, reservation=3))
    assert again.entries[0].holder.local_queue == "new"
    assert lines(told(moved)) == [], "of whom nothing is known nothing changes"


def test_who_asks_is_told_on_each_line() -> None:
    holder = told(*RUNS, RETURNED).entries[0].holder
    assert (holder.tenant, holder.workload, holder.uid, holder.job) == ("team", KEY, "u", "team/j")
    assert (holder.owner_kind, holder.cluster_queue, holder.attempt) == ("Job", "cq", 2)
    (entry,) = told(CARDS, RETURNED).entries
    assert (entry.holder.workload, entry.holder.cluster_queue, entry.kind) == (KEY, "", LineKind.RESERVATION)


def test_a_workload_that_is_told_of_again_while_it_holds_something_stays_who_it_is() -> None:
    another = replace(SUBMITTED, uid="another", owner=None)
    holds = told(*RUNS, another, RETURNED, RESERVED, replace(CARDS, reservation=7), replace(RETURNED, reservation=7))
    assert [one.holder.uid for one in holds.entries] == ["u", "u"]
    waits = told(SUBMITTED, another, RESERVED, replace(CARDS, reservation=3), replace(RETURNED, reservation=3))
    assert [one.holder.uid for one in waits.entries] == ["another"]
    assert waits.tenants == {"team"}


def test_cards_that_nobody_has_set_aside_are_not_given_back() -> None:
    assert lines(told(RETURNED)) == []
    assert lines(told(*RUNS, replace(RETURNED, reservation=9), EVICTED)) == [(LineKind.USAGE, 4000, 6000)]


def stated(kind: str, status: ConditionStatus = ConditionStatus.TRUE) -> Condition:
    return Condition(type=kind, status=status, reason="", message="", since=0)


@pytest.mark.parametrize(
    ("conditions", "queue", "kind"),
    [
        ((stated("QuotaReserved"), stated("Admitted")), "cq", LineKind.USAGE),
        ((stated("Admitted"),), "cq", LineKind.USAGE),
        ((stated("QuotaReserved"),), "cq", LineKind.RESERVATION),
        ((stated("QuotaReserved"), stated("Admitted", ConditionStatus.FALSE)), "cq", LineKind.RESERVATION),
        ((stated("QuotaReserved"), stated("Finished", ConditionStatus.FALSE)), "cq", LineKind.RESERVATION),
        ((stated("QuotaReserved"), stated("Admitted"), stated("Finished")), "cq", None),
        ((stated("QuotaReserved", ConditionStatus.FALSE), stated("Admitted")), "cq", None),
        ((stated("QuotaReserved"), stated("Admitted")), "", None),
    ],
)
def test_a_workload_that_held_quota_before_the_log_began_holds_it_from_when_it_was_seen(
    conditions: tuple[Condition, ...], queue: str, kind: LineKind | None
) -> None:
    adopted = AdoptedStatus(conditions=conditions, cluster_queue=queue, assignments=(GIVEN,))
    given, back = replace(CARDS, reservation=1), replace(RETURNED, reservation=1)
    ledger = told(replace(SUBMITTED, adopted=adopted), given, back)
    assert [one.kind for one in ledger.entries] == [kind or LineKind.RESERVATION]
    assert [one.holder.cluster_queue for one in ledger.entries] == ["cq" if kind else ""]
    assert held(ledger) == ({CPU: 4000 * 2000, GPU: 8 * 2000} if kind else {})


@pytest.mark.parametrize(
    ("ends", "wastes"),
    [
        ((EVICTED, RETURNED), [("PodsReadyTimeout", "", "")]),
        ((RETURNED,), []),
        ((RETURNED, EVICTED), []),
        ((EVICTED, WorkloadFinished(workload=KEY, reason="Succeeded"), RETURNED), []),
        (
            (PreemptionOrdered(workload=KEY, preemptor=OTHER, reason="InClusterQueue"), EVICTED, RETURNED),
            [("Preempted", OTHER, "")],
        ),
        (
            (
                PreemptionRequested(workload=OTHER, cluster_queue="theirs", assignments=(), victims=()),
                PreemptionOrdered(workload=KEY, preemptor=OTHER, reason="InClusterQueue"),
                RETURNED,
            ),
            [("Preempted", OTHER, "theirs")],
        ),
        (
            (EVICTED, PreemptionOrdered(workload=KEY, preemptor=OTHER, reason="r"), RETURNED),
            [("PodsReadyTimeout", "", "")],
        ),
    ],
)
def test_an_attempt_that_was_cut_short_is_told_with_the_first_reason_and_who_made_room_for_whom(
    ends: tuple[AnyEvent, ...], wastes: list[tuple[str, str, str]]
) -> None:
    ledger = told(*RUNS, *ends)
    assert [(one.reason, one.preemptor, one.preemptor_queue) for one in ledger.wastes] == wastes
    number = 4 + len(ends)
    assert [(one.at, one.place) for one in ledger.wastes] == [(number * 1000, f"LOG_0/{number}")] * len(wastes)
    assert [one.entries for one in ledger.wastes] == [tuple(ledger.entries)] * len(wastes)


@pytest.mark.parametrize(("window", "wasted"), [((0, 6000), 0), ((6000, 6001), 1), ((6001, 9000), 0)])
def test_an_attempt_is_cut_short_in_the_window_in_which_its_cards_were_given_back(
    window: tuple[int, int], wasted: int
) -> None:
    assert len(told(*RUNS, EVICTED, RETURNED, window=Window(*window)).wastes) == wasted


def test_who_never_had_a_card_has_wasted_none() -> None:
    nothing = replace(CARDS, placements=())
    assert told(SUBMITTED, RESERVED, nothing, EVICTED, RETURNED).wastes == []


def test_a_workload_pays_once_where_its_pod_got_another_card() -> None:
    """HAMi took GPU-2 where the log had set GPU-1 aside; a second pod takes a card on top of that."""
    second = replace(CARD, uuid="GPU-2", index=1)
    both = DevicesRegistered(node="n", cards=(CARD, second))
    pod = PodObserved(
        namespace="team", name="p", uid="p", node="n", phase="Running", workload=KEY,
        shares=((replace(SHARE, uuid="GPU-2"),),),
    )  # fmt: skip
    right = replace(pod, name="q", uid="q", shares=((SHARE,),))
    ledger = told(both, SUBMITTED, RESERVED, ADMITTED, replace(CARDS, reservation=3), pod, right)
    found = [(one.kind, one.slice.card.uuid, one.since) for one in sorted(finished(ledger), key=lambda one: one.since)]
    assert found == [
        (LineKind.USAGE, "GPU-1", 5000),
        (LineKind.ELSEWHERE, "GPU-2", 6000),
    ]
    moved = next(one for one in ledger.entries if one.kind is LineKind.ELSEWHERE)
    assert (moved.holder.job, moved.holder.uid, moved.holder.cluster_queue) == ("team/j", "u", "cq")
    later = told(both, SUBMITTED, RESERVED, ADMITTED, replace(CARDS, reservation=3), pod, right, NodeObserved(name="n"))
    kinds = [(one.kind, one.since, one.until) for one in finished(later) if one.slice.card.uuid == "GPU-2"]
    assert kinds == [(LineKind.ELSEWHERE, 6000, 7000), (LineKind.UNRESERVED, 7000, 8000)], "nothing is missing any more"


def test_what_a_pod_held_before_its_workload_was_reserved_cards_is_on_its_queue_s_account_from_then_on() -> None:
    second = replace(CARD, uuid="GPU-2", index=1)
    pod = PodObserved(
        namespace="team", name="p", uid="p", node="n", phase="Running", workload=KEY,
        shares=((replace(SHARE, uuid="GPU-2"),),),
    )  # fmt: skip
    both = DevicesRegistered(node="n", cards=(CARD, second))
    ledger = told(both, SUBMITTED, pod, RESERVED, ADMITTED, replace(CARDS, reservation=4), NodeObserved(name="n"))
    found = [
        (one.kind, one.holder.cluster_queue, one.holder.uid) for one in finished(ledger) if one.slice.card == second
    ]
    assert found == [(LineKind.UNRESERVED, "", ""), (LineKind.ELSEWHERE, "cq", "u")]


def finished(ledger: Ledger) -> list[CardEntry]:
    ledger.finish()
    return ledger.entries
