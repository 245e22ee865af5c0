"""What is folded is as large as what lives: workloads that came and went leave nothing behind."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from events.codec import decode_commit
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.whatif.run import VirtualRun
from ops.sandbox.bench.life_load import LifeStage, life_day, life_platform
from ops.sandbox.bench.partitions import WrittenPartitions
from projections.queues.pending_queues import PendingQueue, PlaceInLine
from projections.trail import Trail
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold

PER_DAY, DAYS = 300, 6


def entries_in(root: object) -> int:
    """How much stands in all tables and rows that can be reached from a thing."""
    seen: set[int] = set()
    waiting, found = [root], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type | None):
            continue
        seen.add(id(one))
        if isinstance(one, dict | list | set | frozenset | tuple | deque):
            found += len(one)
        waiting.extend(_parts(one))
    return found


def _parts(one: Any) -> Iterator[object]:
    if isinstance(one, dict):
        yield from one.keys()
        yield from one.values()
    elif isinstance(one, list | set | frozenset | tuple | deque):
        yield from one
    elif callable(one):
        return
    else:
        yield from getattr(one, "__dict__", {}).values()
        for kind in type(one).__mro__:
            names = getattr(kind, "__slots__", ())
            yield from (getattr(one, name) for name in names if hasattr(one, name))


def test_a_partition_is_not_larger_after_six_days_than_after_two() -> None:
    log: list[Entry] = []
    stage = LifeStage(WrittenPartitions(log.append))
    for fact in life_platform(PER_DAY):
        stage.observe(fact, 0)
    folds = {name: PartitionFold(name) for name in (PARTITION, DEVICE_PARTITION)}
    sizes: dict[str, list[int]] = {name: [] for name in folds}
    at = 0
    for day in range(DAYS):
        course = life_day(day, PER_DAY, PER_DAY, 0, at)
        run = VirtualRun(stage, course, course.happenings, at=at, step=60_000)
        run.run()
        at = run.now
        assert not stage.world.workloads, "everybody came, ran, ended and was deleted"
        for name, fold in folds.items():
            for entry in log:
                if entry.stream != name:
                    fold.offer(entry.stream, (entry,))
                else:
                    fold.fold_commit(entry, decode_commit(entry.data))
            sizes[name].append(entries_in(fold))
        log.clear()
    for name, found in sizes.items():
        assert found[-1] < found[1] + PER_DAY, (name, found)


def test_a_line_forgets_who_left_it_though_nobody_asks_who_is_first() -> None:
    line, trail = PendingQueue(), Trail()
    for number in range(1000):
        key = f"w{number}"
        line.push(trail, PlaceInLine(1, 0, number, key, key, local_queue="door", kind=f"kind {number}"))
        line.remove(trail, key)
        trail.forget()
    assert entries_in(line) < 200
