"""The past is quick: what was read once is not read again, what was folded is folded on, and nothing comes out otherwise."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec
import pytest

from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from events.timestamp import format_timestamp
from ops.console.kept_answers import AnswersByPlace
from ops.console.past_worlds import PastWorlds
from ops.console.time_strip import time_strip
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.log_times import LogTimes
from ops.queries.point import Point, point_at
from ops.queries.replay import fold_up
from ops.sandbox.bench.day import played, small_day
from projections.explanation.read_models import workload_rows
from projections.state_hash import state_hash
from projections.world import World
from services.runtime.log_port import Entry
from tests.ops.console.served import Console, middle

STEPS = 40


class Counted(Sequence[Entry]):
    """Messages of which is counted how often each was read."""

    def __init__(self, entries: Sequence[Entry], read: Counter[tuple[str, int]]) -> None:
        self._entries, self.read = entries, read

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return Counted(self._entries[index], self.read)
        return self._entries[index]

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._entries:
            self.read[entry.stream, entry.sequence] += 1
            yield entry


@pytest.fixture(scope="module")
def log() -> dict[str, Sequence[Entry]]:
    return {CONTROL: (), **played(small_day(12))[0]}


def points(log: dict[str, Sequence[Entry]]) -> list[Point]:
    """Moments from the beginning to the end of a log, times and sequences among each other."""
    began, ended = LogTimes(log).span()
    times = [format_timestamp(began + (ended - began) * step // STEPS) for step in range(1, STEPS)]
    commits = [str(1 + len(log[PARTITION]) * step // STEPS) for step in range(STEPS)]
    cards = [f"{DEVICE_PARTITION}/{1 + len(log[DEVICE_PARTITION]) * step // STEPS}" for step in range(STEPS)]
    return [point_at(log, text) for text in (*times, *commits, *cards)]


def from_zero(partition: str, point: Point) -> World:
    world = fold_up(partition, point.entries).world
    world.advance(point.at)
    return world


@pytest.mark.parametrize("partition", [PARTITION, DEVICE_PARTITION])
def test_a_world_that_is_reached_from_another_is_the_one_that_is_folded_from_zero(
    log: dict[str, Sequence[Entry]], partition: str
) -> None:
    asked = points(log)
    random.Random(1).shuffle(asked)  # noqa: S311 - an order, the same each time
    worlds = PastWorlds(every=3, most_left=8)
    for point in asked:
        found, expected = worlds.world(partition, point.entries, point.at), from_zero(partition, point)
        assert state_hash(found) == state_hash(expected), point.describe()
        assert workload_rows(found) == workload_rows(expected)
        worlds.answered()
    worlds.close()


def test_two_worlds_that_are_compared_stand_beside_each_other(log: dict[str, Sequence[Entry]]) -> None:
    worlds, asked = PastWorlds(every=3), points(log)
    for before, after in zip(asked, asked[5:], strict=False):
        rows = [workload_rows(worlds.world(PARTITION, point.entries, point.at)) for point in (before, after, before)]
        assert rows[0] == rows[2] == workload_rows(from_zero(PARTITION, before))
        worlds.answered()
    worlds.close()


def test_going_through_time_folds_each_commit_once_and_going_back_only_those_behind_a_world_that_was_left(
    log: dict[str, Sequence[Entry]],
) -> None:
    read = Counter[tuple[str, int]]()
    counted = {name: Counted(entries, read) for name, entries in log.items()}
    every = 20
    worlds, commits = PastWorlds(every=every), len(log[PARTITION])
    texts = [str(sequence) for sequence in range(1, commits + 1, 7)]
    times = LogTimes(log)
    for text in texts:
        cut = point_at(log, text, times)
        point = {name: counted[name][: len(found)] for name, found in cut.entries.items()}
        worlds.world(PARTITION, point, cut.at)
        worlds.answered()
    assert {count for (stream, _), count in read.items() if stream == PARTITION} == {1}
    for text in reversed(texts):
        read.clear()
        cut = point_at(log, text, times)
        worlds.world(PARTITION, {name: counted[name][: len(found)] for name, found in cut.entries.items()}, cut.at)
        worlds.answered()
        assert sum(count for (stream, _), count in read.items() if stream == PARTITION) <= every + len(log[FACTS]) // 2
    worlds.close()


def test_no_more_worlds_are_left_than_there_is_room_for(log: dict[str, Sequence[Entry]]) -> None:
    worlds, point = PastWorlds(every=1, most_left=4), point_at(log)
    worlds.world(PARTITION, point.entries, point.at)
    assert len(worlds.left(PARTITION)) <= 4
    worlds.close()
    assert not any(file.exists() for file in worlds.left(PARTITION))


def test_times_are_read_once_and_find_the_same_moments(log: dict[str, Sequence[Entry]]) -> None:
    read = Counter[tuple[str, int]]()
    counted = {name: Counted(entries, read) for name, entries in log.items()}
    times = LogTimes(counted)
    for point in points(log):
        found = point_at(counted, format_timestamp(point.at), times)
        expected = point_at(log, format_timestamp(point.at))
        assert found.upto == expected.upto
    assert set(read.values()) == {1}


def test_a_log_that_has_grown_is_read_on_from_where_it_was_known() -> None:
    whole = {CONTROL: (), **played(small_day(12))[0]}
    half = point_at(whole, middle(whole)).entries
    read = Counter[tuple[str, int]]()
    times = LogTimes({name: Counted(entries, read) for name, entries in half.items()})
    time_strip(times, {name: len(found) for name, found in half.items() if name != CONTROL})
    times.follow({name: Counted(entries, read) for name, entries in whole.items()})
    lengths = {name: len(found) for name, found in whole.items() if name != CONTROL}
    assert time_strip(times, lengths) == time_strip(LogTimes(whole), lengths)
    assert set(read.values()) == {1}


def test_answers_are_kept_while_there_is_room() -> None:
    asked: list[str] = []

    def ask(name: str) -> Any:
        asked.append(name)
        return {"name": name * 100}

    kept = AnswersByPlace(most_bytes=350)
    for name in "ababcca":
        assert msgspec.json.decode(kept.of(name, lambda name=name: ask(name))) == {"name": name * 100}
    assert asked == ["a", "b", "c"]
    kept.of("d", lambda: ask("d"))
    kept.of("a", lambda: ask("a"))
    kept.of("b", lambda: ask("b"))
    assert asked == ["a", "b", "c", "d", "b"]


def test_what_was_asked_takes_room_like_its_answer() -> None:
    asked: list[str] = []
    kept = AnswersByPlace(most_bytes=1000)
    for key in ("a" * 600, "b" * 600, "a" * 600):
        kept.of(("time", key), lambda key=key: asked.append(key) or {})
    assert [one[0] for one in asked] == ["a", "b", "a"]


async def test_an_answer_about_the_past_is_the_same_when_it_is_asked_for_again_and_backwards(console: Console) -> None:
    commits = [decode_commit(entry.data).at for entry in console.log[PARTITION]]
    moments = [format_timestamp(at) for at in commits[:: len(commits) // 6]] + [
        "LOG_0/3",
        "LOG_0/30",
        f"{DEVICE_PARTITION}/2",
    ]
    paths = ("overview", "queues", "workloads", "cards", "preemptions", "bills", "gantt", "log", "time")
    first = {(path, at): await console.answer(f"{path}?at={at}") for at in moments for path in paths}
    again = {(path, at): await console.answer(f"{path}?at={at}") for at in reversed(moments) for path in paths}
    assert again == first
