"""What the console answers of all that happened: preemptions, bills, stretches of time, the log itself, and differences."""

from collections import Counter
from typing import Any

import pytest

from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from events.timestamp import format_timestamp
from ops.production.log.streams import PARTITION
from ops.queries.point import point_at
from ops.queries.stored import in_order
from services.runtime.log_port import Message
from tests.ops.console.served import Console, middle

NOW = ""


def moments(console: Console) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Parameters of a moment in an address, and how the command line names the end of the same period."""
    at = last_message(console)
    return (f"?at={at}", ("--to", at)), (NOW, ())


def last_message(console: Console) -> str:
    """The time of the last message in the first half: a ledger of what was stored by then reaches exactly as far."""
    *_, last = in_order(point_at({CONTROL: [], **console.log}, middle(console.log)).entries)
    return f"{format_timestamp(last.at)[:-1]}.{last.at % 1000:03}Z"


async def test_preemptions_are_those_that_explain_tells_of_each_victim_and_what_bills_call_cut_short(
    console: Console,
) -> None:
    for parameter, period in moments(console):
        answer = (await console.answer(f"preemptions{parameter}"))["data"]
        assert answer["preemptions"]
        for one in answer["preemptions"]:
            at = ("--at", last_message(console)) if parameter else ()
            printed = await console.printed("explain", f"workload/{one['workload']}", *at)
            [stop] = [stop for stop in printed["stops"] if stop["sequence"] == one["sequence"]]
            same = stop.keys() - {"standings"}
            assert {name: one[name] for name in same} == {name: stop[name] for name in same}
        assert answer["cut_short"] == (await console.printed("bill", *period))["cut_short"]


@pytest.mark.parametrize("group", ["", "tenant", "node,workload"])
async def test_a_bill_is_the_one_that_the_command_line_prints(console: Console, group: str) -> None:
    for parameter, period in moments(console):
        joined = f"{parameter}{'&' if parameter else '?'}group-by={group}" if group else parameter
        answer = (await console.answer(f"bills{joined}"))["data"]
        printed = await console.printed("bill", *period, *(("--group-by", group) if group else ()))
        read = {"as_of", "late_messages"} if parameter else set[str]()
        assert {name: answer[name] for name in answer.keys() - read} == {
            name: printed[name] for name in printed.keys() - read
        }
        assert answer["lines"]


async def test_the_bill_of_one_workload_holds_its_lines_of_the_bill_of_all(console: Console) -> None:
    printed = (await console.printed("bill", "--group-by", "workload,queue,model"))["lines"]
    for key in {line["workload"] for line in printed}:
        asked = f"bills?group-by=workload,queue,model&tenant={key.partition('/')[0]}&workload={key}"
        assert (await console.answer(asked))["data"]["lines"] == [one for one in printed if one["workload"] == key]
    assert (await console.answer("bills?group-by=workload&workload=day/nobody"))["data"]["lines"] == []


async def test_what_a_bill_refuses_is_refused_in_the_same_words(console: Console) -> None:
    status, body, _ = await console.ask("/api/v1/bills?from=soon")
    assert status == 400 and "is no time: write a month 2026-11" in body["message"]
    status, body, _ = await console.ask("/api/v1/bills?group-by=colour")
    assert status == 400 and "choose from tenant" in body["message"]


async def test_the_stretches_of_a_gantt_chart_are_the_entries_of_the_ledger(console: Console) -> None:
    for parameter, period in moments(console):
        answer = (await console.answer(f"gantt{parameter}"))["data"]
        printed = await console.printed("bill", "entries", *period)
        # What ended later is known to the command line, which reads on; then it still went on.
        later = {one["id"] for one in answer["entries"] if one["ended"] is None}
        until = answer["until"]
        expected = [{**one, "ended": None, "until": until} if one["id"] in later else one for one in printed]
        assert {one["id"]: one for one in answer["entries"]} == {one["id"]: one for one in expected}
        assert answer["left_out"] == 0
        wasted = (await console.printed("bill", *period))["cut_short"]
        short = [one for one in answer["entries"] if one["id"] in answer["cut_short"]]
        assert {one["holder"]["workload"] for one in short} == {one["workload"] for one in wasted}
        assert answer["since"] <= min(one["since"] for one in answer["entries"])
        assert answer["until"] >= max(one["until"] for one in answer["entries"])


async def test_the_places_of_the_log_are_those_of_the_events_that_log_show_prints(console: Console) -> None:
    answer = (await console.answer("log"))["data"]
    shown = await console.printed_lines("log", "show")
    expected = Counter((one["stream"], one["author"]) for one in shown)
    assert {(one["stream"], one["author"]): one["events"] for one in answer["authors"]} == expected
    last = {(one["stream"], one["author"]): one["sequence"] for one in sorted(shown, key=lambda one: one["sequence"])}
    assert {(one["stream"], one["author"]): one["sequence"] for one in answer["authors"]} == last
    assert [one for one in shown if one["mark"]] == [] == answer["marked"]
    at = middle(console.log)
    ends = {one["stream"]: one["last"] for one in (await console.answer(f"log?at={at}"))["data"]["streams"]}
    printed = await console.printed("replay", "--until", at, "--show", "queues")
    assert {name: ends[name] for name in printed["sequences"]} == printed["sequences"]


async def test_who_looks_at_the_log_again_is_told_of_what_has_come_since(console: Console) -> None:
    first = (await console.answer("log"))["data"]
    facts, more = await console.bus.stream(FACTS), console.log[FACTS][-1]
    await facts.publish([Message(more.subject, more.data, "told again")])
    again = (await console.answer("log"))["data"]
    told = [({one["author"]: one["events"] for one in found["authors"]}, found["streams"]) for found in (first, again)]
    assert told[1][0]["watcher"] == told[0][0]["watcher"] + 1
    assert told[1][1] != told[0][1]


async def test_what_differs_between_two_moments_turns_the_rows_of_one_into_those_of_the_other(console: Console) -> None:
    first, second = "LOG_0/5", middle(console.log)
    found = (await console.answer(f"differences?at={first}&with={second}"))["data"]
    before = {row["key"]: row for row in (await console.answer(f"workloads?at={first}"))["data"]["workloads"]}
    after = {row["key"]: row for row in (await console.answer(f"workloads?at={second}"))["data"]["workloads"]}
    kind = found["kinds"]["workloads"]
    assert kind["came"] or kind["changed"]
    turned: dict[str, Any] = {key: dict(row) for key, row in before.items() if key not in kind["gone"]}
    for one in kind["changed"]:
        for field, (old, new) in one["fields"].items():
            assert turned[one["key"]][field] == old
            turned[one["key"]][field] = new
    turned.update({key: after[key] for key in kind["came"]})
    assert turned == after
    same = (await console.answer(f"differences?at={second}&with={second}"))["data"]["kinds"]
    assert all(set(kind["counts"].values()) == {0} for kind in same.values())


async def test_the_strip_of_time_counts_every_message_once(console: Console) -> None:
    strip = (await console.answer("time"))["data"]
    assert sum(strip["parts"]) == sum(len(entries) for entries in console.log.values())
    commits = [decode_commit(entry.data).at for entry in console.log[PARTITION]]
    assert strip["began"] <= min(commits) and max(commits) <= strip["ended"]


async def test_an_answer_is_kept_for_ever_where_nothing_can_change_it_and_its_address_names_the_log(
    console: Console,
) -> None:
    log = (await console.answer("time"))["as_of"]["log"]

    async def kept(path: str) -> str:
        return (await console.ask(f"/api/v1/{path}"))[2]["Cache-Control"]

    settled = middle(console.log)
    for path in (f"queues?at={settled}", f"bills?at={settled}", "workloads?at=LOG_0/5", "cards?at=7"):
        assert "immutable" in await kept(f"{path}&log={log}")
        assert await kept(path) == await kept(f"{path}&log=0123") == "private, no-cache"
    for path in ("queues?at=2999-01-01T00:00:00Z", f"queues?at=LOG_0/{len(console.log[PARTITION])}"):
        answered = await kept(f"{path}&log={log}")
        assert ("immutable" in answered) == ("LOG_0" in path)
    assert await kept(f"log?log={log}") == await kept(f"queues?log={log}") == "no-store"
    assert "immutable" in await kept(f"differences?at=7&with=9&log={log}")
    assert await kept(f"differences?at=7&log={log}") == "no-store"
