"""The clusters that somebody else's dispatcher has named stay on the object until one is chosen.

Rule: docs/rules/multikueue.md#dispatchers-of-others
"""

from services.applier.workloads.status_parts import left_behind


def test_what_others_have_named_stays_while_they_nominate_and_is_cleared_afterwards() -> None:
    found = {"nominatedClusterNames": ["w1"], "clusterName": "w0"}
    assert left_behind({}, found, others_nominate=True) == {"clusterName": None}
    assert left_behind({}, found) == {"nominatedClusterNames": None, "clusterName": None}
