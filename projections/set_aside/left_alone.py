"""What a workload or a queue waits for because a service has failed on it and set it aside."""

from collections.abc import Mapping

import msgspec

from events.event import Millis
from events.rules import RULES
from projections.quota.tree import QuotaTree
from projections.set_aside.records import Aside, Scope, asides_of
from projections.set_aside.state import SetAsideState
from projections.workloads.lifecycle import Workload

_FIXES = {
    Scope.WORKLOAD: "change the job, its queue or a flavor",
    Scope.TREE: "change a queue, cohort or flavor of the tree",
    Scope.NODE: "have the node report its cards anew",
}
_AGAIN = "and it is tried again; if that fails as well, upgrade: the error is kuelog's"


class LeftAlone(msgspec.Struct, frozen=True, kw_only=True):
    """One object that a service has set aside, why, and what makes the service try it again."""

    service: str
    scope: Scope
    name: str
    reason: str
    """What went wrong, in the words of the failure."""
    since: Millis
    sequence: int
    """Sequence of the `SetAside` on the service's partition."""
    message: str
    fix: str


def workload_left_alone(world: SetAsideState, workload: Workload) -> tuple[LeftAlone, ...]:
    """What is set aside and keeps a workload from being decided about: itself, or the tree of its queue."""
    found = asides_of(world.aside, Scope.WORKLOAD, workload.key)
    queue = world.cluster_queue_of(workload)
    return (*_left_alone(found), *(queue_left_alone(world.aside, world.quota, queue.name) if queue is not None else ()))


def queue_left_alone(aside: Mapping[str, Aside], quota: QuotaTree, cluster_queue: str) -> tuple[LeftAlone, ...]:
    """What is set aside and keeps a queue from being decided about: the tree that it is in."""
    if not aside:
        return ()
    return _left_alone(asides_of(aside, Scope.TREE, quota.root_of(cluster_queue)))


def _left_alone(found: list[Aside]) -> tuple[LeftAlone, ...]:
    return tuple(
        LeftAlone(
            service=one.service,
            scope=one.scope,
            name=one.name,
            reason=one.reason,
            since=one.since,
            sequence=one.sequence,
            message=f"the {one.service} failed on {one.scope} {one.name} and leaves it alone: {one.reason}",
            fix=f"{_FIXES[one.scope]}, {_AGAIN}",
        )
        for one in found
        # What failed under other rules is tried again under these.
        if one.rules == RULES
    )
