"""Folding what is sent to other clusters, and what is seen of it there."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.multikueue import (
    ClusterChosen,
    ClustersNamed,
    ClustersNominated,
    EstimatesAsked,
    MultiKueueClusterObserved,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.slices import WorkloadSliceReplaced
from events.workload import CheckState, QuotaReleased, WorkloadDeleted
from projections.checks.components import siblings
from projections.checks.dispatch import Dispatch, OpenedGate
from projections.checks.dispatch_due import note_due
from projections.checks.left_behind import left_in
from projections.checks.state import DispatchState
from projections.folds.upkeep import settled
from projections.log_position import LogPosition
from projections.workloads.lifecycle import Workload, with_news
from projections.workloads.multikueue_check import check_of
from projections.workloads.slices import slices_beside

DispatchEvent: TypeAlias = (
    RemoteWorkloadObserved
    | RemoteWorkloadGone
    | RemoteJobSynced
    | RemoteJobRefused
    | ClustersNamed
    | EstimatesAsked
    | ClustersNominated
    | RemoteGateOpened
    | ClusterChosen
    | RemoteCheckSettled
)


def evolve_dispatch(  # noqa: C901 - one case per event
    world: DispatchState, event: DispatchEvent, position: LogPosition
) -> None:
    """Fold one such event; a decision about a workload that is gone changes nothing."""
    match event:
        case RemoteWorkloadObserved():
            before = world.remotes.get(event.workload, {}).get(event.cluster)
            if before is None or before.uid != event.uid or before.version <= event.version or event.restored:
                if before is not None and before.opened and not event.opened:
                    _close_gate(world, event.workload, event.cluster)
                _put_copy(world, event.workload, event.cluster, event)
            _note_seen(world, event)
        case RemoteWorkloadGone():
            _put_copy(world, event.workload, event.cluster, None)
            _note_seen(world, event)
        case RemoteJobSynced():
            _note_job(world, event, synced=True)
        case RemoteJobRefused():
            _note_job(world, event, refused=event.message)
        case ClustersNamed():
            _name(world, event)
        case EstimatesAsked():
            dispatch = Dispatch(check=event.check, asked=event.clusters, nominated_at=position.at)
            _dispatch(world, event.workload, dispatch, position)
        case ClustersNominated():
            dispatch = Dispatch(
                check=event.check,
                clusters=event.clusters,
                later=event.later,
                why=event.why,
                nominated_at=position.at,
                opened=_still_open(world, event),
                named=_still_named(world, event),
            )
            _dispatch(world, event.workload, dispatch, position)
        case ClusterChosen():
            decision = f"{position.partition}/{position.sequence}"
            before = world.dispatches.get(event.workload)
            dispatch = Dispatch(
                check=event.check,
                tried=(before.clusters or before.tried) if before is not None else (),
                cluster=event.cluster,
                decision=decision,
                cited=event.cited,
                why=before.why if before is not None else "",
                synced=event.taken_over and before is not None and before.synced,
                taken_over=event.taken_over,
                follows=before.follows if before is not None else "",
            )
            _dispatch(world, event.workload, dispatch, position)
        case RemoteGateOpened():
            _open_gate(world, event, position)
        case RemoteCheckSettled():
            _settle(world, event, position)
        case _:
            assert_never(event)


def drop_copies(world: DispatchState, key: str) -> None:
    """The workload is decided in another partition: what is seen of it in clusters is of no interest here."""
    world.trail.drop(world.remotes, key)
    world.remote_work.mark_dirty(key)


def drop_dispatch(world: DispatchState, key: str) -> None:
    """The workload is decided in another partition: nothing was decided here about where it is sent."""
    world.trail.drop(world.dispatches, key)
    world.trail.drop(world.left_behind, key)
    world.remote_work.mark_dirty(key)


def miss_dispatch(world: DispatchState, event: AnyEvent, position: LogPosition, beside: Sequence[str]) -> None:
    """Fold that a workload holds quota no more, is forgotten or goes on as another slice, or that a cluster is gone or can't be reached.

    `beside` are the slices and variants of the same job as it was before: they may have gone with it.
    """
    match event:
        case QuotaReleased() | WorkloadDeleted():
            _end(world, event.workload)
            _end_those_gone(world, beside)
        case DecisionApplied() if event.workload in world.dispatches and event.workload not in world.workloads:
            _end(world, event.workload)  # It was kept no longer (docs/rules/eviction.md#orphans).
        case WorkloadSliceReplaced():
            _go_on(world, event, position)
        case ObjectRemoved(kind="MultiKueueCluster", name=cluster):
            for key in sorted(key for key, copies in world.remotes.items() if cluster in copies):
                _put_copy(world, key, cluster, None)
        case MultiKueueClusterObserved(active=False):
            for key, dispatch in world.dispatches.items():
                workload = world.workloads.get(key)
                left = [] if workload is None else left_in(world, workload)
                if dispatch.runs_in == event.name or event.name in left:
                    note_due(world, key, dispatch)
        case _:
            pass


def _end(world: DispatchState, key: str) -> None:
    """The choice of a cluster counts no more."""
    _miss_component(world, key)
    _leave_behind(world, key)
    world.trail.drop(world.dispatches, key)
    if key in world.remotes:
        world.remote_work.mark_dirty(key)


def _end_those_gone(world: DispatchState, keys: Sequence[str]) -> None:
    for key in keys:
        if key not in world.workloads:
            _end(world, key)


def _go_on(world: DispatchState, event: WorkloadSliceReplaced, position: LogPosition) -> None:
    """A slice goes on in the cluster in which the one before runs, by the copy of that until its own is admitted there.

    Rule: docs/rules/multikueue.md#slices
    """
    known = world.dispatches.get(event.workload)
    if known is None or not known.cluster:
        return
    _leave_behind(world, event.workload)
    goes_on = Dispatch(check=known.check, clusters=(known.cluster,), nominated_at=position.at, follows=event.workload)
    _dispatch(world, event.by, goes_on, position)


def _miss_component(world: DispatchState, key: str) -> None:
    """Another one of its object goes first now."""
    known = world.dispatches.get(key)
    if known is None or not known.part_of:
        return
    for other in world.parts.get(known.part_of, ()):
        world.work.mark_dirty(other)


def _leave_behind(world: DispatchState, key: str, chosen_now: str = "") -> None:
    """Remember where its job may be by a choice that counts no more, until the copy there is gone: it goes with that."""
    known = world.dispatches.get(key)
    if known is None or known.cluster in ("", chosen_now):
        return
    copy = world.remotes.get(key, {}).get(known.cluster)
    if copy is not None:
        world.trail.put(world.left_behind, key, {**world.left_behind.get(key, {}), known.cluster: copy.uid})


def _find_gone(world: DispatchState, workload: str, cluster: str, uid: str) -> None:
    """What was left behind in a cluster is gone where no copy stands there, or another one."""
    left = world.left_behind.get(workload, {})
    if left.get(cluster, uid) == uid:
        return
    rest = {name: one for name, one in left.items() if name != cluster}
    if rest:
        world.trail.put(world.left_behind, workload, rest)
    else:
        world.trail.drop(world.left_behind, workload)


def _put_copy(world: DispatchState, workload: str, cluster: str, copy: RemoteWorkloadObserved | None) -> None:
    _find_gone(world, workload, cluster, "" if copy is None else copy.uid)
    copies = {name: one for name, one in world.remotes.get(workload, {}).items() if name != cluster}
    if copy is None:
        _close_gate(world, workload, cluster)
    else:
        copies[cluster] = copy
    if copies:
        world.trail.put(world.remotes, workload, dict(sorted(copies.items())))
    else:
        world.trail.drop(world.remotes, workload)
    for key in slices_beside(world, workload):
        world.remote_work.mark_dirty(key)
        if key in world.workloads:
            world.work.mark_dirty(key)


def _note_seen(world: DispatchState, event: RemoteWorkloadObserved | RemoteWorkloadGone) -> None:
    known = world.dispatches.get(event.workload)
    if known is not None and known.unseen and known.cluster == event.cluster:
        world.trail.put(world.dispatches, event.workload, replace(known, unseen=False))


def _name(world: DispatchState, event: ClustersNamed) -> None:
    """What is named for a workload without quota, or once a cluster is chosen, is of the past."""
    workload, known = world.workloads.get(event.workload), world.dispatches.get(event.workload)
    check = check_of(world.checks, workload) if workload is not None else ""
    if workload is None or not check or not workload.reserved or (known is not None and known.cluster):
        return
    world.trail.put(world.dispatches, event.workload, replace(known or Dispatch(check=check), named=event.clusters))
    world.work.mark_dirty(event.workload)


def _still_named(world: DispatchState, event: ClustersNominated) -> tuple[str, ...]:
    """What somebody else has named; a cluster that was chosen and is tried again counts as named by them."""
    rule, before = world.settings.multikueue, world.dispatches.get(event.workload)
    if rule is None or before is None or not rule.dispatched_by_others:
        return ()
    return event.clusters if before.cluster else before.named


def _open_gate(world: DispatchState, event: RemoteGateOpened, position: LogPosition) -> None:
    known = world.dispatches.get(event.workload)
    if known is not None and not known.cluster:
        opened = OpenedGate(cluster=event.cluster, copy=event.copy, at=position.at)
        rest = tuple(one for one in known.opened if one.cluster != event.cluster)
        _dispatch(world, event.workload, replace(known, opened=(*rest, opened)), position)


def _close_gate(world: DispatchState, key: str, cluster: str) -> None:
    """The cluster itself has closed the gate of a copy, which was evicted there, or that copy is gone with it."""
    known = world.dispatches.get(key)
    if known is not None and known.opened:
        left = tuple(one for one in known.opened if one.cluster != cluster)
        world.trail.put(world.dispatches, key, replace(known, opened=left))


def _still_open(world: DispatchState, event: ClustersNominated) -> tuple[OpenedGate, ...]:
    """The gates that were opened where it goes on being tried."""
    before = world.dispatches.get(event.workload)
    return () if before is None else tuple(one for one in before.opened if one.cluster in event.clusters)


def _note_job(
    world: DispatchState, event: RemoteJobSynced | RemoteJobRefused, *, synced: bool = False, refused: str = ""
) -> None:
    known = world.dispatches.get(event.workload)
    if known is not None and (known.cluster, known.decision) == (event.cluster, event.decision):
        changed = replace(known, synced=known.synced or synced, refused=refused)
        world.trail.put(world.dispatches, event.workload, changed)
        world.work.mark_dirty(event.workload)


def _dispatch(world: DispatchState, key: str, dispatch: Dispatch, position: LogPosition) -> None:
    workload = world.workloads.get(key)
    if workload is None:
        return
    _leave_behind(world, key, dispatch.cluster)
    if workload.owner is not None and workload.owner.part:
        dispatch = replace(dispatch, part_of=workload.owner.uid)
    world.trail.put(world.dispatches, key, dispatch)
    world.put_workload(replace(workload, decided=position.sequence))
    note_due(world, key, dispatch)
    _wake(world, workload)


def _wake(world: DispatchState, workload: Workload) -> None:
    """Have the others of its object looked at: they go where it goes."""
    for other in siblings(world, workload):
        world.work.mark_dirty(other.key)


def _settle(world: DispatchState, event: RemoteCheckSettled, position: LogPosition) -> None:
    workload = world.workloads.get(event.workload)
    if workload is None:
        return
    changed = settled(workload, event.check, position)
    message, retries = event.check.message, event.check.state is CheckState.RETRY
    warns = retries and "out of sync" in message
    evicted = retries and message.startswith("Workload evicted on worker cluster")
    if warns or evicted or event.check.state is CheckState.READY:
        changed = with_news(changed, position, "MultiKueue", message, warning=warns)
    world.put_workload(replace(changed, decided=position.sequence))
