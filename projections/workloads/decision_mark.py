"""The mark that the applier leaves on a job and its object: the decision that they show, as `partition/number`.

The partition does not matter: numbers grow over all in which a workload was ever decided.
"""

from events.subjects import LOG, family_of
from events.whole_number import whole_number
from projections.workloads.in_cluster import InCluster


def number_in(mark: str) -> int:
    """The number in a mark; 0 when it is none of a partition of trees."""
    found, _, number = mark.rpartition("/")
    return (whole_number(number) or 0) if family_of(found) == LOG else 0


def number_here(mark: str, found: InCluster) -> int:
    """The number of the decision of this log that a mark names; 0 for one of another log, which is older than all of this."""
    return 0 if mark in found.marks else number_in(mark)
