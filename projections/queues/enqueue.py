"""Putting a workload in line, or parking it when its class is known not to fit (docs/rules/queues.md#equivalence)."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.admission import AdmissionRefused, RequeueReason
from events.quota import ClusterQueueObserved, LimitRangeObserved, QueueingStrategy
from events.settings import SettingsObserved
from projections.devices.holdings.card_holdings import CardHoldings
from projections.feature_gates import enabled
from projections.queues.equivalence import equivalence_of
from projections.queues.order import place_of, put_in_line
from projections.queues.requeue_rule import stays_in_line
from projections.queues.state import QueueState
from projections.workloads.lifecycle import Workload

BULK = frozenset({RequeueReason.NO_FIT, RequeueReason.PREEMPTION_NO_CANDIDATES})
"""Refusals that hold for every workload of the class."""

WAITS_FOR_OTHERS = frozenset({RequeueReason.PENDING_PREEMPTION, RequeueReason.PENDING_MIGRATION})
"""Refusals of a workload that can be admitted once others have released their quota."""


def depends_on_namespace(limit_ranges: Mapping[str, LimitRangeObserved], cards: CardHoldings) -> bool:
    """Whether the outcome for a workload may depend on its namespace: by limit ranges, or card limits of ResourceQuotas."""
    return bool(limit_ranges or cards.care.quotas)


def enqueue(world: QueueState, workload: Workload) -> None:
    """The workload waits in the line that it belongs to, unless its like was refused and nothing has changed since."""
    line = world.lines.of(workload.line)
    known = (
        line.classes.get(workload.equivalence)
        if _by_class(world.cluster_queues, world.settings, workload.line)
        else None
    )
    if known is not None and known.stamp == world.stamp(workload.line):
        place = place_of(world, workload, workload.equivalence, known.reason)
        line.park_refused(world.trail, place, stamp=known.stamp)
        return
    put_in_line(world, workload.line, workload)
    world.quota.touch(workload.line)


def requeue_refused(world: QueueState, workload: Workload, event: AdmissionRefused) -> None:
    """Where a refused workload waits: in line, or parked with its class."""
    line = world.lines.of(event.cluster_queue)
    if event.requeue in WAITS_FOR_OTHERS:
        remember_preemptor(world, workload, event.cluster_queue)
    if stays_in_line(world.cluster_queues.get(event.cluster_queue), event.requeue, event.progress):
        if event.progress:
            came = world.quota.changed(event.cluster_queue) + line.news[0]
            line.note_scan(world.trail, workload.key, came, world.stamp(event.cluster_queue), event.progress)
        else:
            line.end_scan(world.trail, workload.key)
        put_in_line(world, event.cluster_queue, workload)
        return
    line.forget_scan(world.trail)
    bulk = event.requeue in BULK and _by_class(world.cluster_queues, world.settings, event.cluster_queue)
    kind = workload.equivalence if bulk else f"{workload.equivalence}/{workload.key}"
    stamp = world.stamp(event.cluster_queue)
    # Both kinds of gates are shown by one reason; who bears one of these is in the queue.
    gated = event.requeue is RequeueReason.PREEMPTION_GATED
    reason = event.requeue.value if gated else event.reason
    line.park_refused(world.trail, place_of(world, workload, kind, reason), stamp=stamp)
    if bulk:
        for key in line.alike(workload.equivalence):
            line.park_refused(world.trail, replace(line.waiting[key], reason=reason), stamp=stamp)


def line_up_refused(world: QueueState, cluster_queue: str) -> None:
    """Have all who were refused in a queue wait in its line again: it is strict from now on, so nobody passes its first.

    Rule: docs/rules/queues.md#strict
    """
    for key in sorted(world.lines.of(cluster_queue).refused):
        put_in_line(world, cluster_queue, world.workloads[key])


def reclass(world: QueueState, workload: Workload) -> None:
    """What the workload asks for is counted in another way from now on: try it anew (docs/rules/queues.md#reclass)."""
    equivalence = equivalence_of(workload, by_namespace=depends_on_namespace(world.limit_ranges, world.cards))
    changed = replace(workload, equivalence=equivalence)
    world.put_workload(changed)
    line = world.lines.of(workload.line)
    if workload.line and (workload.key in line.waiting or line.refused_as(workload.key) is not None):
        put_in_line(world, workload.line, changed)
        world.quota.touch(workload.line)


def remember_preemptor(world: QueueState, workload: Workload, cluster_queue: str) -> None:
    """The workload waits for its victims; in a BestEffortFIFO queue it comes first.

    Rule: docs/rules/queues.md#preemptor-first
    """
    line = world.lines.of(cluster_queue)
    world.trail.put(line.held, "preemptor", workload.key)
    queue = world.cluster_queues.get(cluster_queue)
    if queue is None or queue.strategy is not QueueingStrategy.BEST_EFFORT_FIFO:
        return
    former = line.held.get("sticky")
    world.trail.put(line.held, "sticky", workload.key)
    if former is None or former == workload.key:
        return
    if former in line.waiting:
        put_in_line(world, cluster_queue, world.workloads[former])
    elif (kind := line.refused_as(former)) is not None:
        # It keeps no place from when it came first: a saved world would not have it.
        parked = line.classes[kind]
        place = place_of(world, world.workloads[former], kind, parked.reason)
        line.park_refused(world.trail, place, stamp=parked.stamp)


def _by_class(
    cluster_queues: Mapping[str, ClusterQueueObserved], settings: SettingsObserved, cluster_queue: str
) -> bool:
    queue = cluster_queues.get(cluster_queue)
    return (
        queue is not None
        and queue.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        and enabled(settings, "SchedulingEquivalenceHashing")
    )
