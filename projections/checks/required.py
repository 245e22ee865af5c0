"""Which admission checks a workload of a cluster queue needs (docs/rules/checks.md#required)."""

from collections.abc import Iterable

from events.quota import ClusterQueueObserved
from projections.workloads.lifecycle import Workload


def required_checks(queue: ClusterQueueObserved, workload: Workload) -> tuple[str, ...]:
    """By name: those for all flavors at once, those for some flavors as soon as one of these is assigned."""
    given = workload.admission.assignments if workload.admission is not None else ()
    return checks_on(queue, (flavor for one in given for flavor in one.flavors.values()))


def checks_on(queue: ClusterQueueObserved, flavors: Iterable[str]) -> tuple[str, ...]:
    """By name, those that who is assigned these flavors needs; a check that names all flavors of the queue is one for all of them."""
    if not queue.checks:
        return ()
    assigned = frozenset(flavors)
    found = {
        rule.name
        for rule in queue.checks
        if not rule.flavors or not assigned.isdisjoint(rule.flavors) or frozenset(queue.flavors) <= {*rule.flavors}
    }
    return tuple(sorted(found))
