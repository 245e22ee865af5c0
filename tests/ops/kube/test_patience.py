"""An API server that says when to come again is believed."""

from collections.abc import AsyncGenerator
from contextlib import closing
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from ops.kube.client import LONGEST_S, ApiRequests, failure_of
from ops.simulate.virtual_loop import VirtualLoop
from services.cluster_port import ClusterUnavailable


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
