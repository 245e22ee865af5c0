"""What the console can be asked besides the life of one workload: each question by name, and what it is asked of."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from events.json_object import JsonObject
from ops.console import views
from ops.console.recorded import Recorded
from ops.console.time_strip import time_strip
from ops.production.cards_view import card_views
from ops.queries.answers import cards_answer
from ops.queries.billing.answer import bill_answer, groups_of, period_ledger
from ops.queries.billing.reading import Read
from ops.queries.log_places import log_answer
from ops.queries.preemptions import preemptions_answer
from ops.queries.time_travel import Moment
from projections.billing.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.totals import bill
from projections.explanation.read_models import WorkloadRow
from projections.world import World

Query = Mapping[str, str]
"""The parameters of an address."""
MOST_BANDS = 5000
"""Stretches of time of a Gantt chart at most: the latest ones."""


class Folded(Protocol):
    """A folded log as of a moment."""

    def world(self) -> World:
        """The world of the partition of admission."""
        ...

    def rows(self) -> Sequence[WorkloadRow]:
        """All workloads of it."""
        ...

    def cards(self) -> Moment:
        """The world that questions about cards are asked of."""
        ...


def _cards(of: Folded, query: Query) -> JsonObject:
    return cards_answer(of.cards(), node=query.get("node", ""), model=query.get("model", ""))


def _preemptions(of: Recorded, query: Query) -> JsonObject:
    del query
    return preemptions_answer(of.point.entries, _ledger(of, {})[0])


def _bills(of: Recorded, query: Query) -> JsonObject:
    ledger, read, window = _ledger(of, query)
    named = query.get("group-by", "")
    tenant = query.get("tenant", "")
    return bill_answer(ledger, bill(ledger, window, groups_of([named] if named else ()), tenant), read)


def _gantt(of: Recorded, query: Query) -> JsonObject:
    ledger, _, window = _ledger(of, query)
    entries = ledger.entries
    return {
        "since": window.since,
        "until": min(window.until, ledger.at),
        "left_out": max(0, len(entries) - MOST_BANDS),
        "entries": entries[-MOST_BANDS:],
        "cut_short": sorted({entry.id for waste in ledger.wastes for entry in waste.entries}),
    }


def _ledger(of: Recorded, query: Query) -> tuple[Ledger, Read, Window]:
    end = None if of.point.ended else of.point.at
    return period_ledger(of.point.entries, query.get("from", ""), query.get("to", ""), end=end)


OF_A_WORLD: Mapping[str, Callable[[Folded, Query], JsonObject]] = {
    "overview": lambda of, _: views.overview(of.world(), of.rows(), card_views(of.cards().world)),
    "queues": lambda of, _: views.queues(of.world()),
    "workloads": lambda of, query: views.workloads(of.rows(), views.query_of(query)),
    "cards": _cards,
}
"""Questions that a folded world answers: live, and as of any moment."""

OF_THE_LOG: Mapping[str, Callable[[Recorded, Query], JsonObject]] = {
    "preemptions": _preemptions,
    "bills": _bills,
    "gantt": _gantt,
    "log": lambda of, _: log_answer(of.point.entries, of.world()),
    "time": lambda of, _: time_strip(of.point.entries),
}
"""Questions that need all that happened: they read the log, live as well."""
