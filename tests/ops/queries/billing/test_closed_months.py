"""Closed months: the same bytes for ever, and what is learnt later in the month after them, to the unit."""

import random
from collections import Counter

import msgspec
import pytest

from events.billing import CorrectionEntered, LineKind, Meter, MonthClosed, Price, PriceListSet
from events.subjects import CONTROL, FACTS
from events.timestamp import parse_timestamp
from ops.queries.billing.closed_months import check_closed, digest, month_ledger, statement, upto, window_of
from ops.queries.billing.focus import rows
from ops.queries.billing.focus_columns import NAMES, broken_rules
from ops.queries.billing.problems import BillRefused
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import entered_amounts
from projections.billing.lines.charge import charges, pieces
from services.runtime.log_port import Entry
from tests.laws.random_day import DEVICES, PARTITION, Day, prices
from tests.ops.queries.billing.test_ends_before_reservations import LET_IN, PRICES, SUBMITTED, commits, facts
from tests.projections.billing.claims.test_claim_time import MAPPED, POD, claim
from tests.projections.billing.claims.test_claim_time import RESERVED as CLAIMED_UNDER
from tests.projections.billing.claims.test_claim_time import SUBMITTED as CLAIMING

Log = dict[str, list[Entry]]
MONTHS = ("2026-11", "2026-12", "2027-01")


def three_months(seed: int, months: tuple[str, ...] = (*MONTHS, "2027-02")) -> Day:
    """Some busy seconds in each of these months; who holds cards at their ends goes on."""
    day = Day(seed, lambda *_: None)
    day.at = min(day.at, parse_timestamp(f"{months[0]}-18T00:00:00Z"))
    day.operate(prices("early", starts=day.at - 1000, factor=1))
    day.begin()
    day.decide()
    for month in months:
        begin = parse_timestamp(f"{month}-03T00:00:00Z")
        if begin > day.at:
            day.pass_time(begin - day.at)
        for _ in range(12):
            day.step()
    return day


def ends(log: Log) -> dict[str, int]:
    return {name: len(found) for name, found in log.items()}


def begun(log: Log, month: str) -> dict[str, int]:
    """How far each stream went in the first seconds after a month."""
    until = window_of(month).until
    behind = {name: [i for i, one in enumerate(found) if at(one) >= until] for name, found in log.items()}
    found = {name: min([*[one + 3 for one in places[:1]], len(log[name])]) for name, places in behind.items()}
    return consistent(log, found)


def at(entry: Entry) -> int:
    return int(msgspec.json.decode(entry.data)["at"])


def closed(day: Day, month: str, places: dict[str, int] | None = None) -> MonthClosed:
    """Close a month, of a log that ended at these places then."""
    then = upto(day.entries, {**(places or ends(day.entries)), CONTROL: len(day.entries[CONTROL])})
    event = statement(then, month, author="ann")
    day.operate(event)  # type: ignore[arg-type]
    return event


def costs(ledger: Ledger, window: Window) -> Counter[tuple[str, str]]:
    """Money and MiB·ms by tenant, without what rounding makes up for."""
    found: Counter[tuple[str, str]] = Counter()
    for piece in pieces(ledger, window):
        who = piece.entry.holder.tenant
        found[who, "money"] += sum(one.cost for one in charges(piece))
        if piece.kind is not LineKind.CREDIT:
            found[who, "memory"] += piece.entry.slice.memory * piece.length
    for amount in entered_amounts(ledger, window):
        found[amount.tenant, "money"] += amount.cost
    return found


def all_costs(log: Log, *, months: tuple[str, ...] = MONTHS) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for month in months:
        total.update(costs(month_ledger(log, window_of(month))[0], window_of(month)))
    return Counter({key: amount for key, amount in total.items() if amount})


def without_closings(log: Log) -> Log:
    """The same log if nobody had ever closed a month."""
    kept = [one for one in log[CONTROL] if b"MonthClosed" not in one.data]
    return {**log, CONTROL: kept}


@pytest.mark.parametrize("seed", range(12))
def test_a_closed_month_has_the_same_bytes_for_ever_and_the_next_one_what_was_learnt_since(seed: int) -> None:
    day = three_months(seed)
    chance = random.Random(seed)
    events: list[MonthClosed] = []
    for month in MONTHS[:2]:
        places = begun(day.entries, month)
        if chance.random() < 0.8:
            # The deciders' messages of the last seconds come late.
            late = chance.randrange(1, 12)
            places |= {name: max(places[name] - late, 1) for name in (DEVICES, PARTITION)}
        for event in events:
            places = {name: max(end, event.upto[name]) for name, end in places.items()}
        places = consistent(day.entries, places)
        events.append(closed(day, month, places))
    for event, month in zip(events, MONTHS, strict=False):
        window = window_of(month)
        ledger, _ = month_ledger(day.entries, window)
        check_closed(ledger, window)
        assert digest(ledger, window) == (event.rows, event.sha256)
        told = [dict(zip(NAMES, row, strict=True)) for row in rows(ledger, window)]
        assert [broken for row in told for broken in broken_rules(row)] == []
        assert {row["InvoiceId"] for row in told} <= {f"{month}-{event.number:04d}-team"}
    last = MONTHS[2]
    event = closed(day, last)
    assert (event.number, event.month) == (3, last)
    booked = all_costs(day.entries)
    assert booked == all_costs(without_closings(day.entries)), "what was billed comes to what was held, to the unit"


def consistent(log: Log, places: dict[str, int]) -> dict[str, int]:
    """No stream ends before what the others rest on."""
    changed = True
    while changed:
        changed = False
        for name in (PARTITION, DEVICES):
            for entry in log[name][: places[name]]:
                for run in msgspec.json.decode(entry.data)["inputs"]:
                    if places[run["stream"]] < run["upto"]:
                        places[run["stream"]], changed = run["upto"], True
    return places


def test_there_are_late_lines_at_all_and_focus_calls_them_corrections() -> None:
    found: Counter[str] = Counter()
    for seed in range(12):
        day = three_months(seed)
        places = begun(day.entries, "2026-11")
        places |= {name: max(places[name] - 8, 1) for name in (DEVICES, PARTITION)}
        closed(day, "2026-11", consistent(day.entries, places))
        window = window_of("2026-12")
        ledger, _ = month_ledger(day.entries, window)
        for row in rows(ledger, window):
            told = dict(zip(NAMES, row, strict=True))
            assert broken_rules(told) == []
            if told["ChargePeriodStart"] < "2026-12" and told["x_LineKind"] == "correction":
                found[told["ChargeClass"]] += 1
                assert told["BillingPeriodStart"] == "2026-12-01T00:00:00Z" and told["x_LogPlace"].startswith(CONTROL)
    assert found["Correction"] > 10 and set(found) == {"Correction"}


def test_months_are_closed_once_in_their_order_and_after_their_end() -> None:
    day = three_months(1)
    with pytest.raises(BillRefused, match="the log ends at .*, and 2027-02 goes on until 2027-03-01"):
        statement(day.entries, "2027-02", author="ann")
    with pytest.raises(BillRefused, match="'2026-13' is no month: write 2026-11"):
        statement(day.entries, "2026-13", author="ann")
    closed(day, "2026-11")
    with pytest.raises(BillRefused, match="2026-11 is closed already"):
        statement(day.entries, "2026-11", author="ann")
    with pytest.raises(BillRefused, match="2026-11 was closed last: close 2026-12 before 2027-01"):
        statement(day.entries, "2027-01", author="ann")


def test_a_month_without_prices_is_not_closed() -> None:
    day = three_months(1)
    del day.entries[CONTROL][:]
    with pytest.raises(BillRefused, match="have no price in 2026-11"):
        statement(day.entries, "2026-11", author="ann")


NOVEMBER, DECEMBER = (parse_timestamp(f"2026-{month}-01T00:00:00Z") for month in (11, 12))


def small(prices: PriceListSet, *entered: CorrectionEntered, last: int = DECEMBER) -> Log:
    """A log of a job that holds cpu from the beginning of November on, and of something that was seen last."""
    return {
        CONTROL: commits(CONTROL, (0, 0, (prices,)), *((NOVEMBER + 1000, 0, (one,)) for one in entered)),
        FACTS: facts((NOVEMBER, SUBMITTED), (last, SUBMITTED)),
        PARTITION: commits(PARTITION, (NOVEMBER, 1, LET_IN)),
    }


def test_a_month_is_closed_once_the_log_has_reached_its_end_and_not_a_millisecond_before() -> None:
    assert statement(small(PRICES), "2026-11", author="ann").rows
    with pytest.raises(BillRefused, match="and 2026-11 goes on until 2026-12-01"):
        statement(small(PRICES, last=DECEMBER - 1), "2026-11", author="ann")


def test_a_month_with_quota_that_has_no_price_is_not_closed() -> None:
    other = msgspec.structs.replace(PRICES.prices[0], resource="memory")
    with pytest.raises(BillRefused, match="cpu of flavor spot has no price in 2026-11: enter one first"):
        statement(small(msgspec.structs.replace(PRICES, prices=(other,))), "2026-11", author="ann")


def test_a_month_with_a_correction_of_an_unknown_entry_is_not_closed() -> None:
    wrong = CorrectionEntered(tenant="team", entry="nobody-s", reason="why", author="ann")
    with pytest.raises(BillRefused, match="a correction names entry nobody-s, which the ledger has not or not yet"):
        statement(small(PRICES, wrong), "2026-11", author="ann")


def test_a_month_with_claimed_devices_that_have_no_price_is_not_closed() -> None:
    told = (MAPPED, CLAIMING, POD, claim("g0"))
    priced = PriceListSet(
        name="p", currency="EUR", starts=0, prices=(Price(meter=Meter.DEVICE, device_class="other", unit_price="1"),)
    )
    log = {
        CONTROL: commits(CONTROL, (0, 0, (priced,))),
        FACTS: facts(*((NOVEMBER + at, one) for at, one in enumerate(told)), (DECEMBER, POD)),
        PARTITION: commits(PARTITION, (NOVEMBER + 1, 2, (CLAIMED_UNDER,))),
    }
    with pytest.raises(BillRefused, match="claimed devices of class .* have no price in 2026-11: enter one first"):
        statement(log, "2026-11", author="ann")


def test_the_closed_months_are_folded_again_only_where_something_was_learnt_of_them() -> None:
    day = three_months(1)
    closed(day, "2026-11")
    ledger, _ = month_ledger(day.entries, window_of("2026-12"))
    assert ledger.carried is None, "all of it was on the log when the month was closed"
    late = three_months(1)
    places = begun(late.entries, "2026-11")
    places |= {name: max(places[name] - 8, 1) for name in (DEVICES, PARTITION)}
    closed(late, "2026-11", consistent(late.entries, places))
    ledger, _ = month_ledger(late.entries, window_of("2026-12"))
    assert ledger.carried is not None


def test_what_goes_on_over_the_end_of_a_month_that_was_closed_on_an_earlier_sight_is_completed_in_the_next() -> None:
    day = three_months(1)
    until = window_of("2026-11").until
    seen = {name: sum(at(one) < until for one in found) for name, found in day.entries.items()}
    closed(day, "2026-11", consistent(day.entries, seen))
    ledger, _ = month_ledger(day.entries, window_of("2026-12"))
    assert ledger.carried is not None, "until the end of November held cards were not on the log yet"


def test_a_correction_after_the_closing_is_in_the_month_in_which_it_was_entered() -> None:
    day = three_months(2)
    before = closed(day, "2026-11", begun(day.entries, "2026-11"))
    day.operate(CorrectionEntered(tenant="team", amount="-1.25", reason="goodwill", author="ann"))
    ledger, _ = month_ledger(day.entries, window_of("2026-11"))
    assert digest(ledger, window_of("2026-11")) == (before.rows, before.sha256)


def test_a_log_that_was_changed_does_not_pass_for_what_was_closed() -> None:
    day = three_months(3)
    event = closed(day, "2026-11")
    window = window_of("2026-11")
    ledger, _ = month_ledger(day.entries, window)
    ledger.closed = msgspec.structs.replace(event, sha256="0" * 64)
    with pytest.raises(BillRefused, match="2026-11 was closed with the data set 000.*, and this version comes to"):
        check_closed(ledger, window)
    with pytest.raises(BillRefused, match="does not reach that far"):
        month_ledger({**day.entries, FACTS: day.entries[FACTS][:5]}, window)
