"""What goes of a stream that was rolled: whoever reads it has a saved world behind that, and nobody else is asked."""

from tests.services.runtime.partition.test_forks import lets_go, moved


async def test_a_partition_of_trees_is_needed_by_itself_the_cards_and_its_forks_and_by_no_other_one() -> None:
    day = await moved()
    assert {"LOG_0", "LOG_1", "DEVICES_default"} <= day.shelf.kept.keys()
    assert await lets_go(day, "LOG_1", 0), "the partition that was left reads nothing of the fork"
    assert await lets_go(day, "LOG_0", 1), "a fork that has a saved world needs nothing of its origin"
    assert await lets_go(day, "LOG_0", 1, without="LOG_1"), "one that has none begins at a saved world of its origin"
    assert not await lets_go(day, "LOG_0", 2, whose="LOG_1", without="LOG_1"), "and folds that on"
    assert await lets_go(day, "LOG_1", 0, without="LOG_0")
    assert not await lets_go(day, "LOG_1", 0, without="DEVICES_default")
