"""Quota that workloads hold beside cards as lines of a bill: who pays for it, from when until when, and how much."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from events.billing import CorrectionEntered, LineKind, Meter, Price, PriceListSet
from events.catalogue import AnyEvent
from events.preemption import PreemptionOrdered
from events.quota import ClusterQueueObserved
from events.workload import PodsReclaimed, PriorityRef, QuotaReleased, WorkloadFinished
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import HOUR, charges, pieces
from projections.billing.lines.totals import bill
from projections.billing.quota.quota_book import HeldQuotaKey
from projections.billing.terms.money import UNIT
from projections.log_position import LogPosition
from tests.projections.billing.test_entered_lines import ADMITTED, CARDS, KEY, RESERVED, RETURNED, SUBMITTED

CPU = Price(meter=Meter.QUOTA, resource="cpu", unit_price="3.60")
LIST = PriceListSet(name="prices", currency="EUR", starts=0, prices=(CPU,))
FINISHED = WorkloadFinished(workload=KEY, reason="Succeeded")


def told(*events: AnyEvent, wanted: tuple[str, ...] = ()) -> Ledger:
    """A ledger that is told each event in its second, whose number is also that of its message."""
    priced = {price.resource for event in events if isinstance(event, PriceListSet) for price in event.prices}
    ledger = Ledger(LedgerScope(wanted=frozenset(wanted), priced=priced - {""}))
    for number, event in enumerate(events):
        ledger.fold(event, LogPosition(partition="LOG_0", sequence=number, at=number * 1000))
    ledger.finish()
    return ledger


def lines(ledger: Ledger, resource: str = "cpu") -> list[tuple[LineKind, int, int, int]]:
    return [(one.kind, one.amount, one.since, one.until) for one in ledger.quota_entries if one.resource == resource]


def cost(ledger: Ledger, resource: str = "cpu") -> Fraction:
    found = [one for piece in pieces(ledger, ALWAYS) if piece.entry.resource == resource for one in charges(piece)]
    return Fraction(sum(one.cost for one in found), UNIT)


def test_cpu_is_a_reservation_until_the_admission_and_used_until_the_quota_is_released() -> None:
    ledger = told(LIST, SUBMITTED, RESERVED, ADMITTED, FINISHED)
    assert lines(ledger) == [(LineKind.RESERVATION, 4000, 2000, 3000), (LineKind.USAGE, 4000, 3000, 4000)]
    assert cost(ledger) == Fraction("3.60") * 4 * 2 * 1000 / HOUR, "4 cores for 2 seconds"


def test_a_line_names_the_cohort_that_gave_the_quota_to_its_end_and_the_next_attempt_the_one_of_its_time() -> None:
    left, right = (ClusterQueueObserved(name="cq", cohort=name, groups=()) for name in ("left", "right"))
    released = QuotaReleased(workload=KEY, reason="Evicted")
    ledger = told(LIST, left, SUBMITTED, RESERVED, right, ADMITTED, released, RESERVED, FINISHED)
    cpu = [one for one in ledger.quota_entries if one.resource == "cpu"]
    assert [(one.holder.cohort, one.since) for one in cpu] == [("left", 3000), ("left", 5000), ("right", 7000)]


def test_pods_that_are_done_hold_nothing_any_more() -> None:
    done = PodsReclaimed(workload=KEY, counts={"main": 3})
    ledger = told(LIST, SUBMITTED, RESERVED, ADMITTED, done, FINISHED)
    assert lines(ledger)[1:] == [(LineKind.USAGE, 4000, 3000, 4000), (LineKind.USAGE, 1000, 4000, 5000)]


def test_what_an_attempt_that_was_cut_short_had_cost_is_given_back() -> None:
    stopped = PreemptionOrdered(workload=KEY, preemptor="team/urgent", reason="InCohortReclamation")
    released = QuotaReleased(workload=KEY, reason="Preempted")
    ledger = told(LIST, SUBMITTED, RESERVED, ADMITTED, stopped, released)
    assert [one.kind for one in pieces(ledger, ALWAYS)].count(LineKind.CREDIT) == 2
    assert cost(ledger) == 0
    kept = told(replace(LIST, credits=()), SUBMITTED, RESERVED, ADMITTED, stopped, released)
    assert cost(kept) == Fraction("3.60") * 4 * 3 * 1000 / HOUR
    ended = told(LIST, SUBMITTED, RESERVED, ADMITTED, stopped, FINISHED)
    assert cost(ended) == Fraction("3.60") * 4 * 3 * 1000 / HOUR, "who finished all the same has got what it wanted"


def test_a_line_of_quota_is_corrected_by_its_id() -> None:
    events = (LIST, SUBMITTED, RESERVED, ADMITTED, FINISHED)
    entry = next(one for one in told(*events).quota_entries if one.resource == "cpu" and one.kind is LineKind.USAGE)
    reversal = CorrectionEntered(tenant="team", entry=entry.id, reason="wrong", author="ann")
    ledger = told(*events, reversal, wanted=(entry.id,))
    assert cost(ledger) == Fraction("3.60") * 4 * 1000 / HOUR, "the reservation is left"


@pytest.mark.parametrize(
    ("words", "applies"),
    [
        ({}, True),
        ({"flavor": "spot"}, True),
        ({"flavor": "other"}, False),
        ({"tenant": "team"}, True),
        ({"tenant": "lab"}, False),
        ({"priority_class": "batch"}, True),
        ({"priority_class": "urgent"}, False),
    ],
)
def test_prices_of_quota_are_by_flavor_tenant_and_priority_class(words: dict[str, str], applies: bool) -> None:
    batch = replace(SUBMITTED, spec=replace(SUBMITTED.spec, priority_class=PriorityRef(name="batch", workload=True)))
    dear = replace(CPU, unit_price="7.20", **words)
    ledger = told(replace(LIST, prices=(CPU, dear) if words else (dear,)), batch, RESERVED, ADMITTED, FINISHED)
    assert cost(ledger) == Fraction("7.20" if applies else "3.60") * 4 * 2 * 1000 / HOUR


def test_what_has_no_price_is_named_as_soon_as_any_resource_has_one() -> None:
    found = bill(told(LIST, SUBMITTED, RESERVED, ADMITTED, FINISHED), ALWAYS, ("resource",))
    assert found.unpriced_quota == {("v100", "gpu"): 8 * 2000}
    cards = PriceListSet(name="cards", currency="EUR", starts=0, prices=(Price(meter=Meter.CARD, unit_price="1"),))
    alone = told(cards, SUBMITTED, RESERVED, ADMITTED, FINISHED)
    assert alone.quota_entries == [] and bill(alone, ALWAYS, ("tenant",)).unpriced_quota == {}


def test_a_list_that_prices_cards_alone_charges_for_no_quota_while_it_is_in_force() -> None:
    cards = PriceListSet(name="cards", currency="EUR", starts=3500, prices=(Price(meter=Meter.CARD, unit_price="1"),))
    ledger = told(LIST, cards, SUBMITTED, RESERVED, FINISHED)
    assert cost(ledger) == Fraction("3.60") * 4 * 500 / HOUR


def test_cards_are_billed_as_quota_only_where_a_price_names_them() -> None:
    gpus = {"nvidia.com/gpu": "v100"}
    of_cards = replace(
        RESERVED, assignments=(replace(RESERVED.assignments[0], flavors=gpus, usage={"nvidia.com/gpu": 2}),)
    )
    assert told(LIST, SUBMITTED, of_cards, ADMITTED, FINISHED).quota_entries == []
    whole = Price(meter=Meter.QUOTA, resource="nvidia.com/gpu", unit_price="1")
    ledger = told(replace(LIST, prices=(whole,)), SUBMITTED, of_cards, ADMITTED, FINISHED)
    assert lines(ledger, "nvidia.com/gpu")[-1] == (LineKind.USAGE, 2, 3000, 4000)


def test_who_has_given_its_cards_back_holds_no_quota_either() -> None:
    late = (
        LIST,
        SUBMITTED,
        FINISHED,
        RESERVED,
        ADMITTED,
        replace(CARDS, reservation=3),
        replace(RETURNED, reservation=3),
    )
    ledger = told(*late)
    assert lines(ledger)[-1] == (LineKind.USAGE, 4000, 4000, 6000)
    assert ledger.quota.held[HeldQuotaKey("team", "cq", "spot", "cpu")] == 4000 * 3000
