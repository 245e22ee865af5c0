"""A job that is deleted and made anew under its name is somebody else: neither life is charged what the other has held."""

from events.admission import QuotaReserved, WorkloadAdmitted
from events.billing import LineKind
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodPlacement
from events.event import Millis
from events.workload import (
    EvictionOrdered,
    Owner,
    PodSetAssignment,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.totals import bill
from projections.log_position import LogPosition

MINUTE: Millis = 60_000
KEY = "team/w"
CARD = Card(uuid="GPU-1", index=0, slots=10, memory=16_000, model="A100")
SHARE = CardShare(uuid=CARD.uuid, vendor="NVIDIA", memory=4_000, cores=25)
PLACED = PodPlacement(pod_set="main", index=0, node="n", containers=((SHARE,),))
GIVEN = PodSetAssignment(name="main", count=1, flavors={"cpu": "default"}, usage={"cpu": 1000})


class Told:
    """A ledger that is told of one minute after the other; reservations are numbered by theirs."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.at(0, NodeObserved(name="n", labels={}), DevicesRegistered(node="n", cards=(CARD,)))

    def at(self, minute: int, *events: AnyEvent) -> None:
        for event in events:
            partition = "FACTS" if isinstance(event, WorkloadSubmitted | WorkloadDeleted) else "LOG_0"
            self.ledger.fold(event, LogPosition(partition=partition, sequence=minute, at=minute * MINUTE))

    def begins(self, minute: int, uid: str) -> None:
        self.at(minute, submitted(uid))
        self.runs(minute)

    def runs(self, minute: int) -> None:
        self.at(minute, QuotaReserved(workload=KEY, cluster_queue="q", assignments=(GIVEN,)))
        self.at(minute, DevicesReserved(workload=KEY, reservation=minute, placements=(PLACED,)))
        self.at(minute, WorkloadAdmitted(workload=KEY, cluster_queue="q"))

    def released(self, minute: int, reservation: int) -> None:
        self.at(minute, DevicesReleased(workload=KEY, reservation=reservation, proof="pods gone"))

    def lines(self) -> list[tuple[str, int, int]]:
        """By uid: from which minute to which."""
        self.ledger.finish()
        found = [one for one in self.ledger.entries if one.kind is LineKind.USAGE and one.since < one.until]
        return sorted((one.holder.uid, one.since // MINUTE, one.until // MINUTE) for one in found)


def submitted(uid: str) -> WorkloadSubmitted:
    return WorkloadSubmitted(workload=KEY, uid=uid, created_at=0, spec=WorkloadSpec(queue="main", pod_sets=()))


def test_who_is_made_anew_while_the_cards_of_the_first_are_on_their_way_back_is_charged_its_own_time() -> None:
    told = Told()
    told.begins(1, "first")
    told.at(5, WorkloadDeleted(workload=KEY), submitted("second"))
    told.released(7, 1)
    told.runs(8)
    told.at(10, WorkloadFinished(workload=KEY, reason="Succeeded"))
    told.released(10, 8)
    assert told.lines() == [("first", 1, 7), ("second", 8, 10)]


def test_who_is_made_anew_between_attempts_is_charged_its_own_time() -> None:
    told = Told()
    told.begins(1, "first")
    told.at(3, EvictionOrdered(workload=KEY, reason="Preempted"))
    told.released(4, 1)
    told.at(5, WorkloadDeleted(workload=KEY))
    told.begins(6, "second")
    told.released(9, 6)
    assert told.lines() == [("first", 1, 4), ("second", 6, 9)]
    rows = bill(told.ledger, Window(0, 60 * MINUTE), ("workload", "uid")).rows
    assert [(one.group, one.totals.memory) for one in rows if one.kind is LineKind.USAGE] == [
        ((KEY, "first"), 3 * MINUTE * 4_000),
        ((KEY, "second"), 3 * MINUTE * 4_000),
    ]
    assert [(one.reason, one.holder.uid) for one in told.ledger.wastes] == [("Preempted", "first")]


def test_who_had_quota_alone_leaves_no_trace_on_who_comes_under_its_name() -> None:
    told = Told()
    told.at(1, submitted("first"), QuotaReserved(workload=KEY, cluster_queue="q", assignments=(GIVEN,)))
    told.at(2, WorkloadFinished(workload=KEY, reason="Succeeded"), WorkloadDeleted(workload=KEY))
    told.begins(3, "second")
    told.released(4, 3)
    assert told.lines() == [("second", 3, 4)]


def test_the_eviction_of_who_comes_after_makes_nothing_wasted_of_what_the_first_has_held() -> None:
    told = Told()
    told.begins(1, "first")
    told.at(5, WorkloadDeleted(workload=KEY), submitted("second"), EvictionOrdered(workload=KEY, reason="Deactivated"))
    told.released(7, 1)
    assert told.lines() == [("first", 1, 7)]
    assert told.ledger.wastes == []


def test_who_is_told_of_again_under_the_same_uid_is_the_same() -> None:
    told = Told()
    told.begins(1, "first")
    told.at(2, submitted("first"), EvictionOrdered(workload=KEY, reason="Preempted"))
    told.released(4, 1)
    assert told.lines() == [("first", 1, 4)]
    assert [(one.reason, one.holder.uid) for one in told.ledger.wastes] == [("Preempted", "first")]


def test_what_was_let_in_before_its_job_came_is_billed_to_the_job_from_the_beginning() -> None:
    told = Told()
    told.begins(1, "made")
    told.at(3, WorkloadOwned(workload=KEY, owner=Owner(kind="Job", name="train", uid="u", api_version="batch/v1")))
    told.at(5, WorkloadFinished(workload=KEY, reason="Succeeded"))
    told.released(5, 1)
    assert told.lines() == [("made", 1, 5)]
    tenant = KEY.partition("/")[0]
    found = [*told.ledger.entries, *told.ledger.quota_entries]
    assert {(one.holder.job, one.holder.owner_kind) for one in found} == {(f"{tenant}/train", "Job")}
