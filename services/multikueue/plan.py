"""What has to be written in other clusters about one workload so that they are as was decided; pure.

Level by level: whatever is in a cluster and not wanted there goes, also when the workload is long gone here. That is the
garbage collection, too.

Rule: docs/rules/multikueue.md#copies
"""

from collections.abc import Collection
from typing import Protocol

import msgspec

from events.multikueue import RemoteWorkloadObserved
from events.workload import CheckState, Condition
from projections.checks.components import cluster_of_siblings
from projections.checks.dispatch import (
    OUT_OF_SYNC,
    Dispatch,
    counts_of,
    first_with,
    has_ended,
    in_sync,
    is_outdated,
    orchestrated,
    reachable,
    stays_elsewhere,
)
from projections.checks.left_behind import copies_that_ended, standing_copies
from projections.checks.multikueue import connected, is_listed
from projections.checks.state import DispatchState
from projections.feature_gates import enabled
from projections.partitions.homes import is_placed_here
from projections.partitions.state import PlacedState
from projections.workloads.lifecycle import ADMITTED, EVICTED, FINISHED, Workload, chain_of
from projections.workloads.multikueue_check import check_of
from projections.workloads.pod_sets_digest import pod_sets_digest
from projections.workloads.pods import has_live_pods
from projections.workloads.slices import holder_of, is_replaced
from services.jobs.kinds.managed_by import managed_by_path
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.table import POD, POD_GROUP
from services.multikueue.estimates import asks_the_same
from services.multikueue.remote_plan import Outline, RemoteJob, RemotePlan


class RemoteState(DispatchState, PlacedState, Protocol):
    """What was dispatched by one partition, and which workloads others decide about."""


def plan(world: DispatchState, key: str) -> RemotePlan:
    """What is wanted of one workload."""
    rule, workload = world.settings.multikueue, world.workloads.get(key)
    copies = reachable(world, world.remotes.get(key, {}))
    origin = rule.origin if rule is not None else ""
    if workload is None:
        return RemotePlan(workload=key, origin=origin, remove=_all(copies), unknown=True)
    if (cluster := _taken_up_in(world, workload)) is not None:
        return _with_job(world, _of_slice_before(copies, workload, origin, cluster), workload)
    if not _dispatched(world, workload):
        return _with_job(world, _of_undecided(world, workload, copies, origin), workload)
    return _with_job(world, _of_dispatched(world, workload, origin), workload)


def _taken_up_in(world: DispatchState, workload: Workload) -> str | None:
    """The cluster in which a newer slice goes on whose job has come to be by this one's copy: that stays as long; None for any other workload.

    Rule: docs/rules/multikueue.md#slices
    """
    if not is_replaced(workload):
        return None
    holder = world.workloads.get(holder_of(world, chain_of(workload)))
    found = world.dispatches.get(holder.key) if holder is not None else None
    if holder is None or found is None or not _dispatched(world, holder) or (holder.evicted and not found.cluster):
        return ""
    return found.runs_in


def _of_slice_before(
    copies: dict[str, RemoteWorkloadObserved], workload: Workload, origin: str, cluster: str
) -> RemotePlan:
    stale = {name: one for name, one in copies.items() if name != cluster}
    return RemotePlan(workload=workload.key, origin=origin, remove=_all(stale))


def concerns(world: RemoteState, key: str) -> bool:
    """Whether anything may be wanted from here of a workload in other clusters."""
    if not is_placed_here(world, key):
        return False
    if key in world.dispatches or key in world.remotes:
        return True
    workload = world.workloads.get(key)
    return workload is not None and workload.evicted and bool(check_of(world.checks, workload))


def _of_undecided(
    world: DispatchState, workload: Workload, copies: dict[str, RemoteWorkloadObserved], origin: str
) -> RemotePlan:
    """What is there of a workload that was sent nowhere by this log.

    Where it may be running by the decision of a log that is lost, a copy that is admitted stays until it is decided about.
    """
    name = check_of(world.checks, workload)
    waits = bool(name) and workload.reserved and not (workload.finished or workload.in_cluster.discarded)
    chosen_next = (
        waits and not workload.evicted and workload.checks[name].state in (CheckState.PENDING, CheckState.READY)
    )
    standing = standing_copies(world, workload) if chosen_next else {}
    left = {cluster: one for cluster, one in copies.items() if not (cluster in standing and ADMITTED in one.conditions)}
    return RemotePlan(
        workload=workload.key,
        origin=origin,
        remove=_all(left),
        park=not copies and ((waits and workload.evicted) or (bool(name) and _looks_as_if_it_ran(workload))),
        elsewhere=connected_but(world, ()),
    )


def connected_but(world: DispatchState, clusters: Collection[str]) -> tuple[str, ...]:
    """All clusters that are connected, but for these."""
    return tuple(name for name in sorted(world.multikueue_clusters) if name not in clusters and connected(world, name))


def _dispatched(world: DispatchState, workload: Workload) -> bool:
    over = workload.finished or workload.in_cluster.discarded or not workload.reserved
    if over or workload.key not in world.dispatches:
        return False
    name = check_of(world.checks, workload)
    return (
        workload.checks[name].state is not CheckState.REJECTED if name else stays_elsewhere(world.dispatches, workload)
    )


def _of_dispatched(world: DispatchState, workload: Workload, origin: str) -> RemotePlan:
    dispatch = world.dispatches[workload.key]
    copies = reachable(world, world.remotes.get(workload.key, {}))
    if dispatch.asked:
        return _of_question(world, workload, dispatch, copies, origin)
    if not dispatch.cluster:
        wanted = _tried_in(world, workload, dispatch)
        standing = standing_copies(world, workload)
        stale = {name: one.uid for name, one in copies.items() if name not in wanted or name not in standing}
        nothing_runs = not (stale or dispatch.follows)
        return RemotePlan(
            workload=workload.key,
            origin=origin,
            make=tuple(sorted(wanted - copies.keys())),
            asks=pod_sets_digest(workload),
            queue=workload.named_queue,
            max_execution=workload.spec.max_execution,
            gated=orchestrated(world) and not (dispatch.follows or cluster_of_siblings(world, workload)),
            again=bool(workload.stops.evictions) or not is_pods(workload),
            open=tuple(
                one.cluster
                for one in dispatch.opened
                if (copy := copies.get(one.cluster)) is not None and copy.uid == one.copy and not copy.opened
            ),
            remove=tuple(sorted(stale.items())),
            amend=_outdated(workload, {name: one for name, one in copies.items() if name not in stale}),
            outline=_outline(workload),
            run=_by_slice_before(world, workload, dispatch) or _over_untried(world, workload),
            park=_has_stopped(world, workload, dispatch, copies) or (nothing_runs and _looks_as_if_it_ran(workload)),
            elsewhere=connected_but(world, copies if nothing_runs else ()),
        )
    if dispatch.unseen and connected(world, dispatch.cluster):
        return RemotePlan(workload=workload.key, origin=origin, look=dispatch.cluster)
    evicted = workload.condition(EVICTED) if workload.evicted else None
    stays = {dispatch.cluster} if evicted is None or not _is_beyond_reach(copies.get(dispatch.cluster)) else set[str]()
    others = {name: one for name, one in copies.items() if name not in stays}
    copy = copies.get(dispatch.cluster)
    name = check_of(world.checks, workload)
    ready = not name or workload.checks[name].state is CheckState.READY
    run = None
    ended = copy is not None and has_ended(copy)
    if copy is not None and not others and (dispatch.decision or evicted is not None):
        # Losers go before the job is made: it runs in one cluster only.
        stop = f"Evicted on manager: {evicted.message}" if evicted is not None and not ended else ""
        run = RemoteJob(
            cluster=dispatch.cluster,
            decision=dispatch.decision,
            # Pods of a group may come later, in the place of others or because they come one by one.
            make=evicted is None and not ended and (not ready or is_pods(workload)),
            stop=stop,
            over=copy.uid if ended else "",
            counts=counts_of(workload) if workload.spec.elastic else {},
        )
    return RemotePlan(
        workload=workload.key,
        origin=origin,
        remove=_all(others) or _job_alone(world, dispatch, copy, evicted),
        amend=_outdated(workload, {dispatch.cluster: copy}) if copy is not None and in_sync(workload, copy) else (),
        outline=_outline(workload),
        run=run,
        park=evicted is not None and copy is None,
        elsewhere=connected_but(world, (dispatch.cluster,)),
    )


def _tried_in(world: DispatchState, workload: Workload, dispatch: Dispatch) -> set[str]:
    """The clusters in which copies are to stand: those that can be reached and have not left the list, or in which its job is already."""
    if workload.evicted:
        return set()
    check, stays = check_of(world.checks, workload), {dispatch.runs_in, cluster_of_siblings(world, workload)}
    reached = [name for name in dispatch.clusters if connected(world, name)]
    return {name for name in reached if name in stays or is_listed(world, check, name)}


def _job_alone(
    world: DispatchState, dispatch: Dispatch, copy: RemoteWorkloadObserved | None, evicted: Condition | None
) -> tuple[tuple[str, str], ...]:
    """The cluster in which the job of an evicted workload stands, as far as is known, and no copy by which it could be stopped."""
    alone = evicted is not None and copy is None and connected(world, dispatch.cluster)
    return ((dispatch.cluster, ""),) if alone else ()


def _is_beyond_reach(copy: RemoteWorkloadObserved | None) -> bool:
    """Whether a copy has ended though its job has not: that can't be stopped by it any more, and goes with it."""
    over = None if copy is None else copy.conditions.get(FINISHED)
    return over is not None and over.reason == OUT_OF_SYNC


def _outdated(workload: Workload, copies: dict[str, RemoteWorkloadObserved]) -> tuple[tuple[str, str], ...]:
    return tuple((name, one.uid) for name, one in sorted(copies.items()) if is_outdated(workload, one))


def _outline(workload: Workload) -> Outline:
    named = workload.spec.workload_class
    return Outline(
        counts=counts_of(workload),
        priority=workload.spec.priority,
        priority_class=named.name if named is not None else "",
    )


def _by_slice_before(world: DispatchState, workload: Workload, dispatch: Dispatch) -> RemoteJob | None:
    """The job that runs by the copy of the slice before: it stays as it is, and its status is shown."""
    there = connected(world, dispatch.runs_in) if dispatch.follows else False
    return RemoteJob(cluster=dispatch.runs_in, decision="", make=False) if there and not workload.evicted else None


def _over_untried(world: DispatchState, workload: Workload) -> RemoteJob | None:
    """The job that is over by a copy though no cluster was chosen: its status is shown, if there is one."""
    over = {} if workload.evicted else copies_that_ended(world, workload)
    cluster = first_with(over, FINISHED)
    return RemoteJob(cluster=cluster, decision="", make=False, over=over[cluster].uid) if cluster else None


def _has_stopped(
    world: DispatchState, workload: Workload, dispatch: Dispatch, copies: dict[str, RemoteWorkloadObserved]
) -> bool:
    """Whether what has to stop, and ran by a choice that is not its own, has no copy any more by which it could run.

    It was that of the slice before, or one that this log does not know.
    """
    if not workload.evicted or not workload.pods_may_run:
        return False
    before = reachable(world, world.remotes.get(dispatch.follows, {}))
    return not copies and dispatch.runs_in not in before


def _of_question(
    world: DispatchState,
    workload: Workload,
    dispatch: Dispatch,
    copies: dict[str, RemoteWorkloadObserved],
    origin: str,
) -> RemotePlan:
    """A question in each cluster that is asked, and nothing else anywhere."""
    asked = {name for name in dispatch.asked if connected(world, name)} if not workload.evicted else set[str]()
    stale = {name: one.uid for name, one in copies.items() if name not in asked or not asks_the_same(workload, one)}
    return RemotePlan(
        workload=workload.key,
        origin=origin,
        ask=tuple(sorted(asked - copies.keys())),
        asks=pod_sets_digest(workload),
        queue=workload.named_queue,
        max_execution=workload.spec.max_execution,
        remove=tuple(sorted(stale.items())),
        park=not stale and _looks_as_if_it_ran(workload),
        elsewhere=connected_but(world, copies),
    )


def _looks_as_if_it_ran(workload: Workload) -> bool:
    """Whether a pod here shows that it runs: so it did elsewhere, and that may have been seen only after it was stopped there."""
    return is_pods(workload) and has_live_pods(workload)


def _kept_by_slices(world: DispatchState, workload: Workload) -> str:
    """The cluster in which the elastic job runs by another slice than this one: what is removed of this one leaves it there."""
    if not workload.spec.elastic:
        return ""
    dispatch = world.dispatches.get(workload.key)
    if dispatch is not None and dispatch.follows and not dispatch.cluster and not workload.evicted:
        return dispatch.runs_in
    return _taken_up_in(world, workload) or ""


def is_pods(workload: Workload) -> bool:
    """Whether it is pods that nothing has made which runs elsewhere as a whole."""
    return workload.owner is not None and workload.owner.kind in (POD.kind, POD_GROUP.kind)


def _all(copies: dict[str, RemoteWorkloadObserved]) -> tuple[tuple[str, str], ...]:
    return tuple((name, one.uid) for name, one in copies.items())


def _with_job(world: DispatchState, found: RemotePlan, workload: Workload) -> RemotePlan:
    owner = workload.owner
    if owner is None:
        return found
    kind = kinds_of(world.settings).of(owner.api_version, owner.kind)
    if is_pods(workload):
        names = tuple(one.name for one in workload.spec.members)
        return msgspec.structs.replace(found, kind=POD, api_version=owner.api_version, jobs=names)
    group = owner.api_version.rpartition("/")[0]
    path = managed_by_path(world.settings, group, owner.kind)
    together = cluster_of_siblings(world, workload) or _kept_by_slices(world, workload)
    return msgspec.structs.replace(
        found,
        kind=kind,
        api_version=owner.api_version,
        managed_by=path,
        serves=enabled(world.settings, "MultiKueueRemoteSpecSync"),
        jobs=(owner.name,),
        keep_job=(together,) if together else (),
    )
