"""An API server that says when to come again is believed, and one that has dropped everybody is not asked by all at once."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import closing
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from ops.production.kubernetes.client import LONGEST_S, ApiRequests, failure_of
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.runtime.cluster_port import ClusterUnavailable, ListExpired, Resource


class Busy(ApiRequests):
    """Asks for patience once."""

    def __init__(self, retry_after: str) -> None:
        self._failures = [failure_of(429, b"", retry_after)]

    async def once(self, method: str, path: str, data: bytes | None, form: str) -> dict[str, Any]:
        for failure in self._failures:
            self._failures = []
            raise failure
        return {}

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        yield b""


def waited(retry_after: str) -> float:
    with closing(VirtualLoop("1")) as loop:
        loop.run_until_complete(Busy(retry_after).request("GET", "/"))
        return loop.time()


def test_who_is_asked_to_come_later_comes_no_earlier() -> None:
    assert waited("30") >= 30
    assert waited(formatdate(time() + 40, usegmt=True)) >= 30


def test_nobody_waits_for_ever() -> None:
    assert waited("86400") <= LONGEST_S * 1.5
    assert waited("9" * 400) <= LONGEST_S * 1.5


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "Mon, 99 Nov 2026 99:00:00 GMT", "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_time_is_tried_again_soon(text: str) -> None:
    failure = failure_of(503, b"", text)
    assert isinstance(failure, ClusterUnavailable)
    assert failure.retry_after == 0.2


def test_a_date_that_is_over_is_now() -> None:
    failure = failure_of(503, b"", formatdate(0, usegmt=True))
    assert isinstance(failure, ClusterUnavailable)
    assert failure.retry_after == 0


class Dropping(ApiRequests):
    """Answers every list, and ends every watch at once: with an error, or as if all had been said."""

    def __init__(self, problem: Exception | None) -> None:
        self.asked: list[float] = []
        self._problem = problem

    async def once(self, method: str, path: str, data: bytes | None, form: str) -> dict[str, Any]:
        self._note()
        return {"items": [], "metadata": {"resourceVersion": "1"}}

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        if self._problem is None:
            self._note()
        else:
            raise self._problem
        for line in ():
            yield line

    def _note(self) -> None:
        self.asked.append(asyncio.get_running_loop().time())


def asked_by(watchers: int, problem: Exception | None, seconds: float) -> list[float]:
    """When an API server is asked by so many watchers that are all dropped in the same moment, again and again."""
    random.seed(1)
    api = Dropping(problem)

    async def watch(number: int) -> None:
        async for _ in Reflector(api).watch(Resource(plural=f"kind{number}", kind="Kind")):
            pass

    async def all_watch() -> None:
        watching = [asyncio.create_task(watch(number)) for number in range(watchers)]
        await asyncio.sleep(seconds)
        for one in watching:
            one.cancel()
        await asyncio.gather(*watching, return_exceptions=True)

    with closing(VirtualLoop("1")) as loop:
        loop.run_until_complete(all_watch())
    return api.asked


ENDS = pytest.mark.parametrize(
    "problem", [ListExpired("too old"), ClusterUnavailable("gone", 0.2), None], ids=["expired", "gone", "ended"]
)


@ENDS
def test_watches_that_are_dropped_together_do_not_come_back_together(problem: Exception | None) -> None:
    again = [at for at in asked_by(200, problem, 0.45) if at > 0]
    assert len(again) >= 200
    in_one_moment = max(sum(at <= other < at + 0.01 for other in again) for at in again)
    assert in_one_moment <= 30, "of two hundred that were dropped in one moment"


@ENDS
def test_an_api_server_that_drops_every_watch_is_asked_less_and_less_often(problem: Exception | None) -> None:
    asked = asked_by(1, problem, 60)
    assert sum(at < 5 for at in asked) <= 8
    assert 4 <= sum(at >= 20 for at in asked) <= 10
