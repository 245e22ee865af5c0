"""Streams that roll in a history: nothing is taken in for a while, what was rolled goes, and everybody goes on."""

import pytest

from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.sandbox.simulate.fault_plan import Fault, FaultKind, rolls, schedule_of
from ops.sandbox.simulate.history import play
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Message

SPAN = 60_000
ROLLED = [
    Fault(index=1 + i, at=20_000 + 9000 * i, kind=FaultKind.STREAM_ROLL, number=i % 3, lasts=500) for i in range(6)
]


def test_who_was_away_while_what_he_had_not_read_was_removed_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = list[str]()
    check = MemoryStream._check_first  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def noted(stream: MemoryStream, sequence: int) -> None:
        try:
            check(stream, sequence)
        except LogGap as gap:
            gaps.append(gap.stream)
            raise

    monkeypatch.setattr(MemoryStream, "_check_first", noted)
    away = Fault(index=0, at=15_000, kind=FaultKind.PAUSE, lasts=100_000)
    assert play(105, SPAN, [away, *ROLLED]).broken == ()
    assert gaps


def test_streams_roll_in_some_seeds_and_change_nothing_of_what_else_strikes() -> None:
    kinds = [kind for kind in FaultKind if kind is not FaultKind.STREAM_ROLL]
    for seed in range(1, 50):
        found = schedule_of(seed, SPAN)
        assert any(one.kind is FaultKind.STREAM_ROLL for one in found) == rolls(seed)
        assert [one for one in found if one.kind is not FaultKind.STREAM_ROLL] == schedule_of(seed, SPAN, kinds)


async def test_what_was_removed_is_not_on_the_bus_any_more_and_stays_where_archives_would_have_it() -> None:
    facts = MemoryStream(FACTS)
    messages = [Message("s", str(number).encode(), f"id-{number}") for number in range(1, 6)]
    await facts.publish(messages)
    facts.remove(3)
    for asked in (facts.follow(2), facts.read(2)):
        with pytest.raises(LogGap) as gap:
            await anext(asked)
        assert (gap.value.expected, gap.value.found) == (3, 4)
    with pytest.raises(LogGap):
        await facts.get(3)
    assert [one.data for one in await anext(facts.follow(3))] == [b"4", b"5"]
    assert (await facts.last()).sequence == len(facts.entries) == 5
    await facts.publish([messages[0]])
    assert len(facts.entries) == 6, "its id went with it"
