"""Whoever waits for the room of a workload is looked at again when that may not be preempted any more.

Rule: docs/rules/queues.md#class-changes
"""

from typing import Any

import pytest
from msgspec.structs import replace

from events.quota import CheckRule
from events.workload import WorkloadChanged
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, submitted


@pytest.mark.parametrize(
    ("change", "matters"), [({"never_preempt": True}, True), ({"priority": 5}, True), ({"max_execution": 1000}, False)]
)
def test_the_tree_of_one_that_is_harder_to_preempt_is_looked_at_again(change: dict[str, Any], *, matters: bool) -> None:
    room = Room(submitted(reserved=True, admitted_at=MINUTE), checks=(CheckRule(name="any"),))
    for tree in room.world.touched_trees():
        room.world.quota.looked_at(tree)
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, **change)))
    assert bool(room.world.touched_trees()) is matters
