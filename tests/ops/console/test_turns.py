"""Questions that take long: who asks many of them keeps nobody else from an answer."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ops.console.questions import time_strip
from projections.explanation.redaction import Redaction
from tests.ops.console.people import NAMESPACES, people
from tests.ops.console.served import Console, served

TAKES_S = 0.3


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A question of the log takes long; how many messages there were at each moment that it was answered for."""
    found: list[int] = []

    def slow(times: Any, lengths: Any) -> Any:
        time.sleep(TAKES_S)
        found.append(sum(lengths.values()))
        return time_strip(times, lengths)

    monkeypatch.setattr("ops.console.questions.time_strip", slow)
    return found


def moment(sequence: int) -> str:
    return f"/api/v1/time?at=LOG_0/{sequence}"


async def test_who_asks_much_keeps_nobody_waiting_for_more_than_one_answer(tmp_path: Path, answered: list[int]) -> None:
    async with (
        people(tmp_path / "cluster") as everybody,
        served(tmp_path, access=everybody.access(), namespaces=NAMESPACES) as console,
    ):
        much = [
            asyncio.create_task(console.ask(moment(number), **everybody.headers("tenant"))) for number in range(1, 13)
        ]
        while not answered:  # noqa: ASYNC110 - only its answers tell
            await asyncio.sleep(0.01)
        status, plain, _ = await console.ask(moment(20), **everybody.headers("viewer"))
        assert status == 200 and sum(plain["data"]["parts"]) in answered[:4]
        for one in much:
            one.cancel()


async def test_others_are_answered_while_names_are_replaced_in_a_long_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work: list[bool] = [False]

    class SlowRedaction(Redaction):
        def of(self, value: Any) -> Any:
            if isinstance(value, dict) and "as_of" in value:
                at_work[0] = True
                time.sleep(TAKES_S)
                at_work[0] = False
            return super().of(value)

    monkeypatch.setattr("ops.console.gate.Redaction", SlowRedaction)
    async with (
        people(tmp_path / "cluster") as everybody,
        served(tmp_path, access=everybody.access(), namespaces=NAMESPACES) as console,
    ):
        viewer = everybody.headers("viewer")
        await console.ask("/api/v1/cards", **viewer)
        monkeypatch.setattr("ops.console.gate._SHORT", 100)
        long = asyncio.create_task(console.ask("/api/v1/cards", **viewer))
        answered_meanwhile = False
        while not long.done():
            assert (await console.ask("/healthz"))[0] == 200
            answered_meanwhile = answered_meanwhile or at_work[0]
        assert (await long)[0] == 200 and answered_meanwhile


async def test_what_nobody_waits_for_any_more_is_not_answered(console: Console, answered: list[int]) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{console.port}"
        left = [asyncio.create_task(session.get(url + moment(number))) for number in range(1, 13)]
        while not answered:  # noqa: ASYNC110 - only its answers tell
            await asyncio.sleep(0.01)
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    await console.answer("time?at=LOG_0/20")
    assert len(answered) <= 4
