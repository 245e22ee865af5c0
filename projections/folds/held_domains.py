"""Folding which domains a workload holds: trees share them beside their quota, so what was refused in others looks again.

Rule: docs/rules/topology.md#retries
"""

from collections.abc import Iterable

from events.admission import AdmissionRefused, RequeueReason
from events.workload import PodSetAssignment
from projections.preemption.state import PreemptionState
from projections.workloads.lifecycle import Workload
from projections.workloads.second_pass import has_delayed_topology


def hold_domains(world: PreemptionState, workload: Workload, assignments: Iterable[PodSetAssignment]) -> None:
    """The workload holds the domains of these assignments from now on, instead of those that it held."""
    before = world.domains.flavors_of(workload.key)
    world.domains.charge(workload.key, assignments)
    _tell_others(world, workload, before | world.domains.flavors_of(workload.key), more=bool(before))


def leave_domains(world: PreemptionState, workload: Workload) -> None:
    """The workload holds no domains any more, and keeps none for its second pass."""
    before = world.domains.flavors_of(workload.key) | _awaited(world, workload)
    world.domains.release(workload.key)
    _tell_others(world, workload, before, more=True)


def keep_no_domains(world: PreemptionState, workload: Workload) -> None:
    """The workload waits no more: who was refused while room was kept for it, in any tree of these domains, may fit now.

    Rule: docs/rules/cycle.md#kept-for-blocked
    """
    attempt, queue = workload.attempt, world.cluster_queues.get(workload.line)
    if queue is None or not isinstance(attempt, AdmissionRefused):
        return
    if attempt.requeue is RequeueReason.PREEMPTION_NO_CANDIDATES:
        flavors = frozenset(name for name in queue.flavors if world.domains.has(name))
        world.quota.shared_room_changed(world.domains.sharing(flavors) if flavors else (), more=True)


def _awaited(world: PreemptionState, workload: Workload) -> frozenset[str]:
    """The flavors on which it is to be placed yet: while it found no room there, it kept others from what was free."""
    if workload.admission is None or not has_delayed_topology(workload):
        return frozenset()
    given = (name for one in workload.admission.assignments for name in one.flavors.values())
    return frozenset(name for name in given if world.domains.has(name))


def _tell_others(world: PreemptionState, workload: Workload, flavors: frozenset[str], *, more: bool) -> None:
    if flavors and workload.admission is not None:
        sharing = world.domains.sharing(flavors)
        world.quota.shared_room_changed(sharing, by=workload.admission.cluster_queue, more=more)
