"""Prices by the time of day and by labels of flavors: which one applies when, to the millisecond, over changes of clocks too."""

from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from events.billing import PriceListSet, PriceWindow
from events.catalogue import AnyEvent
from events.event import Millis
from events.quota import FlavorObserved
from events.timestamp import parse_timestamp
from ops.queries.billing.zone_clocks import offsets_of
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import HOUR, charges, pieces
from projections.billing.terms.money import UNIT
from projections.billing.terms.price_windows import next_change, open_windows
from projections.log_position import LogPosition
from tests.projections.billing.quota.test_quota_lines import CPU, FINISHED, LIST
from tests.projections.billing.test_entered_lines import ADMITTED, RESERVED, SUBMITTED

SPRING, AUTUMN = parse_timestamp("2026-03-28T00:00:00Z"), parse_timestamp("2026-10-24T00:00:00Z")


def window(zone: str = "Europe/Berlin", begin: int = 22, end: int = 6, **words: object) -> PriceWindow:
    found = PriceWindow(name="night", zone=zone, begin=begin * HOUR, end=end * HOUR, offsets=offsets_of(zone, SPRING))
    return replace(found, **words)


def told(*events: tuple[Millis, AnyEvent]) -> Ledger:
    ledger = Ledger(LedgerScope(priced=frozenset({"cpu"})))
    for number, (at, event) in enumerate(events):
        ledger.fold(event, LogPosition(partition="LOG_0", sequence=number, at=at))
    ledger.finish()
    return ledger


def held(since: Millis, until: Millis, *before: tuple[Millis, AnyEvent]) -> Ledger:
    """The workload of these tests holds 4 cores of the flavor spot."""
    runs = ((since, SUBMITTED), (since, RESERVED), (since, ADMITTED), (until, FINISHED))
    return told(*before, *runs)


def costs(ledger: Ledger) -> list[tuple[Millis, Millis, Fraction]]:
    """Of each piece of cpu: when, and what a core-hour of it costs."""
    return [
        (piece.since, piece.until, Fraction(charge.rate.list_price, UNIT))
        for piece in pieces(ledger, ALWAYS)
        for charge in charges(piece)
    ]


def night_list(*windows: PriceWindow) -> PriceListSet:
    cheap = replace(CPU, unit_price="1", window="night")
    return replace(LIST, prices=(CPU, cheap), windows=windows)


@pytest.mark.parametrize(("day", "hours"), [(SPRING, 7), (AUTUMN, 9), (SPRING + 7 * 24 * HOUR, 8)])
def test_a_night_is_an_hour_shorter_or_longer_where_clocks_are_changed_in_it(day: Millis, hours: int) -> None:
    ledger = held(day + 12 * HOUR, day + 36 * HOUR, (0, night_list(window())))
    (dear, until, first), (since, morning, cheap), (_, end, last) = costs(ledger)
    assert (first, cheap, last) == (Fraction("3.60"), 1, Fraction("3.60"))
    assert (dear, end) == (day + 12 * HOUR, day + 36 * HOUR) and until == since
    assert morning - since == hours * HOUR


def test_a_millisecond_before_the_window_opens_the_other_price_applies() -> None:
    opens = SPRING + 21 * HOUR  # 22:00 in Berlin's winter.
    ledger = held(opens - 1, opens + 1, (0, night_list(window())))
    assert costs(ledger) == [(opens - 1, opens, Fraction("3.60")), (opens, opens + 1, Fraction(1))]


def test_a_window_of_some_days_begins_on_these_and_ends_on_the_next() -> None:
    friday = window(days=(4,))
    saturday = SPRING  # 2026-03-28
    assert open_windows((friday,), saturday) == ("night",), "01:00 on Saturday is Friday's night"
    assert open_windows((friday,), saturday + 24 * HOUR) == ()
    assert open_windows((window(begin=9, end=17, days=(5,)),), saturday + 9 * HOUR) == ("night",)


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
)
@pytest.mark.parametrize(("begin", "end"), [(22, 6), (2, 3), (9, 17), (0, 0)])
def test_a_year_of_windows_is_what_the_clocks_of_the_zone_show(zone: str, begin: int, end: int) -> None:
    days = (0, 2, 5)
    one = window(zone, begin, end, days=days)

    def shown(at: Millis) -> bool:
        then = datetime.fromtimestamp(at // 1000, ZoneInfo(zone))
        today, yesterday = then.weekday() in days, (then.weekday() - 1) % 7 in days
        if begin < end:
            return today and begin <= then.hour < end
        return (today and then.hour >= begin) or (yesterday and then.hour < end)

    at, until = SPRING, SPRING + 370 * 24 * HOUR
    found = set[Millis]()
    while (at := next_change((one,), at, until)) < until:
        found.add(at)
    quarters = range(SPRING, until, HOUR // 4)
    assert found == {now for before, now in zip(quarters, quarters[1:], strict=False) if shown(before) != shown(now)}


def test_a_price_by_a_label_is_that_of_flavors_that_bear_it_while_they_do() -> None:
    spot = replace(CPU, unit_price="1", flavor_label="tier=spot")
    prices = replace(LIST, prices=(CPU, spot))
    bears, lost = (FlavorObserved(name="spot", node_labels=labels) for labels in ({"tier": "spot"}, {"tier": "dear"}))
    at = SPRING
    runs = ((at, SUBMITTED), (at, RESERVED), (at, ADMITTED), (at + HOUR, lost), (at + 3 * HOUR, FINISHED))
    found = costs(told((0, prices), (1, bears), *runs))
    assert found == [(at, at + HOUR, Fraction(1)), (at + HOUR, at + 3 * HOUR, Fraction("3.60"))]


def test_a_window_is_the_least_particular_word_of_a_price() -> None:
    flavor = replace(CPU, unit_price="2", flavor="spot")
    always = replace(night_list(window(begin=0, end=0)), prices=(*night_list().prices, flavor))
    assert [cost for _, _, cost in costs(held(SPRING, SPRING + HOUR, (0, always)))] == [2]
    both = replace(flavor, unit_price="3", window="night")
    mixed = replace(always, prices=(*always.prices, both))
    assert [cost for _, _, cost in costs(held(SPRING, SPRING + HOUR, (0, mixed)))] == [3]


def test_a_label_of_the_flavor_says_more_than_a_window_and_less_than_the_flavor() -> None:
    bears = FlavorObserved(name="spot", node_labels={"tier": "spot"})
    label = replace(CPU, unit_price="7", flavor_label="tier=spot")
    always = replace(night_list(window(begin=0, end=0)), prices=(*night_list().prices, label))
    assert [cost for _, _, cost in costs(held(SPRING, SPRING + HOUR, (0, always), (1, bears)))] == [7]
    of_flavor = replace(always, prices=(*always.prices, replace(CPU, unit_price="2", flavor="spot")))
    assert [cost for _, _, cost in costs(held(SPRING, SPRING + HOUR, (0, of_flavor), (1, bears)))] == [2]
