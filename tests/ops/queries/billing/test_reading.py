"""What a log must be to be billed, and the order in which it is read."""

import msgspec
import pytest

from events.subjects import CONTROL, FACTS
from ops.queries.billing.period import period, time
from ops.queries.billing.price_file import read_price_file
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import Read, events_in_order, ledger_of
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry
from services.runtime.partition_errors import ChainBroken, MessageNotOurs
from tests.laws.random_day import Day

PARTITION = "LOG_0"


@pytest.fixture(scope="module")
def day() -> Day:
    day = Day(1, lambda *_: None)
    day.begin()
    day.decide()
    for _ in range(10):
        day.step()
    return day


def changed(day: Day, stream: str, place: int, **fields: object) -> dict[str, list[Entry]]:
    entries = {name: list(found) for name, found in day.entries.items()}
    entries[stream][place] = msgspec.structs.replace(entries[stream][place], **fields)
    return entries


def test_a_log_with_a_gap_is_not_billed(day: Day) -> None:
    entries = {name: list(found) for name, found in day.entries.items()}
    del entries[FACTS][5]
    with pytest.raises(LogGap, match="FACTS has a gap: expected sequence 6, found 7"):
        ledger_of(entries)


def test_a_log_that_lost_the_facts_that_decisions_rest_on_is_not_billed(day: Day) -> None:
    entries = {**day.entries, FACTS: day.entries[FACTS][:5]}
    with pytest.raises(LogGap, match="FACTS has a gap: expected sequence 6"):
        ledger_of(entries)


def test_an_event_of_a_newer_version_is_named(day: Day) -> None:
    entries = changed(day, FACTS, 3, data=b'{"id":"x","at":1,"author":"w","fact":{"type":"CardMelted.v9"}}')
    with pytest.raises(MessageNotOurs, match=r"FACTS sequence 4: .*CardMelted.*newer version"):
        ledger_of(entries)


def test_a_changed_commit_is_named(day: Day) -> None:
    data = day.entries[PARTITION][0].data.replace(b'"rules":"1"', b'"rules":"9"')
    with pytest.raises(ChainBroken, match="LOG_0 is broken at sequence 2"):
        ledger_of(changed(day, PARTITION, 0, data=data))


def test_nothing_comes_before_what_it_rests_on_and_time_never_goes_back(day: Day) -> None:
    seen = dict.fromkeys(day.entries, 0)
    before = 0
    for _, place in events_in_order(day.entries, Read(upto={})):
        assert place.at >= before and place.sequence >= seen[place.partition]
        before, seen[place.partition] = place.at, place.sequence
        if place.partition not in (CONTROL, FACTS):
            for run in msgspec.json.decode(day.entries[place.partition][place.sequence - 1].data)["inputs"]:
                assert run["upto"] <= seen[run["stream"]]


def test_periods_are_months_days_and_moments() -> None:
    assert time("2026-11", 0) == time("2026-11-01", 0) == time("2026-11-01T00:00:00Z", 0)
    assert time("+90s", 1000) == 91_000
    assert period("", "", 5, 9).until == 9
    with pytest.raises(BillRefused, match="is empty"):
        period("2026-11", "2026-11", 0, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("currency: EUR", "prices has to be a list"),
        ("currency: euro\nprices: [{meter: memory, price: '1'}]", "ISO 4217"),
        ("currency: EUR\nprices: [{meter: heat, price: '1'}]", "has to be one of memory, cores"),
        ("currency: EUR\nprices: [{meter: memory, price: 1e3}]", "is no amount: write a plain decimal"),
        ("currency: EUR\nprices: [{meter: memory, price: -1}]", "has to be zero or more"),
        ("currency: EUR\nprices: [{meter: memory, price: 1, colour: red}]", "colour, which is unknown"),
        ("currency: EUR\nprices: [{meter: memory, price: 1}, {meter: memory, price: 2}]", "is priced twice"),
        ("currency: EUR\ncharges: [idle]\nprices: [{meter: memory, price: 1}]", "has to be among usage"),
        ("currency: EUR\nfrom: soon\nprices: [{meter: memory, price: 1}]", "is no time"),
        ("[1, 2]", "has to be a mapping"),
        ("a: [", "broken YAML"),
    ],
)
def test_a_bad_price_list_is_refused_with_what_to_write(tmp_path: object, text: str, message: str) -> None:
    file = tmp_path / "prices.yaml"  # type: ignore[operator]
    file.write_text(text)
    with pytest.raises(BillRefused, match=message):
        read_price_file(file, author="", reason="", now=0, first=0)
