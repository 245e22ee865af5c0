"""Whether an API server is within reach: two questions in a row without an answer, and it is not; one answer, and it is again."""

import asyncio
from collections.abc import Sequence

import pytest

from ops.production.kubernetes.api_reach import ApiReach
from services.runtime.own_task import stopped

SILENT = None


async def seen_while(answers: Sequence[bool | None], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether it counted as away when each question was asked, and once more behind the last of their answers."""
    monkeypatch.setattr("ops.production.kubernetes.api_reach.EVERY_S", 0.0)
    monkeypatch.setattr("ops.production.kubernetes.api_reach._PATIENCE_S", 0.01)
    found: list[bool] = []
    over, never = asyncio.Event(), asyncio.Event()

    async def asked() -> bool:
        found.append(reach.away)
        if len(found) > len(answers):
            over.set()
        answer = SILENT if over.is_set() else answers[len(found) - 1]
        if answer is SILENT:
            await never.wait()
        return bool(answer)

    reach = ApiReach(asked)
    running = asyncio.create_task(reach.run())
    await over.wait()
    await stopped(running)
    return found


@pytest.mark.parametrize("missed", [False, SILENT])
async def test_who_is_not_answered_twice_in_a_row_is_cut_off_until_the_next_answer(
    monkeypatch: pytest.MonkeyPatch, missed: bool | None
) -> None:
    found = await seen_while([True, missed, True, missed, missed, missed, True, missed], monkeypatch)
    assert found == [False, False, False, False, False, True, True, False, False]
