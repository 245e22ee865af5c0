"""The console over HTTP against a real log: now, at any past moment, and as it goes on; and what it refuses."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from events.codec import decode_commit
from events.commit import Sighting
from events.subjects import FACTS
from events.timestamp import format_timestamp
from events.workload import WorkloadDeleted
from ops.cli.main import app
from ops.console.gate import AskersAccess
from ops.console.guard import ConsoleUnserved
from ops.console.server import Door, console_served
from ops.production.log.streams import PARTITION
from ops.queries.point import point_at
from ops.sandbox.bench.day import played, small_day
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Message
from tests.ops.console.served import PATIENCE_S, Console, middle

STREAMS = ("DEVICES_default", "FACTS", "LOG_0")


async def test_a_page_of_a_past_moment_says_what_the_command_line_says_of_it(console: Console) -> None:
    for at in (middle(console.log), str(len(console.log[PARTITION]) // 3)):
        workloads = await console.answer(f"workloads?at={at}")
        printed = await console.printed("replay", "--until", at, "--show", "workloads")
        assert workloads["data"]["workloads"] == printed["workloads"] and printed["workloads"]
        as_of = {"at": printed["at"], "sequences": printed["sequences"], "live": False}
        assert {name: workloads["as_of"][name] for name in as_of} == as_of
        queues = await console.answer(f"queues?at={at}")
        printed = await console.printed("replay", "--until", at, "--show", "queues")
        assert queues["data"]["queues"] == printed["queues"]
        printed = await console.printed("replay", "--until", at, "--show", "usage")
        rows = [row for node in queues["data"]["tree"] for row in node["usage"]]
        assert sorted(map(str, rows)) == sorted(map(str, printed["usage"]))
    at = middle(console.log)
    assert (await console.answer(f"cards?at={at}"))["data"] == await console.printed("devices", "--at", at)


async def test_the_life_of_a_workload_at_a_past_moment_is_that_of_explain_and_history(console: Console) -> None:
    at = middle(console.log)
    rows = (await console.answer(f"workloads?at={at}"))["data"]["workloads"]
    for key in {row["state"]: row["key"] for row in rows}.values():
        found = (await console.answer(f"workloads/{key}?at={at}"))["data"]
        printed = await console.printed("explain", f"workload/{key}", "--at", at)
        assert found["explanation"] == {name: printed[name] for name in found["explanation"]}
        assert found["history"] == await console.printed("history", f"workload/{key}", "--until", at)


async def test_of_a_workload_that_is_gone_it_is_said_when_it_was_there_last(console: Console) -> None:
    key = (await console.answer("workloads?state=finished&limit=1"))["data"]["workloads"][0]["key"]
    at = (await console.answer("time"))["data"]["ended"] + 1000
    gone = Sighting(id="gone", at=at, author="watcher", fact=WorkloadDeleted(workload=key))
    await (await console.bus.stream(FACTS)).publish([fact_message(gone)])
    async with asyncio.timeout(PATIENCE_S):
        while (found := await console.ask(f"/api/v1/workloads/{key}"))[0] == 200:  # noqa: ASYNC110 - only its answers tell
            await asyncio.sleep(0.05)
    ended = await asyncio.to_thread(CliRunner().invoke, app, ["explain", f"workload/{key}", "--nats", console.url])
    for message in (found[1]["message"], " ".join(ended.stderr.split())):
        assert f"there is no workload {key} as of then: the last that the log knows of it is" in message
        assert format_timestamp(at)[:-1] in message and f"FACTS/{len(console.log[FACTS]) + 1}" in message
    assert (await console.ask(f"/api/v1/workloads/{key}?at=LOG_0/{len(console.log[PARTITION])}"))[0] == 200


async def test_what_stands_now_is_what_a_replay_to_the_end_says(console: Console) -> None:
    found = await console.answer("workloads")
    printed = await console.printed("replay", "--show", "workloads")
    assert found["data"]["workloads"] == printed["workloads"]
    assert found["as_of"]["sequences"] == printed["sequences"] and found["as_of"]["live"]
    key = printed["workloads"][0]["key"]
    life = (await console.answer(f"workloads/{key}"))["data"]
    assert life["history"] == await console.printed("history", f"workload/{key}")
    printed = await console.printed("explain", f"workload/{key}")
    assert life["explanation"]["stops"] == printed["stops"]
    cards, printed = (await console.answer("cards"))["data"], await console.printed("devices")
    assert cards["cards"] == printed["cards"]


async def test_an_empty_moment_in_an_address_is_now(console: Console) -> None:
    key = (await console.answer("workloads"))["data"]["workloads"][0]["key"]
    for path in ("workloads", f"workloads/{key}"):
        answer, live = await console.answer(f"{path}?at="), await console.answer(path)
        assert answer["data"].keys() == live["data"].keys() and answer["as_of"]["live"]


async def test_rows_are_filtered_sorted_and_counted_and_a_part_of_them_is_given(console: Console) -> None:
    at = middle(console.log)
    every = (await console.answer(f"workloads?at={at}"))["data"]
    state, count = max(every["states"].items(), key=lambda one: one[1])
    some = (await console.answer(f"workloads?at={at}&state={state}&sort=-priority&offset=1&limit=2"))["data"]
    assert (some["found"], some["total"], some["states"]) == (count, every["total"], every["states"])
    wanted = [row for row in every["workloads"] if row["state"] == state]
    wanted.sort(key=lambda row: -row["priority"])
    assert some["workloads"] == wanted[1:3]
    name = wanted[0]["key"]
    assert name in [row["key"] for row in (await console.answer(f"workloads?at={at}&text={name}"))["data"]["workloads"]]


async def test_who_has_the_answer_of_a_past_moment_is_not_sent_it_again(console: Console) -> None:
    path = f"/api/v1/queues?at={middle(console.log)}"
    _, _, headers = await console.ask(path)
    status, body, _ = await console.ask(path, **{"If-None-Match": headers["ETag"]})
    assert (status, body) == (304, "")
    assert (await console.ask("/api/v1/queues"))[2]["Cache-Control"] == "no-store"


class Events:
    """A browser's EventSource."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def next(self) -> dict[str, str]:
        """The next event; comments are passed over."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                fields: dict[str, str] = {}
                while line := (await self._answer.content.readline()).decode().rstrip("\n"):
                    name, _, value = line.partition(":")
                    fields[name] = value.strip()
                if "event" in fields:
                    return fields


async def test_a_browser_that_comes_back_is_told_exactly_what_it_has_missed(console: Console) -> None:
    ends = {name: len(console.log[name]) for name in STREAMS}
    before = {**ends, "LOG_0": ends["LOG_0"] - 3}
    headers = {"Last-Event-ID": ",".join(f"{name}/{upto}" for name, upto in before.items())}
    address = f"http://127.0.0.1:{console.port}/api/v1/changes"
    async with aiohttp.ClientSession() as session:
        async with session.get(address, headers=headers) as answer:
            assert answer.content_type == "text/event-stream"
            event = await Events(answer).next()
        event_data = json.loads(event["data"])
        assert event["event"] == "changes" and event_data["sequences"] == ends
        expected = [
            (entry.sequence, type(one).__name__)
            for entry in console.log[PARTITION][-3:]
            for one in decode_commit(entry.data).events
        ]
        assert [(one["sequence"], one["what"]) for one in event_data["changes"]] == expected
        async with session.get(address, headers={"Last-Event-ID": event["id"]}) as answer:
            stream = Events(answer)
            copy = console.log[FACTS][0]
            facts = await console.bus.stream(FACTS)
            await facts.publish([Message(copy.subject, copy.data, "once more")])
            later = await stream.next()
        assert json.loads(later["data"])["sequences"][FACTS] == ends[FACTS] + 1


async def test_who_asks_for_the_head_of_what_goes_on_is_sent_nothing_behind_it(console: Console) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", console.port)
    seen = "Last-Event-ID: FACTS/0\r\nConnection: close"
    writer.write(f"HEAD /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n{seen}\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE_S):
        head, _, body = (await reader.readuntil(b"\r\n\r\n")).decode().partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 405 ") and not body + (await reader.read()).decode()
    writer.close()


@pytest.mark.parametrize(
    "seen", ["LOG_0/999999,FACTS/0,DEVICES_default/0", "LOG_0/999999,FACTS/999999,DEVICES_default/999999"]
)
async def test_a_browser_that_saw_another_log_is_told_to_begin_anew(console: Console, seen: str) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{console.port}/api/v1/changes", headers={"Last-Event-ID": seen}) as answer,
    ):
        assert (await Events(answer).next())["event"] == "resync"


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("/pages/../server.py", 404, "no such page"),
        ("/pages/..%2fserver.py", 404, "no such page"),
        ("/pages/%2e%2e/%2e%2e/cli/main.py", 404, "no such page"),
        ("/pages//etc/passwd", 404, "no such page"),
        ("/pages/__init__.py", 404, "no such page"),
        ("/api/v1/nothing", 404, "no such page"),
        ("/api/v1/workloads/nowhere/nobody", 404, "the log knows no workload nowhere/nobody"),
        ("/api/v1/workloads?sort=colour", 400, "is no column"),
        ("/api/v1/workloads?limit=-1", 400, "is not a whole number"),
        ("/api/v1/queues?at=yesterday", 400, "is no time"),
        ("/api/v1/queues?at=99999", 404, "has no sequence 99999"),
        ("/api/v1/queues?at=%C2%B2", 400, "is no time"),
        ("/api/v1/queues?at=LOG_0/%D9%A1", 400, "is no time"),
        (f"/api/v1/differences?at=5&with={'1' * 5000}", 400, "is no time"),
    ],
)
async def test_what_is_not_there_is_refused_in_one_sentence(
    console: Console, path: str, code: int, message: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", console.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    assert head.startswith(f"HTTP/1.1 {code} ") and message in json.loads(body)["message"]


async def test_nothing_can_be_written_and_no_other_name_is_answered_under(console: Console) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for path in ("/", "/api/v1/queues", "/pages/app.js", "/nothing"):
            status, body, _ = await console.ask(path, method)
            assert status == 405 and "only answers questions" in body["message"]
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1"):
        status, body, _ = await console.ask("/api/v1/queues", Host=host)
        assert status == 421 and "localhost" in body["message"]
    for host in ("localhost", "127.0.0.1:9", "[::1]:9"):
        assert (await console.ask("/api/v1/queues", Host=host))[0] == 200


async def test_every_answer_forbids_the_browser_what_comes_from_elsewhere(console: Console) -> None:
    for path in ("/", "/pages/app.js", "/api/v1/queues", "/nothing"):
        _, _, headers = await console.ask(path)
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert "unsafe" not in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "console.example"])  # noqa: S104 - that is refused
async def test_it_is_served_elsewhere_only_to_who_is_known_and_never_in_plain_text(address: str) -> None:
    nothing: Any = None
    with pytest.raises(ConsoleUnserved, match="to everybody: say --access token"):
        async with console_served(nothing, Door(address=address)):
            pytest.fail("it is served")
    with pytest.raises(ConsoleUnserved, match="in plain text, tokens and secrets would be read on the way"):
        Door(address=address, access=AskersAccess(identity=nothing, reviews=nothing, crowd=nothing)).check()


def test_a_log_can_be_asked_at_the_moments_that_these_tests_name() -> None:
    log, _ = played(small_day(12))
    assert not point_at(log, middle(log)).ended
