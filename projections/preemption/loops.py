"""Pairs of workloads that preempt each other again and again: what protects from it is off, or does not reach so far.

Rule: docs/rules/preemption.md#loops

Kueue's users report such loops (its issue 13662) and have nothing that shows them. It is reported here, and decides nothing.
"""

from collections.abc import Mapping

import msgspec

from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState

TURNS = 2
"""So often each of the two has preempted the other before it is called a loop: once is what priorities are for."""
_REMEMBERED = 8
"""Of so many preemptors a workload remembers how often each has preempted it."""


class PreemptionLoop(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Two workloads, and how often each has preempted the other at least."""

    one: str
    other: str
    turns: int


def preempted_once_more(workload: Workload, preemptor: str) -> tuple[tuple[str, int], ...]:
    """The workloads that have preempted this one and how often, with one more at the end."""
    before = dict(workload.preempted_by)
    times = before.pop(preemptor, 0) + 1
    return (*tuple(before.items())[-_REMEMBERED + 1 :], (preemptor, times))


def loops_of(workloads: Mapping[str, Workload], workload: Workload) -> list[PreemptionLoop]:
    """The loops that a workload is part of, by the other one."""
    found: list[PreemptionLoop] = []
    for other, times in sorted(workload.preempted_by):
        known = workloads.get(other)
        turns = min(times, dict(known.preempted_by).get(workload.key, 0)) if known is not None else 0
        if turns >= TURNS and not workload.finished and known is not None and not known.finished:
            found.append(PreemptionLoop(one=workload.key, other=other, turns=turns))
    return found


def preemption_loops(world: WorkloadState) -> list[PreemptionLoop]:
    """Every pair of workloads that preempt each other in turn, in the order of their keys, each pair once."""
    return [
        loop
        for key in sorted(world.workloads)
        if world.workloads[key].preempted_by
        for loop in loops_of(world.workloads, world.workloads[key])
        if loop.one < loop.other
    ]
