"""What is not taken stands aside with what is like it, is tried one at a time, and goes on when it is taken."""

from msgspec.structs import replace

from events.workload import Owner
from services.applier.plan import Application
from services.applier.write_queue import WriteQueue
from tests.services.applier.test_backlog import WORKLOAD

PAUSE = 500


def of(workload: str, sequence: int = 1) -> Application:
    return Application(workload=workload, partition="LOG_0", sequence=sequence, of=replace(WORKLOAD, key=workload))


def queue(*workloads: str) -> WriteQueue:
    found = WriteQueue(PAUSE)
    for one in workloads:
        found.put(of(one))
    return found


def refuse(
    found: WriteQueue, application: Application | None, at: int = 0, *, alone: bool = False, newer: bool = False
) -> None:
    assert application is not None
    found.refused(application, at, alone=alone, newer=newer)
    found.ended(application, at)


def taken_in_order(found: WriteQueue) -> list[str]:
    names: list[str] = []
    while (one := found.take(())) is not None:
        names.append(one.workload)
    return names


def test_of_a_thousand_that_can_not_be_written_one_is_tried_at_a_time() -> None:
    found = queue(*(f"team/{number}" for number in range(1000)), "other/a")
    ray = replace(WORKLOAD, key="team/ray", owner=Owner(kind="RayJob", name="ray", uid="ray"))
    found.put(replace(of("team/ray"), of=ray))
    refuse(found, found.take(()))
    assert taken_in_order(found) == ["other/a", "team/ray"], "another namespace, another kind"
    assert found.take_again((), PAUSE - 1) is None
    first = found.take_again((), PAUSE)
    assert first == of("team/0") or first == of("team/1")
    assert found.take_again((), PAUSE) is None, "what becomes of it is waited for"
    refuse(found, first, PAUSE)
    assert len(found) == 1000 and found.due(PAUSE) == 2 * PAUSE


def test_once_one_is_taken_all_others_are_written_as_they_would_have_been() -> None:
    found = queue("team/a", "team/b", "team/c")
    refuse(found, found.take(()))
    assert taken_in_order(found) == []
    tried = found.take_again((), PAUSE)
    assert tried is not None
    found.taken(tried)
    found.ended(tried, PAUSE)
    assert len(taken_in_order(found)) == 2 and found.due(PAUSE) is None


def test_who_is_refused_for_a_reason_of_its_own_stands_aside_alone() -> None:
    found = queue("team/a", "team/b")
    refuse(found, found.take(()), alone=True)
    assert taken_in_order(found) == ["team/b"]
    found.put(of("team/a", 2))
    assert taken_in_order(found) == []
    assert found.take_again((), PAUSE) == of("team/a", 2), "the newest counts"


def test_a_group_of_which_nothing_is_left_stands_aside_no_longer() -> None:
    found = queue("team/a", "team/b")
    refuse(found, found.take(()), newer=True)
    found.remove("team/b")
    found.put(of("team/c"))
    assert taken_in_order(found) == ["team/c"] and found.due(0) is None
    again = queue("team/a")
    refuse(again, again.take(()))
    again.remove("team/a")
    assert again.due(0) is None and len(again) == 0 and "team/a" not in again


def test_who_is_being_written_is_not_tried_beside_it() -> None:
    found = queue("team/a")
    refuse(found, found.take(()))
    assert found.take_again({"team/a"}, PAUSE) is None
    assert found.take_again((), PAUSE) == of("team/a")


def test_a_clock_that_is_set_back_by_an_hour_has_nobody_wait_for_an_hour() -> None:
    found = queue("team/a")
    now = 3_600_000
    refuse(found, found.take(()), now)
    assert found.due(0) == PAUSE
    assert found.take_again((), 0) == of("team/a")
