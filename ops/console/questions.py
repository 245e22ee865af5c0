"""What the console can be asked besides the life of one workload: each question by name, and what it is asked of."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from events.json_object import JsonObject
from ops.console import views
from ops.console.recorded import Recorded
from ops.console.rights import Rights
from ops.console.time_strip import time_strip
from ops.console.workload_list import WorkloadList
from ops.production.cards_view import card_views
from ops.queries.answers import cards_answer
from ops.queries.billing.answer import bill_answer, groups_of, period_ledger
from ops.queries.billing.closed_months import month_ledger
from ops.queries.billing.drill_down import entries_answer, months_answer
from ops.queries.billing.problems import NothingToBill
from ops.queries.billing.reading import LogRead
from ops.queries.clusters_view import worker_clusters
from ops.queries.log_places import log_answer
from ops.queries.preemptions import preemptions_answer
from ops.queries.time_travel import WorldAt
from ops.queries.topology_view import flavor_domains
from projections.billing.entries.entry import CardEntry, Holder, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.charged_lines import BilledTo
from projections.billing.lines.totals import bill
from projections.budgets.scopes import whole_of
from projections.explanation.budget_report import BudgetReport, budget_reports
from projections.explanation.redaction import HIDDEN
from projections.world import World

Parameters = Mapping[str, str]
"""The parameters of an address."""
_NEVER = Window(0, 0)
MOST_BANDS = 10_000
"""Stretches of time of a Gantt chart at most: the latest ones."""


class Folded(Protocol):
    """A folded log as of a moment."""

    def world(self) -> World:
        """The world of the partition of admission."""
        ...

    def listed(self) -> WorkloadList:
        """All workloads of it."""
        ...

    def cards(self) -> WorldAt:
        """The world that questions about cards are asked of."""
        ...


class Question(msgspec.Struct, frozen=True):
    """A question, and whether it is about the whole cluster: who may not list cluster queues is not answered then."""

    answer: Callable[[Any, Parameters, Rights], JsonObject]
    of_cluster: bool = False
    timeless: bool = False
    """Whether the answer is the same until something more is folded, whatever time it is."""

    def ask(self, of: Folded | Recorded, query: Parameters, rights: Rights) -> JsonObject:
        """The answer for somebody who may read just that much. Raises `Forbidden`."""
        if self.of_cluster:
            rights.check_queues()
        return self.answer(of, query, rights)


def _overview(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    del query
    cards = card_views(of.cards().world) if rights.queues else []
    return views.overview(of.world(), of.listed(), cards, rights)


def _workloads(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    return of.listed().answer(views.query_of(query, rights))


def _cards(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    del rights
    return cards_answer(of.cards(), node=query.get("node", ""), model=query.get("model", ""))


def _topology(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    del query, rights
    return {"flavors": msgspec.to_builtins(flavor_domains(of.world()))}


def _clusters(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    del query
    found: JsonObject = msgspec.to_builtins(worker_clusters(of.world()))
    for one in found["clusters"]:
        for name in ("runs", "tried"):
            one[name] = [sent for sent in one[name] if rights.reads(sent["workload"])]
    return found


def _preemptions(of: Recorded, query: Parameters, rights: Rights) -> JsonObject:
    del query
    found = preemptions_answer(of.point.entries, _ledger(of, {})[0])
    return {
        "preemptions": [
            one for one in found["preemptions"] if rights.reads(one["workload"]) or rights.reads(one["by"])
        ],
        "cut_short": [one for one in found["cut_short"] if rights.reads(one["workload"])],
    }


def _bills(of: Recorded, query: Parameters, rights: Rights) -> JsonObject:
    ledger, read, window = _ledger(of, query)
    named = query.get("group-by", "")
    groups = groups_of([named] if named else ())
    answer = bill_answer(ledger, bill(ledger, window, groups, _billed_to(query, rights)), read)
    if workload := query.get("workload", ""):
        rights.check_namespace(workload.partition("/")[0])
        answer = {**answer, "lines": [line for line in _lines(answer) if line.get("workload") == workload]}
    if not rights.queues:
        answer = {**answer, "cards": None, "quota": None, "unused": None}
    return answer if rights.namespaces is None else _own_bill(answer, rights)


def _billed_to(query: Parameters, rights: Rights) -> BilledTo:
    """Whose lines are asked for. Raises `Forbidden` for a namespace that may not be read."""
    tenant = query.get("tenant", "")
    if tenant:
        rights.check_namespace(tenant)
    tenants = frozenset((tenant,)) if tenant else rights.namespaces
    account, queue, job = (query.get(name, "") for name in ("account", "queue", "job"))
    return BilledTo(tenants=tenants, account=account, queue=queue, job=job)


def _entries(of: Recorded, query: Parameters, rights: Rights) -> JsonObject:
    ledger, _, window = _ledger(of, query)
    return entries_answer(ledger, window, _billed_to(query, rights))


def _budgets(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    del query
    found = [one for one in budget_reports(of.world(), of.cards().at) if _reads_budget(one, rights)]
    return {"budgets": msgspec.to_builtins(found)}


def _reads_budget(one: BudgetReport, rights: Rights) -> bool:
    kind, _, name = whole_of(one.budget).partition("/")
    return rights.reads(f"{name}/") if kind == "Namespace" else rights.queues


def _months(of: Recorded, query: Parameters, rights: Rights) -> JsonObject:
    del rights
    return months_answer(of.point.entries, query.get("check", ""))


def _lines(answer: JsonObject) -> list[JsonObject]:
    return answer["lines"]


def _own_bill(answer: JsonObject, rights: Rights) -> JsonObject:
    """A bill without what the others have agreed on or lost, nor who they are: these names stand in it without a slash."""
    quota = answer["quota"] and {
        **answer["quota"],
        "held": [one for one in answer["quota"]["held"] if rights.reads(one["tenant"])],
    }
    unused = answer["unused"] and [
        {**one, "shares": [_own_share(share, rights) for share in one["shares"]]} for one in answer["unused"]
    ]
    return {
        **answer,
        "quota": quota,
        "unused": unused,
        "claimed": [one for one in answer["claimed"] if rights.reads(one["tenant"])],
        "cut_short": [one for one in answer["cut_short"] if rights.reads(one["workload"])],
        "price_lists": [_own_prices(one, rights) for one in answer["price_lists"]],
    }


def _own_share(share: JsonObject, rights: Rights) -> JsonObject:
    return share if rights.reads(share["tenant"]) else {"tenant": HIDDEN, "cost": share["cost"]}


def _own_prices(prices: JsonObject, rights: Rights) -> JsonObject:
    """A price list without what was agreed with other namespaces, or with accounts: they are those of namespaces, or of several."""
    return {
        **prices,
        "prices": [one for one in prices["prices"] if not one.tenant or rights.reads(one.tenant)],
        **{
            terms: [one for one in prices[terms] if not one.account or rights.reads(one.account)]
            for terms in ("discounts", "commitments", "minimums")
        },
        "author": "",
        "reason": "",
    }


def _gantt(of: Recorded, query: Parameters, rights: Rights) -> JsonObject:
    ledger, _, window = _ledger(of, query)
    # Who may read the cards sees that they are held by others, though not by whom.
    seen = [entry for entry in ledger.entries if rights.queues or rights.reads(entry.holder.workload)]
    entries = seen[-MOST_BANDS:]
    return {
        "since": window.since,
        "until": min(window.until, ledger.at),
        "left_out": max(0, len(seen) - MOST_BANDS),
        "entries": [_anonymous(entry, rights) for entry in entries],
        "cut_short": sorted(
            {entry.id for waste in ledger.wastes for entry in waste.entries if rights.reads(entry.holder.workload)}
        ),
    }


def _anonymous(entry: CardEntry, rights: Rights) -> CardEntry:
    """An entry of somebody else's without what says whose it is; names with a namespace are numbered where all names are."""
    if rights.reads(entry.holder.workload):
        return entry
    holder = entry.holder
    kept = Holder(tenant=HIDDEN, workload=holder.workload, cluster_queue=holder.cluster_queue, cohort=holder.cohort)
    return msgspec.structs.replace(entry, holder=kept)


def _ledger(of: Recorded, query: Parameters) -> tuple[Ledger, LogRead, Window]:
    end = None if of.point.ended else of.point.at
    try:
        return period_ledger(of.point.entries, query.get("from", ""), query.get("to", ""), end=end)
    except NothingToBill:
        # Nobody has done anything wrong who looks before anything has happened.
        return (*month_ledger(of.point.entries, _NEVER), _NEVER)


OF_A_WORLD: Mapping[str, Question] = {
    "overview": Question(_overview, timeless=True),
    "queues": Question(lambda of, _query, _rights: views.queues(of.world()), of_cluster=True),
    "workloads": Question(_workloads, timeless=True),
    "cards": Question(_cards, of_cluster=True),
    "topology": Question(_topology, of_cluster=True),
    "clusters": Question(_clusters, of_cluster=True),
    "budgets": Question(_budgets),
}
"""Questions that a folded world answers: live, and as of any moment."""

OF_THE_LOG: Mapping[str, Question] = {
    "preemptions": Question(_preemptions),
    "bills": Question(_bills),
    "entries": Question(_entries),
    "months": Question(_months, of_cluster=True),
    "gantt": Question(_gantt),
    "log": Question(
        lambda of, _query, _rights: log_answer(of.point.entries, of.world(), of.places(), of.times), of_cluster=True
    ),
    "time": Question(lambda of, _query, _rights: time_strip(of.times, of.lengths)),
}
"""Questions that need all that happened: they read the log, live as well."""
