"""One bill over the logs of a manager and its workers: what ran elsewhere is billed there, and nothing twice.

Rule: docs/rules/billing.md#clusters
"""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from events.billing import Meter, Price
from events.codec import decode_commit, encode
from events.commit import Commit
from events.hash_chain import bytes_hash
from events.multikueue import ClusterChosen
from events.pod_set import PodSet, PodShape
from events.subjects import CONTROL, FACTS
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    PodSetAssignment,
    WorkloadSpec,
    WorkloadSubmitted,
)
from ops.queries.billing.answer import period_ledger
from ops.queries.billing.closed_months import statement
from ops.queries.billing.focus_columns import broken_rules
from ops.queries.billing.period import time
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import ledger_of
from ops.queries.billing.several_clusters import (
    MANAGER,
    billed_elsewhere,
    bills_of_clusters,
    clusters_answer,
    focus_of_clusters,
    in_one,
    period_of_all,
)
from projections.billing.entries.entry import QuotaEntry, Window
from projections.billing.lines.charged_lines import EVERYBODY, BilledTo, ChargedPiece, charged_lines
from projections.billing.lines.totals import bill
from projections.billing.terms.money import decimal
from services.runtime.log_port import Entry
from tests.laws.random_day import DAY_BEGINS, PARTITION, Day, prices
from tests.ops.queries.billing.test_ends_before_reservations import KEY, LET_IN, PRICES, SUBMITTED, commits, facts
from tests.services.runtime.partition.test_forks import moved
from tests.stories.small_world import GPU

GROUPS = ("tenant", "queue")


class PricedDay(Day):
    """A day on which quota has a price as well, and nobody enters another one."""

    def begin(self) -> None:
        super().begin()
        first = prices("quota too", starts=DAY_BEGINS - 500, factor=1)
        gpu = Price(meter=Meter.QUOTA, resource=GPU, unit_price="3")
        self.operate(replace(first, prices=(*first.prices, gpu)))

    def price(self) -> None:
        pass

    def send(self, workload: str, cluster: str) -> tuple[str, int]:
        """A workload is sent to a cluster; the key of the reservation under which that happens."""
        event = ClusterChosen(workload=workload, check="elsewhere", cluster=cluster)
        self.write(PARTITION, encode(self.commit(PARTITION, (event,), (), "multikueue")))
        return workload, self.reservations[workload]

    @property
    def reservations(self) -> dict[str, int]:
        return {
            key: one.admission.reservation for key, one in self.world.workloads.items() if one.admission is not None
        }


def a_day(seed: int, steps: int = 30) -> PricedDay:
    day = PricedDay(seed, lambda *_: None)
    day.begin()
    day.decide()
    for _ in range(steps):
        day.step()
    return day


def sent(cluster: str) -> tuple[PricedDay, tuple[str, int]]:
    """A manager who has sent a workload to a cluster while it held quota, and the key of that reservation."""
    day = a_day(3)
    key = day.send(min(day.reservations), cluster)
    for _ in range(10):
        day.step()
    return day, key


def quota_of(day: PricedDay, key: tuple[str, int]) -> int:
    """What the quota of a reservation costs on its own log."""
    ledger, _, window = period_ledger(day.entries, "", "")
    return sum(
        charge.cost
        for line in charged_lines(ledger, window)
        if isinstance(line, ChargedPiece) and isinstance(line.piece.entry, QuotaEntry)
        if (line.piece.entry.holder.workload, line.piece.entry.holder.attempt) == key
        for charge in line.charges
    )


def test_a_reservation_is_billed_elsewhere_only_if_its_job_ran_in_a_cluster_whose_log_is_there() -> None:
    day, key = sent("w1")
    assert billed_elsewhere(day.entries, frozenset({"w1"})) == {key}
    assert billed_elsewhere(day.entries, frozenset({"w2"})) == frozenset()


def chosen(entries: Mapping[str, Sequence[Entry]], stream: str, workload: str) -> dict[str, list[Entry]]:
    """The log, and on this stream that a workload was sent to a cluster."""
    found = {name: list(stored) for name, stored in entries.items()}
    last = found[stream][-1]
    commit = Commit(
        id="chosen",
        prev_hash=bytes_hash(last.data),
        partition=stream,
        base=last.sequence,
        inputs=(),
        author="multikueue",
        epoch=0,
        rules="1",
        at=decode_commit(last.data).at,
        events=(ClusterChosen(workload=workload, check="elsewhere", cluster="w1"),),
    )
    found[stream].append(replace(last, sequence=last.sequence + 1, subject="", data=encode(commit)))
    return found


async def test_a_reservation_in_a_tree_that_moved_has_the_number_that_bills_name_it_by() -> None:
    entries = chosen((await moved()).entries, "LOG_1", "team/c")
    ledger, _ = ledger_of(entries)
    billed = {(one.holder.workload, one.holder.attempt) for one in ledger.entries}
    (elsewhere,) = billed_elsewhere(entries, frozenset({"w1"}))
    assert elsewhere[0] == "team/c" and elsewhere in billed


def test_a_month_that_is_closed_here_stays_as_it_was_closed_with_what_ran_elsewhere() -> None:
    november, december = time("2026-11", 0), time("2026-12", 0)
    told = facts((november, SUBMITTED), (december, SUBMITTED))
    log = {
        CONTROL: commits(CONTROL, (0, 0, (PRICES,))),
        FACTS: told,
        PARTITION: commits(PARTITION, (november, 1, LET_IN)),
    }
    log = chosen(log, PARTITION, KEY)
    closing = statement(log, "2026-11", author="ann")
    worker = {CONTROL: [], FACTS: facts((november, SUBMITTED)), PARTITION: []}

    def here() -> dict[str, str]:
        first, _ = bills_of_clusters({MANAGER: log, "w1": worker}, Window(november, december), GROUPS, EVERYBODY)
        return {currency: decimal(total) for currency, total in first.bill.total.items()}

    assert here() == {}
    log[CONTROL] = commits(CONTROL, (0, 0, (PRICES,)), (december, 0, (closing,)))
    assert here() == closing.totals != {}


def test_what_another_manager_had_sent_there_is_billed_there_from_when_it_is_on_the_log() -> None:
    day = a_day(3)
    given = PodSetAssignment(name="main", count=1, flavors={GPU: "a100"}, usage={GPU: 1})
    states = tuple(
        Condition(type=name, status=ConditionStatus.TRUE, reason=name, since=0)
        for name in ("QuotaReserved", "Admitted")
    )
    adopted = AdoptedStatus(cluster_queue="cq", conditions=states, assignments=(given,))
    spec = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=PodShape()),))
    for name in ("taken", "stays"):
        day.tell(WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=day.at, spec=spec, adopted=adopted))
    event = ClusterChosen(workload="team/taken", check="elsewhere", cluster="w1", taken_over=True)
    day.write(PARTITION, encode(day.commit(PARTITION, (event,), (), "multikueue")))
    day.step()
    (elsewhere,) = billed_elsewhere(day.entries, frozenset({"w1"}))
    assert elsewhere[0] == "team/taken" and quota_of(day, elsewhere) > 0
    assert billed_elsewhere(day.entries, frozenset({"w2"})) == frozenset(), "its log is not there"


def test_the_quota_of_what_ran_in_a_worker_is_not_billed_here_and_all_else_is_as_each_log_bills_it() -> None:
    manager, key = sent("w1")
    worker = a_day(5)
    assert quota_of(manager, key) > 0, "else this shows nothing"
    logs = {MANAGER: manager.entries, "w1": worker.entries}
    window = period_of_all(logs, "", "")
    bills = bills_of_clusters(logs, window, GROUPS, EVERYBODY)
    unrounded = [
        sum(
            charge.cost
            for line in charged_lines(one.ledger, window, of)
            if isinstance(line, ChargedPiece)
            for charge in line.charges
        )
        for one in bills
        for of in (EVERYBODY, one.of)
    ]
    here, here_in_one, there, there_in_one = unrounded
    assert here - here_in_one == quota_of(manager, key)
    assert there == there_in_one
    whole = in_one(bills)
    assert whole.total == {"EUR": sum(one.bill.total["EUR"] for one in bills)}
    assert {row.group[0] for row in whole.rows} == {MANAGER, "w1"}, "each line says its cluster"
    assert len(whole.rows) == sum(len(one.bill.rows) for one in bills)


def test_a_worker_s_log_is_billed_as_by_that_log_alone_also_where_it_has_sent_jobs_on() -> None:
    worker, key = sent("w2")
    logs = {MANAGER: a_day(5).entries, "w1": worker.entries, "w2": a_day(4).entries}
    bills = bills_of_clusters(logs, period_of_all(logs, "", ""), GROUPS, EVERYBODY)
    assert [one.of for one in bills] == [replace(EVERYBODY, elsewhere=frozenset()), EVERYBODY, EVERYBODY]
    assert quota_of(worker, key) > 0, "else this shows nothing"


@pytest.mark.parametrize("cluster", ["w2", MANAGER])
def test_what_was_sent_to_a_cluster_whose_log_is_not_there_is_billed_as_before(cluster: str) -> None:
    manager, _ = sent(cluster)
    logs = {MANAGER: manager.entries, "w1": a_day(5).entries}
    bills = bills_of_clusters(logs, period_of_all(logs, "", ""), GROUPS, EVERYBODY)
    assert bills[0].of == EVERYBODY and bills[0].bill.total == bill(bills[0].ledger, bills[0].bill.window, GROUPS).total


def test_a_data_set_of_several_clusters_has_a_column_that_says_which_and_is_as_before_without() -> None:
    manager, _ = sent("w1")
    logs = {MANAGER: manager.entries, "w1": a_day(5).entries}
    names, rows = focus_of_clusters(bills_of_clusters(logs, period_of_all(logs, "", ""), GROUPS, EVERYBODY))
    found = [dict(zip(names, row, strict=True)) for row in rows]
    assert {row["x_Cluster"] for row in found} == {MANAGER, "w1"}
    assert not [problem for row in found for problem in broken_rules(row)]


def test_as_values_the_lines_are_those_of_all_and_the_rest_stands_by_cluster() -> None:
    manager, _ = sent("w1")
    logs = {MANAGER: manager.entries, "w1": a_day(5).entries}
    answer = clusters_answer(bills_of_clusters(logs, period_of_all(logs, "", ""), GROUPS, EVERYBODY))
    assert set(answer) == {"since", "until", "total", "lines", "clusters"}
    lines = answer["lines"]
    assert isinstance(lines, list) and {one["cluster"] for one in lines} == {MANAGER, "w1"}


def test_a_tenant_that_none_of_the_logs_knows_is_refused() -> None:
    logs = {MANAGER: a_day(3).entries, "w1": a_day(5).entries}
    window = period_of_all(logs, "", "")
    with pytest.raises(BillRefused, match="knows no tenant nobody"):
        bills_of_clusters(logs, window, GROUPS, BilledTo(tenants=("nobody",)))
    with pytest.raises(BillRefused, match="nobody pays from an account nothing"):
        bills_of_clusters(logs, window, GROUPS, BilledTo(account="nothing"))
