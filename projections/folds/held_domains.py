"""Folding which domains a workload holds: trees share them beside their quota, so what was refused in others looks again.

Rule: docs/rules/topology.md#retries
"""

from collections.abc import Iterable

from events.workload import PodSetAssignment
from projections.preemption.state import PreemptionState
from projections.workloads.lifecycle import Workload


def hold_domains(world: PreemptionState, workload: Workload, assignments: Iterable[PodSetAssignment]) -> None:
    """The workload holds the domains of these assignments from now on, instead of those that it held."""
    before = world.domains.flavors_of(workload.key)
    world.domains.charge(workload.key, assignments)
    _tell_others(world, workload, before | world.domains.flavors_of(workload.key), more=bool(before))


def leave_domains(world: PreemptionState, workload: Workload) -> None:
    """The workload holds no domains any more."""
    before = world.domains.flavors_of(workload.key)
    world.domains.release(workload.key)
    _tell_others(world, workload, before, more=True)


def _tell_others(world: PreemptionState, workload: Workload, flavors: frozenset[str], *, more: bool) -> None:
    if flavors and workload.admission is not None:
        sharing = world.domains.sharing(flavors)
        world.quota.shared_room_changed(sharing, by=workload.admission.cluster_queue, more=more)
