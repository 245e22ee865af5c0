"""What a log must be to be billed, and the order in which it is read."""

from pathlib import Path

import msgspec
import pytest

from events.application import DecisionApplied
from events.codec import encode
from events.commit import Sighting
from events.subjects import CONTROL, FACTS
from events.timestamp import format_timestamp
from ops.queries.billing.message_times import in_order, message_times
from ops.queries.billing.period import period, time
from ops.queries.billing.price_file import read_price_file
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import LogRead, events_in_order, ledger_of
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry
from services.runtime.partition.errors import ChainBroken, MessageNotOurs
from tests.laws.random_day import Day
from tests.ops.queries.billing.test_ends_before_reservations import LET_IN, SUBMITTED, commits

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


@pytest.mark.parametrize("ahead", [0, 60_000])
def test_nothing_comes_before_what_it_rests_on_and_no_stream_goes_back(day: Day, ahead: int) -> None:
    """Also where the clock of who tells facts is ahead of that of who decides by them."""
    entries = {**day.entries, FACTS: [later(one, ahead) for one in day.entries[FACTS]]}
    seen, before = dict.fromkeys(entries, 0), dict.fromkeys(entries, 0)
    for _, place, _ in events_in_order(entries, LogRead(upto={}, skewed=[])):
        assert place.at >= before[place.partition] and place.sequence >= seen[place.partition]
        before[place.partition], seen[place.partition] = place.at, place.sequence
        if place.partition not in (CONTROL, FACTS):
            for run in msgspec.json.decode(entries[place.partition][place.sequence - 1].data)["inputs"]:
                assert run["upto"] <= seen[run["stream"]]


def test_a_decision_comes_behind_all_facts_that_it_rests_on_in_whatever_order_these_count() -> None:
    first, second = (encode(Sighting(id=f"w{at}", at=at, author="watcher", fact=SUBMITTED)) for at in (1000, 2000))
    facts = [
        Entry(stream=FACTS, sequence=number, subject="", message_id="", data=data)
        for number, data in enumerate((first, applied(5000), second), 1)
    ]
    found, read = at_places({CONTROL: [], FACTS: facts, PARTITION: commits(PARTITION, (3000, 3, LET_IN))})
    assert [(stream, at) for stream, _, at in found][:4] == [
        (FACTS, 1000),
        (FACTS, 2000),
        (FACTS, 5000),
        (PARTITION, 3000),
    ]
    assert read.upto == {CONTROL: 0, FACTS: 3, PARTITION: 1}


def test_periods_are_months_days_and_moments() -> None:
    assert time("2026-11", 0) == time("2026-11-01", 0) == time("2026-11-01T00:00:00Z", 0)
    assert time("+90s", 1000) == 91_000
    assert period("", "", 5, 9).until == 9
    with pytest.raises(BillRefused, match="is empty"):
        period("2026-11", "2026-11", 0, 0)


@pytest.mark.parametrize("date", ["2026-02-29", "2026-04-31", "2026-11-00", "2026-13", "0000-00-00", "2026-١١"])
def test_a_day_that_no_calendar_has_is_no_day_of_the_month_after_it(date: str) -> None:
    with pytest.raises(BillRefused, match="is no time"):
        time(date, 0)
    assert format_timestamp(time("2028-02-29", 0)) == "2028-02-29T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("currency: EUR", "prices has to be a list"),
        ("currency: euro\nprices: [{meter: memory, price: '1'}]", "ISO 4217"),
        ("currency: EUR\nprices: [{resource: cpu, meter: memory, price: '1'}]", "both are of cards"),
        (
            "currency: EUR\nprices: [{resource: cpu, price: '1'}, {resource: cpu, price: '2'}]",
            "cpu of all flavors is priced twice",
        ),
        ("currency: EUR\nprices: [{meter: quota, price: '1'}]", "or it names a resource"),
        ("currency: EUR\nprices: [{meter: heat, price: '1'}]", "has to be one of memory, cores"),
        ("currency: EUR\nprices: [{meter: memory, price: 1e3}]", "is no amount: write a plain decimal"),
        ("currency: EUR\nprices: [{meter: memory, price: ٣}]", "is no amount: write a plain decimal"),
        ('currency: EUR\nprices: [{meter: memory, price: "3\\n"}]', "is no amount: write a plain decimal"),
        ("currency: EUR\nprices: [{meter: memory, price: -1}]", "has to be zero or more"),
        ("currency: EUR\nprices: [{meter: memory, price: 1, colour: red}]", "colour, which is unknown"),
        ("currency: EUR\nprices: [{meter: memory, price: 1}, {meter: memory, price: 2}]", "is priced twice"),
        ("currency: EUR\ncharges: [idle]\nprices: [{meter: memory, price: 1}]", "has to be among usage"),
        ("currency: EUR\nfrom: soon\nprices: [{meter: memory, price: 1}]", "is no time"),
        ("currency: ÄÖÜ\nprices: [{meter: memory, price: 1}]", "ISO 4217"),
        (
            "currency: EUR\nprices: [{meter: memory, price: 1, price: 5}]",
            "field price is given twice, on line 2 and here, on line 2",
        ),
        (
            "currency: EUR\nprices: [{meter: memory, price: 1}]\ncurrency: USD",
            "field currency is given twice, on line 1 and here, on line 3",
        ),
        ("[1, 2]", "has to be a mapping"),
        ("a: [", "broken YAML"),
    ],
)
def test_a_bad_price_list_is_refused_with_what_to_write(tmp_path: object, text: str, message: str) -> None:
    file = tmp_path / "prices.yaml"  # type: ignore[operator]
    file.write_text(text)
    with pytest.raises(BillRefused, match=message):
        read_price_file(file, author="", reason="", now=0, first=0)


def at_places(entries: dict[str, list[Entry]]) -> tuple[list[tuple[str, int, int]], LogRead]:
    read = LogRead(upto={}, skewed=[])
    return [(place.partition, place.sequence, place.at) for _, place, _ in events_in_order(entries, read)], read


def later(entry: Entry, by: int) -> Entry:
    """A message that its author wrote with a clock so far ahead."""
    message = msgspec.json.decode(entry.data)
    return msgspec.structs.replace(entry, data=msgspec.json.encode({**message, "at": message["at"] + by}))


def hurried(day: Day, place: int, by: int) -> dict[str, list[Entry]]:
    """The day, with one fact that its author wrote with a clock so far ahead."""
    return changed(day, FACTS, place, data=later(day.entries[FACTS][place], by).data)


@pytest.mark.parametrize("by", [3_600_000, -3_600_000])
@pytest.mark.parametrize("place", [5, 10, 15])
def test_one_wrong_time_moves_nobody_else(day: Day, place: int, by: int) -> None:
    right, _ = at_places(day.entries)
    moved, read = at_places(hurried(day, place, by))
    before = {(stream, sequence): at for stream, sequence, at in right}
    after = {(stream, sequence): at for stream, sequence, at in moved}
    assert {key for key in before if before[key] != after[key]} <= {(FACTS, place + 1)}
    assert before[FACTS, place] <= after[FACTS, place + 1] <= before[FACTS, place + 2], (
        "it counts between its neighbours"
    )
    (skew,) = read.skewed
    assert (skew.stream, skew.sequence, skew.author) == (FACTS, place + 1, "watcher") and skew.by > 3_500_000


def test_a_time_that_is_wrong_by_ten_seconds_is_no_finding_and_by_a_millisecond_more_is_one(day: Day) -> None:
    own, following = (msgspec.json.decode(one.data)["at"] for one in day.entries[FACTS][10:12])
    for by in (10_000, 10_001):
        _, read = at_places(hurried(day, 10, following - own + by))
        assert (read.late, read.latest, len(read.skewed)) == (1, by, by - 10_000)


def test_an_outbox_that_lags_moves_nothing(day: Day) -> None:
    """Another author's facts were stored ahead of older ones: each counts at its own time, in the order of time."""
    late = {name: list(found) for name, found in day.entries.items()}
    begin, cut = at_places(day.entries)[1].first, len(late[FACTS]) // 2
    noise = [
        Entry(stream=FACTS, sequence=cut + 1 + i, subject="", message_id="", data=applied(begin + 3_600_000 + i))
        for i in range(5)
    ]
    tail = [msgspec.structs.replace(one, sequence=one.sequence + 5) for one in late[FACTS][cut:]]
    late[FACTS][cut:] = [*noise, *tail]
    late = {FACTS: late[FACTS], CONTROL: late[CONTROL]}
    found, read = at_places(late)
    alone, _ = at_places({FACTS: day.entries[FACTS], CONTROL: day.entries[CONTROL]})
    own = [at for stream, _, at in found if stream == FACTS]
    assert (read.late, read.skewed) == (0, [])
    assert own == sorted([at for stream, _, at in alone if stream == FACTS] + own[-5:])


def applied(at: int, author: str = "applier") -> bytes:
    fact = DecisionApplied(workload="team/x", partition="LOG_0", sequence=1)
    return encode(Sighting(id=f"a{at}", at=at, author=author, fact=fact))


def told_at(stream: str, *told: tuple[int, str], stored: int = 0) -> list[int]:
    """The times that count of messages that these authors have told on a stream."""
    entries = [
        Entry(stream=stream, sequence=number, subject="", message_id="", data=applied(at, author), stored=stored)
        for number, (at, author) in enumerate(told, 1)
    ]
    return list(message_times(stream, entries, Control()))


def test_of_facts_each_author_has_times_of_its_own_and_a_partition_has_one_order_for_all_of_its_authors() -> None:
    told = ((10_000, "one"), (90_000, "other"), (20_000, "one"), (30_000, "one"))
    assert told_at(FACTS, *told) == [10_000, 90_000, 20_000, 30_000]
    assert told_at(PARTITION, *told) == [10_000, 20_000, 20_000, 30_000]


def test_a_time_that_is_far_ahead_of_that_of_the_bus_counts_as_ten_seconds_ahead() -> None:
    told = ((59_000, "one"), (60_000, "one"), (60_001, "one"), (900_000, "one"))
    assert told_at(FACTS, *told, stored=50_000) == [59_000, 60_000, 60_000, 60_000]
    assert told_at(FACTS, *told) == [at for at, _ in told], "where the bus does not say when it stored them"


@pytest.mark.parametrize(
    ("times", "settled"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 99, 2, 3], [1, 2, 2, 3]),
        ([10, 20, 5, 30], [10, 20, 20, 30]),
        ([10, 20, 30, 15, 16, 40], [10, 20, 30, 30, 30, 40]),
        ([10, 90, 91, 20, 21, 22], [10, 20, 20, 20, 21, 22]),
        ([10, 90, 5, 20, 21], [10, 20, 20, 20, 21]),
        ([20, 10], [20, 20]),
        ([10, 90, 20], [10, 90, 90]),
        ([], []),
    ],
)
def test_as_few_times_as_can_be_are_moved_and_of_two_the_earlier_stands(times: list[int], settled: list[int]) -> None:
    assert in_order(times) == settled


def test_a_price_may_be_for_one_priority_class(tmp_path: Path) -> None:
    file, card = tmp_path / "prices.yaml", "{meter: card, price: '1'}"
    file.write_text(f"currency: EUR\nprices: [{card}, {{meter: card, price: '0.5', priorityClass: batch}}]\n")
    found = read_price_file(file, author="ann", reason="", now=0, first=0)
    assert [one.priority_class for one in found.prices] == ["", "batch"]
    file.write_text(f"currency: EUR\nprices: [{card}, {{meter: card, price: '0.5', priority_class: batch}}]\n")
    with pytest.raises(BillRefused, match="price 2 has priority_class, which is unknown; it may have .*priorityClass"):
        read_price_file(file, author="ann", reason="", now=0, first=0)


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("currency: EUR", 2),
        ("currency: JPY", 0),
        ("currency: KWD", 3),
        ("currency: JPY\nbilledIn: EUR", 2),
        ("currency: EUR\nbilledIn: JPY", 0),
        ("currency: JPY\ndecimals: 2", 2),
    ],
)
def test_invoices_are_rounded_to_the_minor_unit_of_their_currency_unless_the_list_says_otherwise(
    tmp_path: Path, words: str, places: int
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(f"{words}\nprices: [{{meter: memory, price: '1'}}]")
    assert read_price_file(file, author="", reason="", now=0, first=0).decimals == places
