"""What-ifs in the console: the outcome of the command line, progress, an end at any time, and bounds."""

import asyncio
from typing import Any

import psutil
import pytest

from ops.console.whatif import WhatIfs
from ops.console.whatif_words import AT_ONCE, AskedWhatIf, NotRunHere, TooManyRuns
from tests.ops.console.served import PATIENCE_S, Console, middle

WHATIF = "/api/v1/whatif"
CHANGE = {"remove": ["node/v100-0"]}


def workers() -> list[psutil.Process]:
    """Processes of what-ifs that this one has begun."""
    return [
        one
        for one in psutil.Process().children(recursive=True)
        if one.status() != psutil.STATUS_ZOMBIE and "ops.console.whatif_worker" in one.cmdline()
    ]


async def over(console: Console, name: str) -> tuple[Any, list[dict[str, list[int]]]]:
    """How a run ended, and the progress that was seen until then."""
    seen: list[dict[str, list[int]]] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            _, found, _ = await console.ask(f"{WHATIF}/{name}")
            if found["state"] != "running":
                return found, seen
            seen.append(found["progress"])
            await asyncio.sleep(0.02)


async def begun(console: Console, asked: Any) -> str:
    status, plain, _ = await console.ask(WHATIF, "POST", sent=asked)
    assert status == 202, plain
    return plain["id"]


async def test_the_outcome_is_that_of_the_command_line(console: Console) -> None:
    at = middle(console.log)
    choices = (await console.answer(f"choices?at={at}"))["data"]
    quota = next(one for one in choices["quotas"] if one["resource"] == "nvidia.com/gpu")
    setting = f"{quota['field']}={int(quota['nominal']) + 5}"
    asked = {"at": at, "set": [setting], "more": ["node/v100-0=1"]}
    found, seen = await over(console, await begun(console, asked))
    assert found["state"] == "done" and found["problem"] == ""
    printed = await console.printed("whatif", "--at", at, "--set", setting, "--more", "node/v100-0=1")
    assert found["result"]["comparison"] == printed
    assert found["asked"] == {"at": at, "set": [setting], "remove": [], "more": ["node/v100-0=1"]}
    assert any(set(progress) == {"as it was", "changed"} for progress in seen)


async def test_the_choices_are_what_stands_at_the_moment(console: Console) -> None:
    found = (await console.answer("choices"))["data"]
    queues = await console.printed("replay", "--show", "queues")
    assert found["queues"] == [row["name"] for row in queues["queues"]]
    cards = await console.printed("devices")
    assert {uuid for node in found["nodes"] for uuid in node["cards"]} == {card["card"] for card in cards["cards"]}
    assert (await console.answer("choices?at=LOG_0/1"))["data"]["quotas"]


async def test_one_that_is_cancelled_ends_with_everything_that_it_has_started(console: Console) -> None:
    name = await begun(console, CHANGE)
    async with asyncio.timeout(PATIENCE_S):
        while not workers():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    status, found, _ = await console.ask(f"{WHATIF}/{name}", "DELETE")
    assert (status, found["state"], found["result"]) == (200, "cancelled", None)
    assert workers() == []
    assert (await console.ask(f"{WHATIF}/{name}", "DELETE"))[1]["state"] == "cancelled"


async def test_one_whose_process_ends_by_itself_says_so(console: Console) -> None:
    name = await begun(console, CHANGE)
    async with asyncio.timeout(PATIENCE_S):
        while not (found := workers()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    found[0].kill()
    told, _ = await over(console, name)
    assert told["state"] == "failed" and "it ended without an outcome" in told["problem"]


async def test_one_that_can_not_be_followed_says_so_and_makes_room(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.console.whatif._MOST_SAID", 100)
    for _ in range(AT_ONCE):
        told, _ = await over(console, await begun(console, CHANGE))
        assert told["state"] == "failed" and "it ended without an outcome" in told["problem"]

    async def none(*_words: Any, **_more: Any) -> Any:
        raise OSError("no process more")

    monkeypatch.setattr("asyncio.create_subprocess_exec", none)
    told, _ = await over(console, await begun(console, CHANGE))
    assert told["state"] == "failed" and "it ended without an outcome" in told["problem"]


async def test_of_each_person_who_is_known_one_is_played_at_once(console: Console) -> None:
    whatifs = WhatIfs(console.url)
    asked = AskedWhatIf(removed=("node/v100-0",))
    name = whatifs.begin(asked, "ann")
    with pytest.raises(TooManyRuns, match="a what-if of yours is being played"):
        whatifs.begin(asked, "ann")
    other = whatifs.begin(asked, "ben")
    with pytest.raises(TooManyRuns, match="2 what-ifs are being played"):
        whatifs.begin(asked, "cyd")
    await asyncio.sleep(0)
    await whatifs.cancel(name, "ann")
    whatifs.begin(asked, "ann")
    await asyncio.sleep(0)
    await whatifs.close()
    assert whatifs.state(other, "ben")["state"] == "cancelled"


async def test_no_more_than_two_are_played_at_once(console: Console) -> None:
    names = [await begun(console, CHANGE) for _ in range(AT_ONCE)]
    status, plain, _ = await console.ask(WHATIF, "POST", sent=CHANGE)
    assert status == 503 and "2 what-ifs are being played" in plain["message"]
    for name in names:
        await console.ask(f"{WHATIF}/{name}", "DELETE")
    name = await begun(console, CHANGE)
    await console.ask(f"{WHATIF}/{name}", "DELETE")


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ({}, 400, "nothing is changed"),
        ({"set": ["clusterqueue/queue-0"]}, 400, "is no change"),
        ({"more": ["node/x=many"]}, 400, "is no number of nodes"),
        ({"remove": ["pod/day/x"]}, 400, "can't be removed"),
        ({"remove": ["node/x"] * 51}, 400, "at most 50 changes"),
        ({"remove": ["node/" + "x" * 500]}, 400, "of 500 characters each"),
        ({"set": "clusterqueue/x"}, 400, "Expected `array`"),
    ],
)
async def test_what_can_not_be_played_is_refused_before_anything_is(
    console: Console, asked: Any, code: int, message: str
) -> None:
    status, plain, _ = await console.ask(WHATIF, "POST", sent=asked)
    assert status == code and message in plain["message"]


async def test_what_is_found_out_later_is_told_as_the_command_line_tells_it(console: Console) -> None:
    for asked, message in (
        ({"remove": ["node/nowhere"]}, "there is no node nowhere on the log"),
        ({"at": "LOG_0/99999", **CHANGE}, "has no sequence 99999"),
        ({"at": "yesterday", **CHANGE}, "is no time"),
    ):
        found, _ = await over(console, await begun(console, asked))
        assert found["state"] == "failed" and message in found["problem"]


async def test_no_page_of_another_site_begins_one(console: Console) -> None:
    for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert (await console.ask(WHATIF, "POST", sent=CHANGE, **foreign))[0] == 403
    assert (await console.ask(WHATIF, "POST", **{"Content-Type": "text/plain"}))[0] == 415
    assert (await console.ask(WHATIF))[0] == 405
    assert (await console.ask(f"{WHATIF}/unknown"))[0] == 404
    assert workers() == []


async def test_a_console_that_knows_no_bus_to_read_says_what_to_use() -> None:
    with pytest.raises(NotRunHere, match="use `kuelog whatif`"):
        WhatIfs("").begin(AskedWhatIf(removed=("node/x",)), "")
