"""Folding slices of elastic jobs: what a job asks for by now, a new slice, a smaller one, one that takes another's place.

Rule: docs/rules/elastic.md
"""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.slices import (
    WorkloadSliceDropped,
    WorkloadSliceReplaced,
    WorkloadSliceResized,
    WorkloadSliceSubmitted,
)
from events.workload import (
    JobUnsuspended,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from events.workload_facts import WorkloadFact
from projections.folds.held_domains import hold_domains
from projections.folds.workloads import change, evolve_workloads, leave, reclassify, submit
from projections.log_position import LogPosition
from projections.preemption.state import PreemptionState
from projections.quota.charge_quota import left_done, recharge
from projections.topology.pods.pods_of_workloads import note_pod
from projections.workloads.changed_part import changed_part
from projections.workloads.lifecycle import FINISHED, Workload, chain_of, true_condition, with_condition, with_news
from projections.workloads.slices import REPLACED, counts_of, holder_of, is_replaced, shrinks, slices_of, with_fewer

SliceEvent: TypeAlias = WorkloadSliceSubmitted | WorkloadSliceResized | WorkloadSliceReplaced | WorkloadSliceDropped


def evolve_slices(world: PreemptionState, event: SliceEvent, position: LogPosition) -> None:
    """Fold one decision about slices; one about a slice that is gone changes nothing."""
    match event:
        case WorkloadSliceSubmitted():
            _submit(world, event, position)
        case WorkloadSliceResized():
            _resize(world, event, position)
        case WorkloadSliceReplaced() | WorkloadSliceDropped():
            _replace(world, event, position)
        case _:
            assert_never(event)


def evolve_job_fact(world: PreemptionState, event: WorkloadFact, position: LogPosition) -> None:  # noqa: C901 - one case after the other
    """Fold what is observed of a workload or its job; of an elastic job it concerns the slice that it is true of."""
    named = world.workloads.get(event.workload)
    chain = event.workload if named is None else chain_of(named)
    live = slices_of(world, chain) if chain in world.chains else []
    match event:
        case WorkloadSubmitted() if event.owner is not None and event.spec.slice_name:
            _begin(world, event, position)
        case WorkloadChanged() | WorkloadDeleted() | WorkloadFinished() if named is not None and _stands_alone(
            named, event
        ):
            evolve_workloads(world, event, position)
        case WorkloadChanged() if named is not None and named.spec.elastic and _is_made_by_others(named):
            _ask_for_other_size(world, [named], event, position)
        case WorkloadChanged() if live:
            _ask_for_other_size(world, live, event, position)
        case WorkloadDeleted() if event.workload in world.chains:
            for key in sorted(world.chains[event.workload]):
                evolve_workloads(world, replace(event, workload=key), position)
        case WorkloadFinished() if live:
            for one in live:
                evolve_workloads(world, replace(event, workload=one.key), position)
        case PodsReclaimed() if live:
            # Of so many as the job asks for by now: a slice that is smaller needs as many of its own as are left of those.
            asked = counts_of(live[-1].resizing.wanted or live[-1].spec.pod_sets)
            for one in live:
                done = left_done(event.counts, asked, counts_of(one.spec.pod_sets))
                evolve_workloads(world, replace(event, workload=one.key, counts=done), position)
        case PodsReady(ready=False) if len(live) > 1 or any(one.resizing.wanted for one in live):
            pass  # The pods that it waits for are those that no slice has been admitted for yet.
        case PodsReady() | PodsGone() | JobUnsuspended() if live:
            evolve_workloads(world, replace(event, workload=holder_of(world, chain)), position)
        case _:
            evolve_workloads(world, event, position)


def _begin(world: PreemptionState, event: WorkloadSubmitted, position: LogPosition) -> None:
    """A job is told in a later slice: what was seen of its pods before that is of one that is not there."""
    evolve_workloads(world, event, position)
    begun = world.workloads.get(event.workload)
    if begun is not None and begun.spec.elastic:
        _move_pods(world, chain_of(begun), holder_of(world, chain_of(begun)), position)


def _is_made_by_others(slice_: Workload) -> bool:
    """Whether the size of a slice is what its own object says, which was there before its job: a manager of other clusters has made it."""
    return slice_.owner is None or slice_.in_cluster.prebuilt


def _stands_alone(named: Workload, event: WorkloadChanged | WorkloadDeleted | WorkloadFinished) -> bool:
    """Whether a fact concerns this slice and none beside it, though it belongs to a job that has several."""
    if not named.spec.elastic or not _is_made_by_others(named):
        return False
    match event:
        case WorkloadDeleted():
            return True
        case WorkloadFinished():
            return named.owner is None
        case WorkloadChanged():
            wanted = event.spec.pod_sets
            grows = wanted != named.spec.pod_sets and not shrinks(named.spec.pod_sets, wanted)
            return named.finished or (named.reserved and grows)
        case _:
            assert_never(event)


def _ask_for_other_size(
    world: PreemptionState, live: Sequence[Workload], event: WorkloadChanged, position: LogPosition
) -> None:
    """What pods a job asks for is left to the queue manager to decide about; all else holds for all of its slices."""
    for one in live:
        own = one.spec
        spec = replace(event.spec, pod_sets=own.pod_sets, slice_name=own.slice_name, replaces=own.replaces)
        if spec != replace(own, queue=one.named_queue):
            change(world, one, replace(event, workload=one.key, spec=spec), position)
    newest = world.workloads[live[-1].key]
    wanted = event.spec.pod_sets if event.spec.pod_sets != newest.spec.pod_sets else ()
    if wanted != newest.resizing.wanted:
        world.put_workload(replace(newest, resizing=replace(newest.resizing, wanted=wanted)))


def _submit(world: PreemptionState, event: WorkloadSliceSubmitted, position: LogPosition) -> None:
    old = world.workloads.get(event.replaces)
    if old is None:
        return
    world.put_workload(replace(old, resizing=changed_part(old.resizing, wanted=())))
    fact = WorkloadSubmitted(
        workload=event.workload, uid=event.uid, owner=event.owner, created_at=event.created_at, spec=event.spec
    )
    submit(world, fact, position)
    if old.reclaimable:
        world.put_workload(reclassify(world, replace(world.workloads[event.workload], reclaimable=old.reclaimable)))
    ended = old.condition(FINISHED)
    if old.finished and ended is not None and not is_replaced(old):
        # Of the job: the cards' partition may read of its end ahead of what was decided before anybody knew of it.
        end = WorkloadFinished(workload=event.workload, reason=ended.reason, message=ended.message)
        evolve_workloads(world, end, position)


def _resize(world: PreemptionState, event: WorkloadSliceResized, position: LogPosition) -> None:
    workload = world.workloads.get(event.workload)
    if workload is None:
        return
    admission = workload.admission
    if admission is None:
        fact = WorkloadChanged(
            workload=workload.key,
            generation=workload.generation,
            spec=replace(workload.spec, pod_sets=event.pod_sets),
        )
        resizing = changed_part(workload.resizing, wanted=())
        done = left_done(workload.reclaimable, counts_of(workload.spec.pod_sets), counts_of(event.pod_sets))
        resized = replace(workload, resizing=resizing, decided=position.sequence, reclaimable=done)
        change(world, resized, fact, position)
        return
    counts = {one.name: one.count for one in event.pod_sets}
    assignments = tuple(with_fewer(one, counts.get(one.name, one.count)) for one in admission.assignments)
    smaller = replace(
        workload,
        spec=replace(workload.spec, pod_sets=event.pod_sets),
        admission=replace(
            admission,
            assignments=assignments,
            given_back=left_done(admission.given_back, counts_of(admission.assignments), counts_of(assignments)),
        ),
        reclaimable=left_done(workload.reclaimable, counts_of(workload.spec.pod_sets), counts),
        resizing=changed_part(workload.resizing, wanted=(), shrunk=world.domains.held_by(workload.key) is not None),
        decided=position.sequence,
    )
    smaller = reclassify(world, smaller)
    world.put_workload(smaller)
    recharge(world.holding, world.quota, world.trail, smaller)
    if world.domains.held_by(smaller.key) is not None:
        hold_domains(world, smaller, assignments)


def _replace(
    world: PreemptionState, event: WorkloadSliceReplaced | WorkloadSliceDropped, position: LogPosition
) -> None:
    old = world.workloads.get(event.workload)
    if old is None or old.finished:
        return
    ran = old.pods_may_run
    leave(world, old)
    over = with_condition(world.workloads[old.key], true_condition(FINISHED, REPLACED, event.message, old, position))
    over = with_news(over, position, REPLACED, event.message)
    resizing = changed_part(over.resizing, wanted=())
    world.put_workload(replace(over, decided=position.sequence, resizing=resizing))
    by = world.workloads.get(event.by)
    if by is not None:
        if old.reserved:
            _hand_over(world, old, by.key, position)
        goes_on = ran and old.reserved and not old.evicted
        heir = world.workloads[by.key]
        resizing = changed_part(heir.resizing, continues=goes_on, shrunk=goes_on and old.resizing.shrunk)
        world.put_workload(replace(heir, resizing=resizing))


def _hand_over(world: PreemptionState, old: Workload, by: str, position: LogPosition) -> None:
    """The pods of a slice are another's from now on, with their cards; what was reserved for the old one is not held twice."""
    assigned = world.pod_cards.get(old.key, ())
    if assigned:
        world.trail.drop(world.pod_cards, old.key)
        moved = tuple(replace(one, workload=by, reservation=position.sequence) for one in assigned)
        world.trail.put(world.pod_cards, by, moved)
    for holding in world.cards.attempts_of(old.key):
        if holding.confirmed:
            # Nothing is held under it any more, but the accountant still has to say so to the partitions that do not read this.
            world.cards.confirm(old.key, holding.reservation, ())
        else:
            world.cards.release(old.key, holding.reservation)
    _move_pods(world, old.key, by, position)


def _move_pods(world: PreemptionState, before: str, by: str, position: LogPosition) -> None:
    """The pods of a slice are another's from now on."""
    keys = {
        *world.cards.living.get(before, ()),
        *world.cards.care.gated.get(before, ()),
        *world.placed_pods.get(before, ()),
        *world.elastic_pods.get(before, ()),
    }
    for key in sorted(keys):
        pod = replace(world.pods[key], workload=by)
        note_pod(world, pod)
        world.trail.put(world.pods, key, pod)
        if not pod.cardless:
            world.cards.observe_pod(pod, position.at)
