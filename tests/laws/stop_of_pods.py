"""By what the end of a workload's pods is told to be that of its last attempt."""

from projections.workloads.lifecycle import Workload


def stop_of(workload: Workload, mark: str) -> str:
    """The mark of the decision that has stopped its job; without a job how often it was evicted.

    Rule: docs/rules/eviction.md#without-a-job
    """
    return mark if workload.owner is not None else str(sum(one.count for one in workload.stops.evictions))
