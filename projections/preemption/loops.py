"""Workloads that preempt and are preempted again and again: what protects from it is off, or does not reach so far.

Rule: docs/rules/preemption.md#loops

Kueue's users report such loops (its issue 13662) and have nothing that shows them, or ends them.
"""

import msgspec

from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState

TURNS = 2
"""So often each of them has preempted the next before it is called a loop: once is what priorities are for."""
IN_VAIN = 3
"""So often a workload has preempted the same one and was not let in before that is called a loop, and room is kept for it."""
_REMEMBERED = 8
"""Of so many preemptors a workload remembers how often each has preempted it."""


class PreemptionLoop(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A workload that keeps no room: one preempts it, and it preempts another, which may be that one again, or leave that one none.

    Or it preempts nobody, and takes the room again that it has left.
    """

    by: str
    workload: str
    other: str = ""
    """Whom the workload preempts; empty for nobody."""
    turns: int
    """How often each of the two has preempted the next at least."""

    @property
    def message(self) -> str:
        """The loop in a sentence, as `kuelog explain` prints it."""
        if not self.other:
            return f"{self.by} has preempted {self.workload} {self.turns} times and was not let in"
        return f"{self.by} preempts {self.workload}, and that preempts {self.other}, {self.turns} times each"


def preempted_once_more(workload: Workload, preemptor: str) -> tuple[tuple[str, int], ...]:
    """The workloads that have preempted this one and how often, with one more at the end."""
    before = dict(workload.stops.preempted_by)
    times = before.pop(preemptor, 0) + 1
    return (*tuple(before.items())[-_REMEMBERED + 1 :], (preemptor, times))


def preempted_in_vain(preemptor: Workload, victim: Workload) -> int:
    """How often at least a workload that waits has preempted another and was not let in: once it was, it has been evicted since."""
    times = dict(victim.stops.preempted_by).get(preemptor.key, 0)
    return times - sum(one.count for one in preemptor.stops.evictions)


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
    found += [
        PreemptionLoop(by=by, workload=victim, turns=turns)
        for victim, those in preemptors.items()
        for by, _ in those
        if not world.workloads[by].reserved
        and (turns := preempted_in_vain(world.workloads[by], world.workloads[victim])) >= IN_VAIN
    ]
    return sorted(found)


def _goes_on(world: WorkloadState, key: str) -> bool:
    known = world.workloads.get(key)
    return known is not None and not known.finished
