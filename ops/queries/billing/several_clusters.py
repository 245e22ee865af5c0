"""One bill over the manager's log and those of worker clusters: which of them a thing is billed by, and no thing by two.

Rule: docs/rules/billing.md#clusters
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.event import Millis
from events.multikueue import ClusterChosen
from events.subjects import CONTROL, FACTS, LOG, family_of
from events.workload import AdoptedStatus, DecidedElsewhere, WorkloadSubmitted
from ops.queries.billing import focus
from ops.queries.billing.answer import bill_answer
from ops.queries.billing.closed_months import month_ledger
from ops.queries.billing.entering import check_account, check_tenant
from ops.queries.billing.focus_columns import BillPart, names_with
from ops.queries.billing.period import period
from ops.queries.billing.problems import BillRefused, NothingToBill
from ops.queries.billing.reading import Entries, LogRead, seen
from ops.queries.stored import opened
from ops.queries.time_travel import span
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.charged_lines import BilledTo
from projections.billing.lines.totals import Bill, bill
from services.runtime.control_log import Control

MANAGER = "manager"
"""What the cluster is called in a bill whose log was asked first."""


class ClusterBill(msgspec.Struct, frozen=True, kw_only=True):
    """What one cluster's log bills."""

    cluster: str
    ledger: Ledger
    read: LogRead
    of: BilledTo
    bill: Bill


def period_of_all(logs: Mapping[str, Entries], since: str, until: str) -> Window:
    """A period as people write it, the same on every log: so long after the first of them began. Raises `BillRefused`."""
    times = [seen(entries) for entries in logs.values()]
    began = [first for first, last in times if last]
    if not began:
        raise NothingToBill
    ends: list[Millis] = [
        max(last, span(entries)[1] + 1) for (_, last), entries in zip(times, logs.values(), strict=True)
    ]
    return period(since, until, min(began), max(ends))


def bills_of_clusters(
    logs: Mapping[str, Entries], window: Window, groups: tuple[str, ...], of: BilledTo
) -> list[ClusterBill]:
    """The bill of each cluster by its own prices, accounts and closed months; `MANAGER` is the log that has sent jobs to the others.

    Raises `BillRefused`.
    """
    if MANAGER not in logs:
        raise AssertionError("the manager's log is one of them")
    workers = frozenset(logs) - {MANAGER}
    found: list[ClusterBill] = []
    for name, entries in logs.items():
        ledger, read = month_ledger(entries, window)
        as_it_is = name != MANAGER or ledger.closed is not None
        here = of if as_it_is else replace(of, elsewhere=billed_elsewhere(entries, workers))
        found.append(
            ClusterBill(cluster=name, ledger=ledger, read=read, of=here, bill=bill(ledger, window, groups, here))
        )
    _check_known(found, of)
    return found


def billed_elsewhere(entries: Entries, clusters: frozenset[str]) -> frozenset[tuple[str, int]]:
    """The reservations of quota, as workload and attempt, under which a job was sent to one of these clusters: that one bills it."""
    control = Control(entries.get(CONTROL, ()))
    attempts: dict[str, int] = {}
    found: set[tuple[str, int]] = set()
    taken_over: set[str] = set()
    for stream, stored in entries.items():
        if family_of(stream) != LOG:
            continue
        for entry in stored:
            for one in opened(entry, control):
                match one.event:
                    case QuotaReserved(workload=workload):
                        attempts[workload] = one.number
                    case ClusterChosen(workload=workload, cluster=cluster, taken_over=True) if cluster in clusters:
                        taken_over.add(workload)
                    case ClusterChosen(workload=workload, cluster=cluster) if cluster in clusters:
                        found.add((workload, attempts.get(workload, 0)))
                    case _:
                        pass
    return frozenset(found | (_adopted(entries, taken_over) if taken_over else set()))


def _adopted(entries: Entries, workloads: Collection[str]) -> set[tuple[str, int]]:
    """Of workloads that run elsewhere by what another manager has decided, the attempts in which that was told here."""
    control = Control(entries.get(CONTROL, ()))
    found: set[tuple[str, int]] = set()
    for entry in entries.get(FACTS, ()):
        for one in opened(entry, control):
            match one.event:
                case (
                    WorkloadSubmitted(workload=workload, adopted=AdoptedStatus()) | DecidedElsewhere(workload=workload)
                ):
                    if workload in workloads:
                        found.add((workload, one.number))
                case _:
                    pass
    return found


def in_one(bills: Sequence[ClusterBill]) -> Bill:
    """All lines in one bill, each with its cluster; the total is that of all."""
    first = bills[0].bill
    total: dict[str, int] = {}
    for one in bills:
        for currency, amount in one.bill.total.items():
            total[currency] = total.get(currency, 0) + amount
    return Bill(
        window=first.window,
        group_by=("cluster", *first.group_by),
        rows=[replace(row, group=(one.cluster, *row.group)) for one in bills for row in one.bill.rows],
        total=dict(sorted(total.items())),
        unpriced=_summed(one.bill.unpriced for one in bills),
        unpriced_quota=_summed(one.bill.unpriced_quota for one in bills),
        unpriced_devices=_summed(one.bill.unpriced_devices for one in bills),
        unknown_entries=[entry for one in bills for entry in one.bill.unknown_entries],
        covered=[f"{one.cluster}/{place}" for one in bills for place in one.bill.covered],
    )


def clusters_answer(bills: Sequence[ClusterBill]) -> dict[str, object]:
    """The same as plain values: the lines of all, and by cluster what its log says besides."""
    one_bill = in_one(bills)
    first = bills[0]
    whole = bill_answer(first.ledger, one_bill, first.read)
    by_cluster = {one.cluster: bill_answer(one.ledger, one.bill, one.read) for one in bills}
    for answer in by_cluster.values():
        del answer["lines"]
    shared = {name: whole[name] for name in ("since", "until", "total", "lines")}
    return {**shared, "clusters": by_cluster}


def focus_of_clusters(bills: Sequence[ClusterBill]) -> tuple[tuple[str, ...], Iterator[focus.Row]]:
    """A FOCUS data set of all: its columns, one of which names the cluster, and its rows."""
    parts = frozenset().union(*(focus.parts_of(one.ledger) for one in bills))
    names = names_with({*parts, BillPart.CLUSTERS})
    return names, (
        row
        for one in bills
        for row in focus.rows(one.ledger, one.bill.window, one.of, names=names, cluster=one.cluster)
    )


def _summed(found: Iterable[Mapping[tuple[str, str], int]]) -> dict[tuple[str, str], int]:
    sums: dict[tuple[str, str], int] = {}
    for one in found:
        for key, amount in one.items():
            sums[key] = sums.get(key, 0) + amount
    return dict(sorted(sums.items()))


def _check_known(bills: Sequence[ClusterBill], of: BilledTo) -> None:
    """Whether any of the logs has heard of who is asked for. Raises `BillRefused`."""
    for tenant in of.tenants or ():
        if not any(tenant in one.ledger.tenants for one in bills):
            check_tenant(bills[0].ledger, tenant)
    if of.account:
        _check_account(bills, of.account)


def _check_account(bills: Sequence[ClusterBill], account: str) -> None:
    problems: list[BillRefused] = []
    for one in bills:
        try:
            check_account(one.ledger, account)
        except BillRefused as problem:
            problems.append(problem)
    if len(problems) == len(bills):
        raise problems[0]
