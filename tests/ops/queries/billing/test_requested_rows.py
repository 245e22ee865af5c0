"""What rows of cards say beside what is charged: what was asked for, of which MIG profile it is, and where it was given."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from events.billing import Meter, MonthClosed, Price
from events.card import MigInstance
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved
from events.workload import WorkloadChanged
from ops.queries.billing.focus import names_of, rows
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from tests.projections.billing.quota.test_quota_lines import LIST
from tests.projections.billing.test_entered_lines import (
    ADMITTED,
    CARDS,
    KEY,
    PLACEMENT,
    RESERVED,
    RETURNED,
    SHARE,
    SPEC,
    SUBMITTED,
    told,
)

PRICES = replace(LIST, prices=(Price(meter=Meter.CARD, unit_price="1"),))
CARDS_OF_THEM, RETURNED_OF_THEM = (replace(one, reservation=3) for one in (CARDS, RETURNED))
WANTED = ("x_MemMiB", "x_MemMiBRequested", "x_CoresPctRequested", "x_MigProfile", "RegionId", "RegionName")


def asking(**limits: int) -> tuple[PodSet, ...]:
    named = {f"nvidia.com/{name.replace('_', '-')}": amount for name, amount in limits.items()}
    return (PodSet(name="main", count=1, shape=PodShape(containers=(ContainerShape(name="c", limits=named),))),)


def seen(ledger: Ledger) -> list[dict[str, str]]:
    found = (dict(zip(names_of(ledger), row, strict=True)) for row in rows(ledger, Window(0, 100_000)))
    return [one for one in found if one["x_LineKind"] == "usage"]


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({"gpu": 1, "gpumem": 3_500, "gpucores": 20}, ("3500", "20")),
        ({"gpu": 1, "gpumem_percentage": 10}, ("1600", "0")),
        ({"gpu": 1}, ("16000", "100")),
    ],
)
def test_a_row_says_what_was_asked_for_beside_what_was_given(limits: Mapping[str, int], asked: tuple[str, str]) -> None:
    submitted = replace(SUBMITTED, spec=replace(SPEC, pod_sets=asking(**limits)))
    (row,) = seen(told(PRICES, submitted, RESERVED, ADMITTED, CARDS_OF_THEM, RETURNED_OF_THEM))
    assert (row["x_MemMiB"], row["x_MemMiBRequested"], row["x_CoresPctRequested"]) == ("4000", *asked)
    changed = WorkloadChanged(workload=KEY, generation=2, spec=replace(SPEC, pod_sets=asking(gpu=1, gpumem=7)))
    (row,) = seen(told(submitted, changed, RESERVED, ADMITTED, CARDS_OF_THEM, RETURNED_OF_THEM, PRICES))
    assert row["x_MemMiBRequested"] == "7", "it asks for something else by the time it is let in"


def test_a_piece_of_a_card_names_its_profile() -> None:
    piece = replace(SHARE, instance=MigInstance(profile="1g.10gb", start=0, size=1))
    cards = replace(CARDS_OF_THEM, placements=(replace(PLACEMENT, containers=((piece,),)),))
    (row,) = seen(told(PRICES, SUBMITTED, RESERVED, ADMITTED, cards, RETURNED_OF_THEM))
    assert [row[name] for name in WANTED] == ["4000", "", "", "1g.10gb", "", ""], "nobody knows what was asked for"


def test_a_row_names_the_region_and_the_zone_that_its_flavor_is_of_at_its_beginning() -> None:
    place = {"topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": "eu-west-1a"}
    flavor = FlavorObserved(name="spot", node_labels=place)
    (row,) = seen(
        told(PRICES, flavor, SUBMITTED, RESERVED, ADMITTED, *(replace(one, reservation=4) for one in (CARDS, RETURNED)))
    )
    assert (row["RegionId"], row["RegionName"], row["AvailabilityZone"]) == ("eu-west-1", "eu-west-1", "eu-west-1a")


def test_a_month_that_was_closed_before_there_were_such_columns_has_none() -> None:
    ledger = told(PRICES, SUBMITTED, RESERVED, ADMITTED, CARDS_OF_THEM, RETURNED_OF_THEM)
    assert set(WANTED) <= set(names_of(ledger))
    closed = MonthClosed(month="2026-11", number=1, upto={}, rows=1, totals={}, sha256="", author="ann")
    ledger.closed = closed
    assert set(WANTED) & set(names_of(ledger)) == {"x_MemMiB"}
    ledger.closed = replace(closed, form=2)
    assert set(WANTED) <= set(names_of(ledger))
