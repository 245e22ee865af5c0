"""Labels of workloads as tags of their lines: those that the price list names, as they were when the workload was submitted."""

import json

import pytest
from msgspec.structs import replace

from events.billing import PriceListSet
from events.subjects import CONTROL
from ops.queries.billing.focus import names_of, rows
from projections.billing.entries.entry import Window
from projections.log_position import LogPosition
from tests.projections.billing.quota.test_quota_lines import FINISHED, LIST, told
from tests.projections.billing.test_entered_lines import ADMITTED, RESERVED, SUBMITTED

LABELS = {"team": "vision", "cost-center": "42"}
LABELLED = replace(SUBMITTED, spec=replace(SUBMITTED.spec, labels=LABELS))


@pytest.mark.parametrize(
    ("tags", "shown"),
    [((), {}), (("team",), {"team": "vision"}), (("team", "cost-center", "none"), LABELS)],
)
def test_the_labels_that_a_price_list_names_are_tags_of_its_lines(tags: tuple[str, ...], shown: dict[str, str]) -> None:
    ledger = told(replace(LIST, tags=tags), LABELLED, RESERVED, ADMITTED, FINISHED)
    place = names_of(ledger).index("Tags")
    found = [json.loads(row[place]) for row in rows(ledger, Window(0, 10_000)) if row[place]]
    assert found and all({key: tag for key, tag in one.items() if "/" not in key} == shown for one in found)


def test_a_later_list_names_other_labels_from_its_beginning_on() -> None:
    ledger = told(replace(LIST, tags=("team",)), LABELLED, RESERVED, ADMITTED, FINISHED)
    later: PriceListSet = replace(LIST, starts=3500, tags=("cost-center",))
    ledger.prices.enter(later, LogPosition(partition=CONTROL, sequence=2, at=3500))
    names = names_of(ledger)
    found = [
        (row[names.index("x_IntervalStartMs")], "vision" in row[names.index("Tags")])
        for row in rows(ledger, Window(0, 10_000))
        if row[names.index("Tags")]
    ]
    assert found == [("2000", True), ("3000", True), ("3500", False)]
