"""Which of its workload's cards are a pod's own, where pods get different cards: decided before the pod is scheduled.

Rule: docs/rules/devices.md#own-cards
"""

from collections.abc import Iterator
from functools import partial

from events.catalogue import Decision
from events.setting_aside import SetAside
from projections.devices.placement.pod_cards import next_assignments
from projections.set_aside.records import Scope, is_aside
from projections.topology.pods.placed_pods import pod_homes
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload
from services.accountant.release import ACCOUNTANT
from services.accountant.state import AccountantState
from services.runtime.partition.guard import guarded


def assignments(world: AccountantState) -> Iterator[Decision]:
    """Assign cards to the waiting pods of workloads under review."""
    for key in sorted(world.work.waiting(ACCOUNTANT)):
        workload = world.workloads.get(key)
        if workload is None or workload.devices is None or is_aside(world.aside, ACCOUNTANT, Scope.WORKLOAD, key):
            continue
        decided = guarded(partial(_assigned, world, workload), ACCOUNTANT, workload=key)
        yield from (decided,) if isinstance(decided, SetAside) else decided


def _assigned(world: TopologyState, workload: Workload) -> list[Decision]:
    if not workload.should_run:
        return []
    return list(next_assignments(world, workload, pod_homes(world, workload)))
