"""Devices that claims hold as lines of a bill: what they cost, whose they are, and when that is given back."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.billing import CorrectionEntered, LineKind, Meter, Price, PriceListSet
from events.catalogue import AnyEvent
from events.preemption import PreemptionOrdered
from events.workload import QuotaReleased, WorkloadFinished
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import charges, pieces
from projections.billing.lines.totals import bill
from projections.billing.terms.money import UNIT
from projections.log_position import LogPosition
from tests.projections.billing.claims.test_claim_time import (
    CLAIM_GONE,
    KEY,
    MAPPED,
    POD,
    POD_GONE,
    RESERVED,
    SUBMITTED,
    claim,
)

A_SECOND = "3.60"
"""An hour's price of which a second costs a thousandth."""
DEVICE = Price(meter=Meter.DEVICE, unit_price=A_SECOND)
LIST = PriceListSet(name="prices", currency="EUR", starts=0, prices=(DEVICE,))
ADMITTED = WorkloadAdmitted(workload=KEY, cluster_queue="cq")
STOPPED = PreemptionOrdered(workload=KEY, preemptor="team/urgent", reason="InClusterQueue")
FINISHED = WorkloadFinished(workload=KEY, reason="Succeeded")
RELEASED = QuotaReleased(workload=KEY, reason="Preempted")


def told(*events: AnyEvent, wanted: tuple[str, ...] = (), prices: bool = True) -> Ledger:
    """A ledger that is told each event in its second, whose number is also that of its message."""
    ledger = Ledger(LedgerScope(wanted=frozenset(wanted), prices_devices=prices))
    for number, event in enumerate(events):
        ledger.fold(event, LogPosition(partition="FACTS", sequence=number, at=number * 1000))
    ledger.finish()
    return ledger


def lines(ledger: Ledger) -> list[tuple[LineKind, str, int, int, int]]:
    found = ledger.holds.claimed.lines.kept.inside
    return [(one.kind, one.device_class, one.count, one.since, one.until) for one in found]


def cost(ledger: Ledger) -> Fraction:
    """In thousandths: what one device costs in a second."""
    return Fraction(sum(one.cost for piece in pieces(ledger, ALWAYS) for one in charges(piece)) * 1000, UNIT)


def test_each_device_costs_from_when_the_claim_has_it_until_the_claim_is_gone() -> None:
    ledger = told(LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0", "g1"), POD, CLAIM_GONE)
    assert lines(ledger) == [(LineKind.USAGE, "a", 2, 6000, 8000)]
    assert cost(ledger) == 2 * 2
    assert bill(ledger, ALWAYS, ("tenant",)).total == {"EUR": 0}, (
        "0.004 is rounded to whole cents, by a line of its own"
    )


def test_the_price_of_a_class_goes_before_that_of_all_and_that_of_a_tenant_before_both() -> None:
    of_class = Price(meter=Meter.DEVICE, device_class="a", unit_price="7.20")
    other = Price(meter=Meter.DEVICE, device_class="b", unit_price="36")
    agreed = Price(meter=Meter.DEVICE, tenant="team", unit_price="10.80")
    held = (MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), POD, CLAIM_GONE)
    assert cost(told(replace(LIST, prices=(DEVICE, of_class, other)), *held)) == 2 * 2
    assert cost(told(replace(LIST, prices=(DEVICE, of_class, agreed)), *held)) == 2 * 3
    (piece,) = pieces(told(replace(LIST, prices=(DEVICE, of_class, agreed)), *held), ALWAYS)
    (charge,) = charges(piece)
    assert (charge.rate.sku, Fraction(charge.list_cost * 1000, UNIT)) == ("a/device", 4)


def test_a_class_without_a_price_is_named_as_soon_as_any_has_one_and_costs_nothing_while_none_has() -> None:
    held = (MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), POD, CLAIM_GONE)
    other = replace(LIST, prices=(Price(meter=Meter.DEVICE, device_class="b", unit_price="1"),))
    assert bill(told(other, *held), ALWAYS, ("tenant",)).unpriced_devices == {("a", "gpus"): 2000}
    of_cards = replace(LIST, prices=(Price(meter=Meter.CARD, unit_price="1"),))
    none = told(of_cards, *held, prices=False)
    assert lines(none) == [] and bill(none, ALWAYS, ("tenant",)).unpriced_devices == {}
    assert sum(none.holds.claimed.sums.values()) == 2000, "they are counted all the same"


@pytest.mark.parametrize("order", [(CLAIM_GONE, RELEASED), (RELEASED, CLAIM_GONE)], ids=["before", "after"])
def test_what_an_attempt_that_was_cut_short_had_is_given_back_whether_it_ends_before_its_quota_or_after(
    order: tuple[AnyEvent, AnyEvent],
) -> None:
    ledger = told(LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), STOPPED, *order, POD_GONE)
    kinds = [(piece.kind, piece.sign) for piece in pieces(ledger, ALWAYS)]
    assert kinds == [(LineKind.USAGE, 1), (LineKind.CREDIT, -1)]
    assert cost(ledger) == 0


def test_what_an_attempt_that_was_cut_short_still_holds_where_the_log_ends_is_on_the_bill_as_it_is_held() -> None:
    ledger = told(LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), STOPPED, RELEASED, POD)
    assert [(piece.kind, piece.sign) for piece in pieces(ledger, ALWAYS)] == [(LineKind.USAGE, 1)]
    assert cost(ledger) == 3


def test_what_ended_well_is_not_given_back_and_the_next_attempt_pays_its_own() -> None:
    first = (LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), STOPPED, CLAIM_GONE, RELEASED, POD_GONE)
    ledger = told(*first, RESERVED, ADMITTED, POD, claim("g0"), POD, FINISHED, CLAIM_GONE)
    assert cost(ledger) == 3, "only what the second attempt held"


def test_pods_that_no_queue_manages_pay_as_unreserved() -> None:
    stray = replace(POD, workload="")
    ledger = told(LIST, MAPPED, stray, claim("g0"), stray, CLAIM_GONE)
    assert lines(ledger) == [(LineKind.UNRESERVED, "a", 1, 3000, 5000)]
    assert cost(ledger) == 2


def test_a_person_corrects_an_entry_of_devices_like_any_other() -> None:
    held = (LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0"), POD, POD, CLAIM_GONE)
    (entry,) = told(*held).holds.claimed.lines.kept.inside
    fewer = CorrectionEntered(tenant="team", entry=entry.id, since=6000, until=7000, reason="typo", author="ann")
    assert (cost(told(*held)), cost(told(*held, fewer, wanted=(entry.id,)))) == (3, 1)


def test_what_was_held_for_no_time_is_no_line() -> None:
    ledger = Ledger(LedgerScope(prices_devices=True))
    for number, event in enumerate((LIST, MAPPED, SUBMITTED, RESERVED, ADMITTED, claim("g0"), CLAIM_GONE)):
        ledger.fold(event, LogPosition(partition="FACTS", sequence=number, at=1000))
    ledger.finish()
    assert lines(ledger) == []
