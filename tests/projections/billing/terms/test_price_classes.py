"""Which of several prices applies to a line."""

import pytest
from msgspec.structs import replace

from events.billing import Meter, Price, PriceListSet
from events.workload import PriorityRef
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.lines.charge import charges, pieces
from projections.billing.terms.money import UNIT
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
