"""Which of several prices applies to a line."""

import pytest
from msgspec.structs import replace

from events.billing import Meter, Price, PriceListSet
from events.workload import PriorityRef
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.lines.charge import charges, pieces
from projections.billing.terms.money import UNIT
from projections.billing.terms.prices import PriceList, lent_price, unused_price
from tests.projections.billing.test_entered_lines import ADMITTED, CARDS, RESERVED, RETURNED, SUBMITTED, told


def price(value: str, **words: str) -> Price:
    return Price(meter=Meter.CARD, unit_price=value, **words)


@pytest.mark.parametrize(
    ("prices", "listed", "agreed", "sku"),
    [
        ((price("1"),), 1, 1, "any/card"),
        ((price("1"), price("2", priority_class="batch")), 2, 2, "any/batch/card"),
        ((price("1"), price("2", priority_class="urgent")), 1, 1, "any/card"),
        ((price("1", flavor="spot", model="A100"), price("2", priority_class="batch")), 2, 2, "any/batch/card"),
        (
            (price("3", priority_class="batch", flavor="spot"), price("2", priority_class="batch")),
            3,
            3,
            "spot/batch/card",
        ),
        ((price("1", model="A100"), price("2", flavor="spot")), 2, 2, "spot/card"),
        ((price("2", priority_class="batch"), price("4", tenant="team")), 2, 4, "any/batch/card"),
        ((price("4", tenant="team"), price("5", tenant="team", priority_class="batch")), 5, 5, "any/batch/card"),
        ((price("1"), price("4", tenant="lab")), 1, 1, "any/card"),
    ],
)
def test_of_several_prices_the_most_particular_one_applies(
    prices: tuple[Price, ...], listed: int, agreed: int, sku: str
) -> None:
    batch = PriorityRef(name="batch", workload=True)
    submitted = replace(SUBMITTED, spec=replace(SUBMITTED.spec, priority_class=batch))
    list_ = PriceListSet(name="prices", currency="EUR", starts=0, prices=prices)
    ledger = told(list_, submitted, RESERVED, ADMITTED, replace(CARDS, reservation=3), replace(RETURNED, reservation=3))
    ledger.finish()
    (charge,) = [charge for piece in pieces(ledger, ALWAYS) for charge in charges(piece)]
    assert (charge.rate.list_price, charge.rate.contracted, charge.rate.sku) == (listed * UNIT, agreed * UNIT, sku)


def test_of_several_prices_of_what_nobody_used_or_was_lent_the_most_particular_one_applies() -> None:
    def of(*prices: Price) -> PriceList:
        return PriceList(event=PriceListSet(name="p", currency="EUR", starts=0, prices=prices), starts=0, place="")

    idle = Price(meter=Meter.IDLE, unit_price="1")
    several = of(idle, replace(idle, unit_price="2", model="A100"), replace(idle, unit_price="3", flavor="spot"))
    found = [unused_price(several, Meter.IDLE, *kind) for kind in (("spot", "A100"), ("dear", "A100"), ("dear", "T4"))]
    assert [None if one is None else one.unit_price for one in found] == ["3", "2", "1"]
    assert unused_price(several, Meter.STRANDED, "spot", "A100") is None
    lent = Price(meter=Meter.LENT, resource="cpu", unit_price="1")
    for prices in (
        of(lent, replace(lent, unit_price="2", flavor="spot")),
        of(replace(lent, unit_price="2", flavor="spot"), lent),
    ):
        assert [lent_price(prices, flavor, "cpu") for flavor in ("spot", "dear")] == [2 * UNIT, UNIT]
    assert lent_price(of(lent), "spot", "memory") is None
