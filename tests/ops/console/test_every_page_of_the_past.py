"""Every page of a past moment says what the command line says of it, number for number; none is left out."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from events.timestamp import format_timestamp
from ops.console.questions import OF_A_WORLD, OF_THE_LOG
from ops.sandbox.bench.day import BEGINS
from tests.ops.console.browsing import PAGES
from tests.ops.console.racks import racks
from tests.ops.console.served import Console, served
from tests.ops.console.test_questions import last_message
from tests.ops.console.test_whatif_runs import begun, over

NODE = "node/v100-0"


async def overview(console: Console, at: str) -> None:
    data = (await console.answer(f"overview?at={at}"))["data"]
    rows = (await console.printed("replay", "--until", at, "--show", "workloads"))["workloads"]
    assert data["states"] == Counter(row["state"] for row in rows) and rows
    waiting = sorted((row["since"], row["key"]) for row in rows if row["state"] == "pending")
    assert [(row["since"], row["key"]) for row in data["longest_waiting"]] == waiting[: len(data["longest_waiting"])]
    usage = (await console.printed("replay", "--until", at, "--show", "usage"))["usage"]
    assert data["usage"] and [row for row in usage if row in data["usage"]] == data["usage"]
    cards = (await console.printed("devices", "--at", at))["cards"]
    assert data["cards"]["states"] == Counter(card["state"] for card in cards)
    assert data["cards"]["memory"] == sum(card["memory"] for card in cards)
    assert data["cards"]["memory_used"] == sum(card["memory_used"] for card in cards)


async def queues(console: Console, at: str) -> None:
    data = (await console.answer(f"queues?at={at}"))["data"]
    assert data["queues"] == (await console.printed("replay", "--until", at, "--show", "queues"))["queues"] != []
    usage = (await console.printed("replay", "--until", at, "--show", "usage"))["usage"]
    assert sorted(map(str, (row for node in data["tree"] for row in node["usage"]))) == sorted(map(str, usage))


async def workloads(console: Console, at: str) -> None:
    data = (await console.answer(f"workloads?at={at}"))["data"]
    printed = await console.printed("replay", "--until", at, "--show", "workloads")
    assert data["workloads"] == printed["workloads"] != []


async def workload(console: Console, at: str) -> None:
    rows = (await console.printed("replay", "--until", at, "--show", "workloads"))["workloads"]
    for key in {row["state"]: row["key"] for row in rows}.values():
        data = (await console.answer(f"workloads/{key}?at={at}"))["data"]
        printed = await console.printed("explain", f"workload/{key}", "--at", at)
        assert data["explanation"] == {name: printed[name] for name in data["explanation"]}
        assert data["history"] == await console.printed("history", f"workload/{key}", "--until", at)


async def cards(console: Console, at: str) -> None:
    assert (await console.answer(f"cards?at={at}"))["data"] == await console.printed("devices", "--at", at)


async def topology(console: Console, at: str) -> None:
    printed = await console.printed("replay", "--until", at, "--show", "topology")
    assert (await console.answer(f"topology?at={at}"))["data"]["flavors"] == printed["topology"]


async def clusters(console: Console, at: str) -> None:
    printed = await console.printed("replay", "--until", at, "--show", "clusters")
    assert (await console.answer(f"clusters?at={at}"))["data"]["clusters"] == printed["clusters"]


async def gantt(console: Console, at: str) -> None:
    data = (await console.answer(f"gantt?at={at}"))["data"]
    printed = {one["id"]: one for one in await console.printed("bill", "entries", "--to", at)}
    assert data["entries"] and {one["id"] for one in data["entries"]} == printed.keys()
    for one in data["entries"]:
        # The command line reads on: what ended later still went on then.
        same = one.keys() - ({"ended", "until"} if one["ended"] is None else set[str]())
        assert {name: one[name] for name in same} == {name: printed[one["id"]][name] for name in same}


async def preemptions(console: Console, at: str) -> None:
    data = (await console.answer(f"preemptions?at={at}"))["data"]
    assert data["preemptions"] and data["cut_short"] == (await console.printed("bill", "--to", at))["cut_short"]
    for one in data["preemptions"]:
        printed = await console.printed("explain", f"workload/{one['workload']}", "--at", at)
        [stop] = [stop for stop in printed["stops"] if stop["sequence"] == one["sequence"]]
        same = stop.keys() - {"standings"}
        assert {name: one[name] for name in same} == {name: stop[name] for name in same}


async def bills(console: Console, at: str) -> None:
    data = (await console.answer(f"bills?at={at}"))["data"]
    printed = await console.printed("bill", "--to", at)
    same = data.keys() - {"as_of", "late_messages"}
    assert data["lines"] and {name: data[name] for name in same} == {name: printed[name] for name in same}
    entries = (await console.answer(f"entries?at={at}"))["data"]["entries"]
    assert {one["id"] for one in entries} == {one["id"] for one in await console.printed("bill", "entries", "--to", at)}
    assert (await console.answer(f"budgets?at={at}"))["data"]["budgets"] == []
    assert (await console.answer(f"months?at={at}"))["data"]["months"] == []


async def whatif(console: Console, at: str) -> None:
    found, _ = await over(console, await begun(console, {"at": at, "more": [f"{NODE}=1"]}))
    assert found["result"]["comparison"] == await console.printed("whatif", "--at", at, "--more", f"{NODE}=1")


async def log(console: Console, at: str) -> None:
    data = (await console.answer(f"log?at={at}"))["data"]
    printed = await console.printed("replay", "--until", at, "--show", "queues")
    ends = {one["stream"]: one["last"] for one in data["streams"]}
    assert {name: ends[name] for name in printed["sequences"]} == printed["sequences"]
    shown = [one for one in await console.printed_lines("log", "show") if one["sequence"] <= ends[one["stream"]]]
    assert {(one["stream"], one["author"]): one["events"] for one in data["authors"]} == Counter(
        (one["stream"], one["author"]) for one in shown
    )


CHECKS: dict[str, Callable[[Console, str], Awaitable[None]]] = {
    "overview": overview,
    "queues": queues,
    "workloads": workloads,
    "workloads/day/w1": workload,
    "cards": cards,
    "topology": topology,
    "clusters": clusters,
    "gantt": gantt,
    "preemptions": preemptions,
    "bills": bills,
    "whatif": whatif,
    "log": log,
}


def test_no_page_and_no_question_is_left_out() -> None:
    assert CHECKS.keys() == PAGES.keys()
    # The strip of time lies above every page and is of the whole log (test_questions.py); the rest are parts of the page of bills.
    assert {*OF_A_WORLD, *OF_THE_LOG} - {"time", "budgets", "months", "entries"} <= CHECKS.keys()


@pytest.mark.parametrize("page", CHECKS)
async def test_a_page_of_a_moment_is_what_the_command_line_prints_of_it(console: Console, page: str) -> None:
    await CHECKS[page](console, last_message(console))


@pytest.mark.parametrize(
    "page", ["overview", "queues", "workloads", "workloads/day/w1", "cards", "topology", "clusters", "log"]
)
async def test_a_page_of_a_sequence_is_what_the_command_line_prints_of_it(console: Console, page: str) -> None:
    await CHECKS[page](console, f"LOG_0/{len(console.log['LOG_0']) // 3}")


@pytest.fixture
async def racked(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path, log=racks()) as found:
        yield found


async def test_the_boxes_of_a_topology_at_any_moment_are_those_that_the_command_line_prints(racked: Console) -> None:
    seen: list[str] = []
    for at in (*(format_timestamp(BEGINS + after * 1000) for after in range(4)), "LOG_0/2"):
        await topology(racked, at)
        seen.append(str((await racked.answer(f"topology?at={at}"))["data"]))
    assert len(set(seen)) > 2, "and it is not the same at each"
