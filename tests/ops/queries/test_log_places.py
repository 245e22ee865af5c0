"""Who has written what is told of a log that grows without reading again what was read."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from events.subjects import CONTROL
from ops.queries.log_places import LogPlaces, log_answer
from ops.sandbox.bench.day import played, small_day
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from tests.ops.console.test_past import Counted


def test_each_message_is_read_once_and_what_is_told_is_what_a_reading_of_all_tells() -> None:
    log: dict[str, Sequence[Entry]] = {CONTROL: (), **played(small_day(12))[0]}
    # A message that nobody can read does not count, wherever reading was interrupted.
    last = log["FACTS"][-1]
    log["FACTS"] = [*log["FACTS"], msgspec.structs.replace(last, sequence=last.sequence + 1, data=b"[")]
    read: Counter[tuple[str, int]] = Counter()
    places, world = LogPlaces(Control()), World()
    for part in range(1, 8):
        upto = {name: Counted(entries[: len(entries) * part // 7], read) for name, entries in log.items()}
        places.read_on(upto)
        whole = {name: entries[: len(entries) * part // 7] for name, entries in log.items()}
        assert log_answer(whole, world, places) == log_answer(whole, world, LogPlaces(Control()))
    assert {count for count in read.values()} == {1}
    assert len(read) == sum(len(entries) for entries in log.values())
    assert [one.sequence for one in places.marked()] == [last.sequence + 1]
