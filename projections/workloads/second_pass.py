"""Which workloads need their pods placed by topology after their quota was reserved, and when that is tried again.

Rule: docs/rules/topology.md#second-pass
"""

from events.event import Millis
from events.topology import DelayedTopology
from projections.workloads.lifecycle import Workload, checks_ready

_FIRST, _MOST = 1_000, 30_000


def needs_second_pass(workload: Workload) -> bool:
    """Whether its pods waited for checks that are ready now, or a node of its assignment has failed."""
    if workload.admission is None or workload.finished or workload.evicted or workload.spec.on_hold:
        return False
    if workload.admitted:
        return bool(failed_nodes(workload))
    return has_delayed_topology(workload) and checks_ready(workload)


def has_delayed_topology(workload: Workload) -> bool:
    """Whether pods of it wait for checks before they are placed: it can't be admitted yet."""
    return workload.admission is not None and any(
        one.delayed_topology is DelayedTopology.PENDING and one.topology is None
        for one in workload.admission.assignments
    )


def failed_nodes(workload: Workload) -> tuple[str, ...]:
    """The nodes that have failed of those that its pods are assigned to."""
    if not workload.second_pass.unhealthy_nodes or workload.admission is None:
        return ()
    assigned = {
        domain.values[-1]
        for one in workload.admission.assignments
        if one.topology is not None
        for domain in one.topology.assignment.domains
    }
    return tuple(node for node in workload.second_pass.unhealthy_nodes if node in assigned)


def delay_after(failures: int) -> Millis:
    """How long to wait after so many failures in a row."""
    return min(_FIRST << min(failures, _MOST.bit_length()), _MOST)
