"""A prebuilt Workload that is deleted is not queued again: its job waits for another one of that name."""

from msgspec.structs import replace

from events.workload import Owner, WorkloadDeleted, WorkloadOwned
from events.workload_object import WorkloadTerminating
from services.queue_manager.enqueue import standing_obstacle
from tests.services.queue_manager.waiting_room import KEY, Room, submitted

OWNED = WorkloadOwned(workload=KEY, owner=Owner(kind="Job", name="j", uid="u-1", api_version="batch/v1"))
TERMINATING = WorkloadTerminating(namespace="team", name="w", uid="u")
WHY = ("OnHold", "Its Workload is being deleted: the job waits for another one of that name")


def test_while_its_object_is_being_deleted_it_leaves_the_line_and_does_not_come_back() -> None:
    waiting = Room(submitted(), OWNED)
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting
    waiting.tell(TERMINATING).steps()
    assert standing_obstacle(waiting.world, waiting.workload) == WHY
    assert not waiting.world.lines.of("cq").waiting
    assert KEY in set(waiting.world.work.take("reader")), "whoever decides looks at it"
    waiting.tell(WorkloadDeleted(workload=KEY))
    assert KEY not in waiting.world.workloads


def test_the_next_workload_of_its_name_is_queued_though_nobody_told_that_the_deleted_one_is_gone() -> None:
    waiting = Room(submitted(), OWNED, TERMINATING, WorkloadDeleted(workload=KEY))
    waiting.tell(replace(submitted(), uid="uid-2"), OWNED)
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting


def test_what_a_job_gets_made_for_it_is_queued_on_though_somebody_deletes_the_object() -> None:
    waiting = Room(submitted(), TERMINATING)
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting
