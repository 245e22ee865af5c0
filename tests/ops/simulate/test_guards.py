"""Whoever takes a guard of the product away makes some history break a law."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ops.log.memory import MemoryStream
from ops.simulate.fault_plan import Kind, schedule_of
from ops.simulate.history import play

SPAN = 20_000


class Guard(NamedTuple):
    """One guard, and where it is missed."""

    name: str
    remove: Callable[[pytest.MonkeyPatch], None]
    kinds: tuple[Kind, ...] = ()
    seeds: range = range(1, 6)


def any_end(patch: pytest.MonkeyPatch) -> None:
    append = MemoryStream.append

    async def appended(
        stream: MemoryStream, subject: str, data: bytes, *, message_id: str, base: int, headers: Any = None
    ) -> int:
        del base
        end = len(stream.entries)
        return await append(stream, subject, data, message_id=message_id, base=end, headers=headers)

    patch.setattr(MemoryStream, "append", appended)


GUARDS = (Guard("a decision is stored only behind what it was made on", any_end),)


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_history_misses(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    guard.remove(monkeypatch)
    assert any(play(seed, SPAN, schedule_of(seed, SPAN, guard.kinds)).broken for seed in guard.seeds)
