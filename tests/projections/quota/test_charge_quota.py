from events.workload import PodSetAssignment
from projections.quota.charge_quota import remaining_usage


def test_what_is_left_of_a_pod_set_is_divided_first_and_multiplied_then() -> None:
    """As Kueue does, also of an amount that others have written and that is no multiple of the count."""
    held = PodSetAssignment(name="main", count=3, usage={"cpu": 8})
    assert [remaining_usage(held, done)["cpu"] for done in (0, 1, 2, 3, 4)] == [8, 4, 2, 0, 0]
