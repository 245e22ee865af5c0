"""What is entered of an elastic job: each slice has what it held while it held it, and no pod is entered twice."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.billing import LineKind
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from events.event import Millis
from events.pod_set import PodSet
from events.slices import WorkloadSliceDropped, WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceSubmitted
from events.workload import (
    Owner,
    PodSetAssignment,
    PodsReclaimed,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.ledger import Ledger
from projections.log_position import LogPosition

SECOND: Millis = 1000
FIRST, NEXT = "team/w", "team/w-2"
SPEC = WorkloadSpec(queue="lq", pod_sets=())
CARDS = tuple(Card(uuid=f"GPU-{index}", index=index, slots=10, memory=16_000, model="A100") for index in range(2))
SHARES = tuple(CardShare(uuid=card.uuid, vendor="NVIDIA", memory=4_000, cores=25) for card in CARDS)
PLATFORM = (NodeObserved(name="n"), DevicesRegistered(node="n", cards=CARDS))


def reserved(workload: str, count: int) -> QuotaReserved:
    given = PodSetAssignment(name="main", count=count, flavors={"cpu": "spot"}, usage={"cpu": count})
    return QuotaReserved(workload=workload, cluster_queue="cq", assignments=(given,))


def placed(workload: str, reservation: int, *shares: CardShare) -> DevicesReserved:
    """One pod on each of these."""
    placements = tuple(
        PodPlacement(pod_set="main", index=index, node="n", containers=((share,),))
        for index, share in enumerate(shares)
    )
    return DevicesReserved(workload=workload, reservation=reservation, placements=placements)


def pod(name: str, share: CardShare, workload: str = FIRST, *, elastic: bool = True) -> PodObserved:
    """A pod that runs and holds a part of a card; those of an elastic job name the first slice of its chain."""
    return PodObserved(
        namespace="team",
        name=name,
        uid=name,
        node="n",
        phase="Running",
        workload=workload,
        pod_set="main",
        shares=((share,),),
        elastic=elastic,
    )


RUNS: dict[int, AnyEvent] = {
    1: WorkloadSubmitted(workload=FIRST, uid="u", created_at=0, spec=SPEC),
    2: reserved(FIRST, 1),
    3: placed(FIRST, 2, SHARES[0]),
    4: WorkloadAdmitted(workload=FIRST, cluster_queue="cq"),
    5: pod("a", SHARES[0]),
}
"""By second: the first slice runs with one pod."""
GROWS: dict[int, AnyEvent] = {
    **RUNS,
    10: WorkloadSliceSubmitted(workload=NEXT, replaces=FIRST, uid="u2", created_at=0, spec=SPEC),
    11: reserved(NEXT, 2),
    12: WorkloadSliceReplaced(workload=FIRST, by=NEXT, message=""),
    14: placed(NEXT, 11, *SHARES),
    15: WorkloadAdmitted(workload=NEXT, cluster_queue="cq"),
}
"""Another takes its place with two, one of which goes on where it is."""


def told(story: dict[int, AnyEvent]) -> Ledger:
    ledger = Ledger(LedgerScope(priced=frozenset({"cpu"})))
    for event in PLATFORM:
        ledger.fold(event, LogPosition(partition="FACTS", sequence=1, at=0))
    for second, event in sorted(story.items()):
        ledger.fold(event, LogPosition(partition="LOG_0", sequence=second, at=second * SECOND))
    return ledger


def lines(story: dict[int, AnyEvent]) -> list[tuple[str, str, LineKind, int, int]]:
    """Of cards: whose, of which, as what, from which second to which."""
    ledger = told(story)
    ledger.finish()
    return sorted(
        (one.holder.workload, one.slice.card.uuid, one.kind, one.since // SECOND, one.until // SECOND)
        for one in ledger.entries
        if one.since < one.until
    )


def quota(story: dict[int, AnyEvent]) -> list[tuple[str, int, int, int]]:
    """Of quota that is used: whose, how much, from which second to which."""
    ledger = told(story)
    ledger.finish()
    return sorted(
        (one.holder.workload, one.amount, one.since // SECOND, one.until // SECOND)
        for one in ledger.quota_entries
        if one.kind is LineKind.USAGE and one.since < one.until
    )


def test_cards_are_those_of_the_slice_before_until_the_one_in_its_place_is_given_its_own() -> None:
    story = {**GROWS, 16: pod("b", SHARES[1]), 20: DevicesReleased(workload=NEXT, reservation=11, proof="pods gone")}
    own = [
        (NEXT, card.uuid, kind, since, until)
        for card in CARDS
        for kind, since, until in ((LineKind.RESERVATION, 14, 15), (LineKind.USAGE, 15, 20))
    ]
    first = [
        (FIRST, "GPU-0", LineKind.RESERVATION, 3, 4),
        (FIRST, "GPU-0", LineKind.USAGE, 4, 14),
    ]
    gone: dict[int, AnyEvent] = {
        18: replace(pod("a", SHARES[0]), phase="Succeeded"),
        19: replace(story[16], phase="Failed"),
    }
    assert lines({**story, **gone}) == sorted([*first, *own])


def test_pods_that_were_seen_before_and_after_belong_to_the_slice_that_goes_on() -> None:
    story = {**GROWS, 16: pod("a", SHARES[0]), 17: pod("b", SHARES[1]), 20: pod("c", SHARES[1])}
    beyond = [
        one for one in lines({**story, 25: pod("d", SHARES[1])}) if one[2] not in (LineKind.RESERVATION, LineKind.USAGE)
    ]
    assert beyond == [(NEXT, "GPU-1", LineKind.UNRESERVED, 20, 25)], "the third pod holds what nobody set aside"
    other = {**GROWS, 16: pod("a", SHARES[0], elastic=False), 20: pod("e", SHARES[1], NEXT)}
    assert [one for one in lines(other) if one[2] is LineKind.UNRESERVED] == [
        (FIRST, "GPU-0", LineKind.UNRESERVED, 16, 20)
    ], "a pod of no elastic job belongs to whom it names"


def test_whose_a_pod_is_does_not_hang_on_the_order_of_names() -> None:
    earlier = {FIRST: "team/w-9", NEXT: "team/w-2"}
    story = {
        second: replace(
            event,
            **{name: earlier[getattr(event, name)] for name in ("workload", "by", "replaces") if hasattr(event, name)},
        )
        for second, event in {**GROWS, 16: pod("a", SHARES[0]), 17: pod("b", SHARES[1])}.items()
    }
    assert {workload for workload, _, _, _, until in lines(story) if until == 17} == {"team/w-2"}


def test_a_slice_that_had_lost_its_quota_hands_nothing_over() -> None:
    story: dict[int, AnyEvent] = {
        **RUNS,
        8: QuotaReleased(workload=FIRST, reason="Preempted"),
        10: WorkloadSliceSubmitted(workload=NEXT, replaces=FIRST, uid="u2", created_at=0, spec=SPEC),
        11: WorkloadSliceDropped(workload=FIRST, by=NEXT, message=""),
        12: reserved(NEXT, 1),
        14: placed(NEXT, 12, SHARES[1]),
        15: WorkloadAdmitted(workload=NEXT, cluster_queue="cq"),
        18: DevicesReleased(workload=FIRST, reservation=2, proof="pods gone"),
        20: DevicesReleased(workload=NEXT, reservation=12, proof="pods gone"),
    }
    assert [one for one in lines(story) if one[2] is LineKind.USAGE] == [
        (FIRST, "GPU-0", LineKind.USAGE, 4, 18),
        (NEXT, "GPU-1", LineKind.USAGE, 15, 20),
    ]
    assert quota(story) == [(FIRST, 1, 4, 8), (NEXT, 1, 15, 20)]


@pytest.mark.parametrize(
    ("end", "until"),
    [
        (WorkloadFinished(workload=FIRST, reason="Succeeded"), 18),
        (WorkloadDeleted(workload=FIRST), 18),
        (DevicesReleased(workload=FIRST, reservation=2, proof="replaced"), 20),
    ],
)
def test_quota_is_held_by_one_slice_at_a_time_until_the_job_ends_under_the_name_of_the_first(
    end: AnyEvent, until: int
) -> None:
    assert quota({**GROWS, 18: end, 20: pod("a", SHARES[0])}) == [(FIRST, 1, 4, 12), (NEXT, 2, 15, until)]


def test_pods_that_are_done_are_reckoned_to_the_slice_that_goes_on() -> None:
    story = {**GROWS, 18: PodsReclaimed(workload=FIRST, counts={"main": 1}), 20: pod("a", SHARES[0])}
    assert quota(story) == [(FIRST, 1, 4, 12), (NEXT, 1, 18, 20), (NEXT, 2, 15, 18)]


def test_what_is_said_of_a_job_ends_the_slice_in_which_it_was_told_where_the_first_one_never_was() -> None:
    spec = replace(SPEC, elastic=True, slice_name=FIRST.partition("/")[2])
    owner = Owner(kind="Job", name="e", uid="u")
    begun = WorkloadSubmitted(workload=NEXT, uid="u", owner=owner, created_at=0, spec=spec)
    story = {**RUNS, 1: begun, 2: reserved(NEXT, 1), 3: placed(NEXT, 2, SHARES[0])}
    story[4] = WorkloadAdmitted(workload=NEXT, cluster_queue="cq")
    story |= {18: WorkloadFinished(workload=FIRST, reason="Succeeded"), 20: pod("a", SHARES[0])}
    assert quota(story) == [(NEXT, 1, 4, 18)]


ELASTIC = WorkloadSpec(queue="lq", pod_sets=(), elastic=True)
JOB = Owner(kind="Job", name="w", uid="j")
MADE_BY_OTHERS: dict[int, AnyEvent] = {
    1: WorkloadSubmitted(workload=FIRST, uid="u", created_at=0, spec=ELASTIC),
    2: reserved(FIRST, 1),
    3: WorkloadOwned(workload=FIRST, owner=JOB),
    10: WorkloadSubmitted(workload=NEXT, uid="u2", created_at=0, spec=replace(ELASTIC, replaces=FIRST)),
    11: reserved(NEXT, 2),
    12: WorkloadSliceReplaced(workload=FIRST, by=NEXT, message=""),
}
"""By second: a manager of other clusters makes each slice as an object of its own."""


def quota_of(story: dict[int, AnyEvent]) -> list[tuple[str, str, int, int, int]]:
    """Whose quota by which local queue, how much of it, from which second to which."""
    ledger = told(story)
    ledger.finish()
    return [
        (one.holder.workload, one.holder.local_queue, one.amount, one.since // SECOND, one.until // SECOND)
        for one in ledger.quota_entries
    ]


@pytest.mark.parametrize(
    "end",
    [WorkloadDeleted(workload=FIRST), WorkloadFinished(workload=FIRST, reason="Succeeded")],
    ids=["deleted", "over"],
)
def test_the_end_of_a_slice_with_an_object_of_its_own_does_not_end_the_one_that_goes_on(end: AnyEvent) -> None:
    story = {**MADE_BY_OTHERS, 20: end, 30: WorkloadDeleted(workload=NEXT), 40: RUNS[1]}
    if isinstance(end, WorkloadFinished):
        del story[3]  # Nobody knows of a job.
    assert quota_of(story) == [(FIRST, "lq", 1, 2, 12), (NEXT, "lq", 2, 11, 30)]


def test_the_end_of_the_job_of_slices_with_objects_of_their_own_ends_the_one_that_goes_on() -> None:
    end = WorkloadFinished(workload=FIRST, reason="Succeeded")
    assert quota_of({**MADE_BY_OTHERS, 20: end, 40: RUNS[1]})[-1] == (NEXT, "lq", 2, 11, 20)


def test_pods_that_are_done_of_a_job_that_asks_for_more_are_given_back_as_far_as_its_slice_needs_them_no_more() -> None:
    def of(count: int, *, replaces: str = "") -> WorkloadSpec:
        return replace(ELASTIC, pod_sets=(PodSet(name="main", count=count),), replaces=replaces)

    story: dict[int, AnyEvent] = {
        1: WorkloadSubmitted(workload=FIRST, uid="u", created_at=0, owner=JOB, spec=of(2)),
        2: reserved(FIRST, 2),
        5: WorkloadChanged(workload=FIRST, spec=of(4)),
        6: WorkloadSliceSubmitted(workload=NEXT, replaces=FIRST, uid="u2", created_at=0, spec=of(4, replaces=FIRST)),
        10: PodsReclaimed(workload=FIRST, counts={"main": 1}),
        20: PodsReclaimed(workload=FIRST, counts={"main": 3}),
        30: WorkloadFinished(workload=FIRST, reason="Succeeded"),
        40: RUNS[5],
    }
    assert [one[2:] for one in quota_of(story)] == [(2, 2, 20), (1, 20, 30)]
    smaller = {10: story[10], 15: WorkloadSliceResized(workload=FIRST, pod_sets=of(1).pod_sets)}
    alone = {**{at: event for at, event in story.items() if at not in (5, 6, 20)}, **smaller}
    assert [one[2:] for one in quota_of(alone)] == [(2, 2, 10), (1, 10, 30)]


def test_a_job_that_goes_to_another_queue_is_billed_there_from_its_next_attempt_on_in_each_of_its_slices() -> None:
    moved = WorkloadChanged(workload=FIRST, spec=replace(SPEC, queue="other"))
    assert quota_of({**GROWS, 9: moved})[-1][:2] == (NEXT, "lq"), "as the slice says that comes after it"
    waiting = {**GROWS, 11: moved, 13: reserved(NEXT, 2)}
    assert quota_of({**waiting, 40: RUNS[5]})[-1][:2] == (NEXT, "other")
    again = {
        **GROWS,
        20: QuotaReleased(workload=NEXT, reason="Preempted", message=""),
        21: moved,
        22: reserved(NEXT, 2),
    }
    assert quota_of({**again, 40: RUNS[5]})[-1][:2] == (NEXT, "other")
