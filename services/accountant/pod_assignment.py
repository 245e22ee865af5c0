"""Which of its workload's cards are a pod's own, where pods get different cards: decided before the pod is scheduled.

Rule: docs/rules/devices.md#own-cards
"""

from collections.abc import Iterator
from functools import partial

from events.catalogue import Decision
from projections.devices.placement.pod_cards import next_assignments
from projections.set_aside.records import Scope
from projections.topology.pods.placed_pods import pod_homes
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload
from services.accountant.guarding import one
from services.accountant.state import AccountantState


def assignments(world: AccountantState, workload: Workload) -> Iterator[Decision]:
    """Assign cards to the waiting pods of a workload under review."""
    if workload.devices is not None:
        yield from one(world, Scope.WORKLOAD, workload.key, partial(_assigned, world, workload))


def _assigned(world: TopologyState, workload: Workload) -> list[Decision]:
    if not workload.should_run:
        return []
    return list(next_assignments(world, workload, pod_homes(world, workload)))
