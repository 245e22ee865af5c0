"""What is billed where a workload was let in by who did not know yet that it was over, had pods that were done or named another queue."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.billing import Meter, MonthClosed, Price, PriceListSet
from events.catalogue import AnyEvent
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL, FACTS
from events.workload import (
    PodSetAssignment,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from ops.queries.billing.closed_months import month_ledger, window_of
from ops.queries.billing.reading import ledger_of
from services.runtime.log_port import Entry

KEY = "team/j"
SUBMITTED = WorkloadSubmitted(workload=KEY, uid="u1", created_at=0, spec=WorkloadSpec(queue="lq", pod_sets=()))
GIVEN = PodSetAssignment(name="main", count=4, flavors={"cpu": "spot"}, usage={"cpu": 8})
LET_IN = (
    QuotaReserved(workload=KEY, cluster_queue="cq", assignments=(GIVEN,)),
    WorkloadAdmitted(workload=KEY, cluster_queue="cq"),
)
PRICES = PriceListSet(
    name="p", currency="EUR", starts=0, prices=(Price(meter=Meter.QUOTA, resource="cpu", unit_price="1"),)
)
HOUR = 3_600_000


def entry(stream: str, sequence: int, data: bytes) -> Entry:
    return Entry(stream=stream, sequence=sequence, subject="", message_id="", data=data)


def facts(*told: tuple[Millis, AnyEvent]) -> list[Entry]:
    return [
        entry(FACTS, number, encode(Sighting(id=f"f{number}", at=at, author="watcher", fact=fact)))
        for number, (at, fact) in enumerate(told, 1)
    ]


def commits(stream: str, *made: tuple[Millis, int, tuple[AnyEvent, ...]]) -> list[Entry]:
    """Of each commit its time, up to which fact its author had folded, and what was decided."""
    entries, before, known = list[Entry](), GENESIS, 0
    for number, (at, upto, events) in enumerate(made, 1):
        runs = (InputRun(stream=FACTS, upto=upto),) if upto > known else ()
        commit = Commit(
            id=f"{stream}{number}",
            prev_hash=before,
            partition=stream,
            base=number - 1,
            inputs=runs,
            author="operator" if stream == CONTROL else "admitter",
            epoch=0,
            rules="1",
            at=at,
            events=events,
        )
        data, known = encode(commit), max(known, upto)
        before = bytes_hash(data)
        entries.append(entry(stream, number, data))
    return entries


def billed(told: list[Entry], *made: tuple[Millis, int, tuple[AnyEvent, ...]]) -> list[tuple[str, int, int, int]]:
    """Of each entry of quota the uid that is billed, how much, from when and until when."""
    log = {CONTROL: commits(CONTROL, (0, 0, (PRICES,))), FACTS: told, "LOG_0": commits("LOG_0", *made)}
    ledger, _ = ledger_of(log)
    return [(one.holder.uid, one.amount, one.since, one.until) for one in ledger.quota_entries]


@pytest.mark.parametrize(
    "end", [WorkloadDeleted(workload=KEY), WorkloadFinished(workload=KEY, reason="Succeeded")], ids=["deleted", "over"]
)
def test_who_is_over_by_what_nobody_knew_who_let_it_in_is_not_billed_for_ever(end: AnyEvent) -> None:
    told = facts((0, SUBMITTED), (2000, end), (HOUR, WorkloadDeleted(workload="team/other")))
    assert billed(told, (2003, 1, LET_IN)) == []


def test_who_comes_under_the_name_of_one_that_was_let_in_too_late_does_not_pay_for_it() -> None:
    anew = replace(SUBMITTED, uid="u2")
    told = facts((0, SUBMITTED), (2000, WorkloadDeleted(workload=KEY)), (2001, anew), (HOUR, anew))
    assert billed(told, (2003, 1, LET_IN)) == []
    assert billed(told, (2003, 1, LET_IN), (3000, 3, LET_IN)) == [("u2", 8, 3000, HOUR)]


def test_who_was_let_in_by_who_knew_of_an_earlier_end_under_its_name_is_billed() -> None:
    told = facts((0, SUBMITTED), (500, WorkloadDeleted(workload=KEY)), (600, SUBMITTED), (HOUR, SUBMITTED))
    assert billed(told, (2003, 3, LET_IN)) == [("u1", 8, 2003, HOUR)]


def test_pods_that_were_done_before_anybody_knew_who_let_them_in_are_not_billed() -> None:
    done = PodsReclaimed(workload=KEY, counts={"main": 3})
    told = facts((0, SUBMITTED), (2000, done), (HOUR, WorkloadFinished(workload=KEY, reason="Succeeded")))
    assert billed(told, (2003, 1, LET_IN)) == [("u1", 2, 2003, HOUR)]
    assert billed(told, (2003, 2, LET_IN)) == [("u1", 8, 2003, HOUR)], "it was let in without those that were done"


def queues(told: list[Entry], *made: tuple[Millis, int, tuple[AnyEvent, ...]]) -> list[tuple[str, int]]:
    """Of each entry of quota the local queue that is named, and from when."""
    log = {CONTROL: commits(CONTROL, (0, 0, (PRICES,))), FACTS: told, "LOG_0": commits("LOG_0", *made)}
    ledger, _ = ledger_of(log)
    return [(one.holder.local_queue, one.since) for one in ledger.quota_entries]


def changed(queue: str) -> WorkloadChanged:
    return WorkloadChanged(workload=KEY, generation=2, spec=replace(SUBMITTED.spec, queue=queue))


def test_a_line_names_the_queue_through_which_the_quota_was_given_whatever_the_job_names_by_then() -> None:
    told = facts((0, SUBMITTED), (2000, changed("other")), (2001, changed("third")), (HOUR, SUBMITTED))
    assert queues(told, (2003, 1, LET_IN)) == [("lq", 2003)]
    assert queues(told, (2003, 2, LET_IN)) == [("other", 2003)]
    assert queues(told, (2003, 3, LET_IN)) == [("third", 2003)]
    assert queues(told, (1000, 1, LET_IN)) == [("lq", 1000)], "it stays in its queue while it holds that"
    assert queues(told, (2003, 1, LET_IN), (3000, 3, LET_IN)) == [("lq", 2003), ("third", 3000)]


@pytest.mark.parametrize(("form", "queue"), [(1, "other"), (2, "lq")])
def test_a_month_that_was_closed_before_names_the_queue_that_the_job_named(form: int, queue: str) -> None:
    told, ends = facts((0, SUBMITTED), (2000, changed("other")), (HOUR, SUBMITTED)), {CONTROL: 1, FACTS: 3, "LOG_0": 1}
    month = MonthClosed(month="1970-01", number=1, upto=ends, rows=1, totals={}, sha256="", form=form, author="ann")
    entered = commits(CONTROL, (0, 0, (PRICES,)), (HOUR, 0, (month,)))
    log = {CONTROL: entered, FACTS: told, "LOG_0": commits("LOG_0", (2003, 1, LET_IN))}
    ledger, _ = month_ledger(log, window_of("1970-01"))
    assert [one.holder.local_queue for one in ledger.quota_entries] == [queue]
