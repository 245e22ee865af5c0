"""Who or what holds up a workload that is tried alone: writes that are not done, pods that are not ready, the first of a strict queue."""

from events.admission import Mode
from events.event import Millis
from events.quota import ClusterQueueObserved, QueueingStrategy
from projections.explanation.fixes import NEVER
from projections.explanation.pending import Tried, first_in_line
from projections.explanation.staying import staying
from projections.explanation.words import Staying
from projections.queues.on_their_way import on_their_way
from projections.workloads.lifecycle import QUOTA_RESERVED
from projections.workloads.preemption_gates import closed_gates
from projections.world import World
from services.admitter.block_admission import blocks_admission, unready
from services.admitter.entry import AdmissionEntry, needed_by, preemption_context_of
from services.runtime.partition.admission_window import SIZE


def as_tried(world: World, queue: ClusterQueueObserved, found: AdmissionEntry, at: Millis) -> Tried:
    """The outcome of nominating a workload alone, with all that keeps it waiting whatever came of that."""
    reason, message = found.refusal()
    preempts = tuple(victim.workload.key for victim in found.victims) if found.mode is Mode.PREEMPT else ()
    unwritten = on_their_way(world, queue.name) if found.mode in (Mode.FIT, Mode.PREEMPT) else []
    fits = found.mode is Mode.FIT and not found.reason
    blocked = fits and blocks_admission(world.settings)
    return Tried(
        unwritten=tuple(one.key for one in unwritten) if len(unwritten) >= SIZE else (),
        unready=tuple(sorted(unready(world.holding, world.workloads))) if blocked else (),
        blocked_by=_first_of_strict(world, queue, found.workload.key, at),
        fits=fits,
        preempts=preempts,
        gates=closed_gates(world.settings, found.workload) if preempts else (),
        reason=reason,
        message=message,
    )


def who_stays(world: World, found: AdmissionEntry, at: Millis) -> tuple[Staying, ...]:
    """Who holds what a workload lacks that was tried alone, and why none of them is preempted for it; nobody where all of that is of no use."""
    if found.node is None or found.assignment is None or found.victims or found.refusal()[0] in NEVER:
        return ()
    needed = needed_by(world.quota, found.assignment)
    if not needed:
        return ()
    return staying(world, preemption_context_of(found, at, found.usage, needed))


def _first_of_strict(world: World, queue: ClusterQueueObserved, key: str, at: Millis) -> tuple[str, str]:
    """Whom nobody passes in a strict queue, if it is another one, and the reason for which that waits."""
    first = first_in_line(world, queue.name, at) if queue.strategy is QueueingStrategy.STRICT_FIFO else ""
    if first in ("", key):
        return "", ""
    condition = world.workloads[first].condition(QUOTA_RESERVED)
    return first, condition.reason if condition is not None else ""
