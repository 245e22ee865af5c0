"""Which admission checks a workload of a cluster queue needs (docs/rules/checks.md#required)."""

from events.quota import ClusterQueueObserved
from projections.workloads.lifecycle import Workload


def required_checks(queue: ClusterQueueObserved, workload: Workload) -> tuple[str, ...]:
    """By name: those for all flavors at once, those for some flavors as soon as one of these is assigned.

    A check that names all flavors of the queue is one for all of them.
    """
    if not queue.checks:
        return ()
    admission = workload.admission
    assigned = {flavor for one in (admission.assignments if admission else ()) for flavor in one.flavors.values()}
    found = {
        rule.name
        for rule in queue.checks
        if not rule.flavors or not assigned.isdisjoint(rule.flavors) or frozenset(queue.flavors) <= {*rule.flavors}
    }
    return tuple(sorted(found))
