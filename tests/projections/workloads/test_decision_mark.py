"""What a mark on a job or its object says of the decision that it shows."""

import pytest

from projections.workloads.decision_mark import number_here, number_in
from projections.workloads.in_cluster import InCluster


@pytest.mark.parametrize(
    ("mark", "number"), [("LOG_3/17", 17), ("LOG_0/", 0), ("", 0), ("DEVICES_default/17", 0), ("LOG_0/x", 0)]
)
def test_a_mark_names_a_decision_of_a_partition_of_trees_by_its_number(mark: str, number: int) -> None:
    assert number_in(mark) == number


def test_a_mark_of_another_log_is_older_than_all_of_this() -> None:
    found = InCluster(marks=("LOG_0/900",))
    assert (number_here("LOG_0/900", found), number_here("LOG_1/900", found)) == (0, 900)
