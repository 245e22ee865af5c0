from projections.workloads.changed_part import changed_part
from projections.workloads.stops import Requeue, Stops


def test_a_part_that_says_so_already_stays_the_value_that_all_hold() -> None:
    nothing = Stops()
    assert changed_part(nothing, requeue=Requeue(), pods_gone="") is nothing
    assert changed_part(nothing, preempted_count=1) == Stops(preempted_count=1)
