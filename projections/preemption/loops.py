"""Workloads that preempt and are preempted again and again: what protects from it is off, or does not reach so far.

Rule: docs/rules/preemption.md#loops

Kueue's users report such loops (its issue 13662) and have nothing that shows them. It is reported here, and decides nothing.
"""

import msgspec

from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState

TURNS = 2
"""So often each of them has preempted the next before it is called a loop: once is what priorities are for."""
_REMEMBERED = 8
"""Of so many preemptors a workload remembers how often each has preempted it."""


class PreemptionLoop(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A workload that keeps no room: one preempts it, and it preempts another, which may be that one again, or leave that one none."""

    by: str
    workload: str
    other: str
    turns: int
    """How often each of the two has preempted the next at least."""


def preempted_once_more(workload: Workload, preemptor: str) -> tuple[tuple[str, int], ...]:
    """The workloads that have preempted this one and how often, with one more at the end."""
    before = dict(workload.stops.preempted_by)
    times = before.pop(preemptor, 0) + 1
    return (*tuple(before.items())[-_REMEMBERED + 1 :], (preemptor, times))


def preemption_loops(world: WorkloadState) -> list[PreemptionLoop]:
    """Every loop among workloads that have not ended, in order; two that preempt each other are one."""
    preemptors = {
        key: [(by, times) for by, times in one.stops.preempted_by if times >= TURNS and _goes_on(world, by)]
        for key, one in world.workloads.items()
        if one.stops.preempted_by and not one.finished
    }
    found = [
        PreemptionLoop(by=by, workload=workload, other=other, turns=min(times, often))
        for other, those in preemptors.items()
        for workload, often in those
        for by, times in preemptors.get(workload, ())
        if by != other or by < workload
    ]
    return sorted(found)


def _goes_on(world: WorkloadState, key: str) -> bool:
    known = world.workloads.get(key)
    return known is not None and not known.finished
