"""What goes of a stream that was rolled: whoever reads it has a saved world behind that, and nobody else is asked."""

from ops.production.log.beginnings import check_beginnings
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.streams import streams_known
from services.runtime.control_log import Control
from tests.services.runtime.partition.test_forks import Day, moved


async def lets_go(day: Day, stream: str, upto: int, *, without: str = "") -> bool:
    control = Control(day.entries["CONTROL"])
    shelf = MemoryShelf()
    shelf.kept = {key: labels for key, labels in day.shelf.kept.items() if key != without}
    try:
        await check_beginnings(day.bus, shelf, streams_known(control).partitions, stream, upto, control)
    except StillNeeded:
        return False
    return True


async def test_a_partition_of_trees_is_needed_by_itself_the_cards_and_its_forks_and_by_no_other_one() -> None:
    day = await moved()
    assert {"LOG_0", "LOG_1", "DEVICES_default"} <= day.shelf.kept.keys()
    assert await lets_go(day, "LOG_1", 0), "the partition that was left reads nothing of the fork"
    assert await lets_go(day, "LOG_0", 1), "a fork that has a saved world needs nothing of its origin"
    assert not await lets_go(day, "LOG_0", 1, without="LOG_1"), "one that has none folds its origin first"
    assert await lets_go(day, "LOG_1", 0, without="LOG_0")
    assert not await lets_go(day, "LOG_1", 0, without="DEVICES_default")
