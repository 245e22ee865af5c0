"""The next decision about one workload that runs, or is to run, on another cluster.

Kueue's order: a copy that is out of step, a copy that was evicted, the first copy that is admitted, and only then a nomination.

Rule: docs/rules/multikueue.md#dispatch
"""

from events.catalogue import Decision
from events.event import Millis
from events.multikueue import (
    ALL_AT_ONCE,
    BY_ESTIMATE,
    INCREMENTAL,
    ClusterChosen,
    ClustersNominated,
    MultiKueueConfigObserved,
    MultiKueueSettings,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteWorkloadObserved,
    WorkloadEndedElsewhere,
)
from events.workload import CheckState, CheckStatus
from projections.checks.components import cluster_of_siblings, goes_first
from projections.checks.dispatch import (
    OUT_OF_SYNC,
    ROUND,
    Dispatch,
    first_with,
    lost_at,
    orchestrated,
)
from projections.checks.left_behind import copies_that_ended, runs_on_alone, standing_copies
from projections.checks.multikueue import connected, multikueue_config
from projections.checks.state import DispatchState
from projections.feature_gates import enabled
from projections.workloads.lifecycle import BLOCKED_ON_GATES, EVICTED, FINISHED, Workload
from projections.workloads.multikueue_check import check_of
from projections.workloads.slices import slices_beside
from projections.workloads.variants import with_variants
from services.multikueue.adapters import why_not_delegable
from services.multikueue.estimates import next_of_dispatch

ADMITTED = "Admitted"
LOST = "Admitting remote lost"
NO_LONGER_THERE = "Admitting remote no longer exists"


def reconcile(world: DispatchState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decision about a workload, one at a time; nothing when all is as it should be."""
    rule, name = world.settings.multikueue, check_of(world.checks, workload)
    if rule is None or workload.finished or not workload.reserved or workload.in_cluster.discarded:
        return []
    if ended := _ended(world, workload):
        return ended
    if not name:
        return []
    check = workload.checks[name]
    if check.state is CheckState.REJECTED:
        return []
    problem = why_not_delegable(world.settings, workload)
    if problem:
        return _settle(workload, check, CheckState.REJECTED, _previously(problem, check), at)
    if workload.evicted or check.state is CheckState.RETRY:
        return []
    return _by_copies(world, workload, check, rule, at)


def _by_copies(
    world: DispatchState, workload: Workload, check: CheckStatus, rule: MultiKueueSettings, at: Millis
) -> list[Decision]:
    """What follows for a workload that may run elsewhere from how its copies stand in the clusters that are connected."""
    wanted = standing_copies(world, workload)
    dispatch = world.dispatches.get(workload.key)
    if dispatch is not None and dispatch.unseen and connected(world, dispatch.cluster):
        return []  # What was seen there is older than that it runs there: it is looked at first.
    ran = _runs_already(check, dispatch, wanted)
    if ran:
        cited = wanted[ran].cited
        return [ClusterChosen(workload=workload.key, check=check.name, cluster=ran, cited=cited, taken_over=True)]
    if check.state is CheckState.READY:
        return _admitted(world, workload, check, dispatch, wanted, at)
    if dispatch is not None and dispatch.follows:
        return _going_on(world, workload, check, dispatch, wanted, at)
    if dispatch is not None and dispatch.cluster and not _still_chosen(world, dispatch, wanted):
        dispatch = None
    admitting = _that_may_win(world, workload, check, wanted)
    elsewhere = first_with(admitting, ADMITTED)
    if dispatch is not None and dispatch.cluster:
        return _chosen(world, workload, check, dispatch, at)
    if elsewhere:
        if runs_on_alone(world, workload, at):
            return []
        cited = wanted[elsewhere].cited
        return [ClusterChosen(workload=workload.key, check=check.name, cluster=elsewhere, cited=cited)]
    if dispatch is not None and orchestrated(world) and (may := _may_preempt(dispatch, wanted, at)) is not None:
        return [RemoteGateOpened(workload=workload.key, cluster=may.cluster, copy=may.uid)]
    return _nominated(world, workload, check, dispatch, rule, at)


def _that_may_win(
    world: DispatchState, workload: Workload, check: CheckStatus, copies: dict[str, RemoteWorkloadObserved]
) -> dict[str, RemoteWorkloadObserved]:
    """The copies whose cluster may be chosen: it has admitted them, its check leads there, and what runs together with it is nowhere else."""
    together, config = cluster_of_siblings(world, workload), multikueue_config(world, check.name)
    listed = (together,) if together else config.clusters if config is not None else ()
    return {
        cluster: one
        for cluster, one in copies.items()
        if cluster in listed and _admits(one) and FINISHED not in one.conditions
    }


def _ended(world: DispatchState, workload: Workload) -> list[Decision]:
    """It is over where it runs, or in a cluster in which it is tried, and that is shown here.

    Rule: docs/rules/multikueue.md#ended-there
    """
    over = {name: one for name, one in copies_that_ended(world, workload).items() if one.shown}
    cluster = first_with(over, FINISHED)
    if not cluster:
        return []
    end = over[cluster].conditions[FINISHED]
    family = with_variants(world, set(slices_beside(world, workload.key)))
    return [
        WorkloadEndedElsewhere(workload=key, reason=end.reason, message=end.message)
        for key in sorted(family)
        if (one := world.workloads.get(key)) is not None and not one.finished
    ]


def _going_on(
    world: DispatchState,
    workload: Workload,
    check: CheckStatus,
    dispatch: Dispatch,
    copies: dict[str, RemoteWorkloadObserved],
    at: Millis,
) -> list[Decision]:
    """A slice whose job runs by the copy of the one before: it is tried in that cluster only, and comes back if the job stops there.

    Rule: docs/rules/multikueue.md#slices
    """
    cluster = dispatch.runs_in
    own, before = copies.get(cluster), world.remotes.get(dispatch.follows, {}).get(cluster)
    until = lost_at(world, cluster)
    if until is not None:
        return _settle(workload, check, CheckState.RETRY, LOST, at) if at >= until else []
    if own is not None and _admits(own):
        if dispatch.cluster:
            return _chosen(world, workload, check, dispatch, at)
        return [ClusterChosen(workload=workload.key, check=check.name, cluster=cluster, cited=own.cited)]
    if any(EVICTED in one.conditions for one in (own, before) if one is not None):
        message = f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission'
        return _settle(workload, check, CheckState.RETRY, _previously(message, check), at)
    if before is None or dispatch.cluster:
        return _settle(workload, check, CheckState.RETRY, _previously(NO_LONGER_THERE, check), at)
    return []


def _runs_already(check: CheckStatus, dispatch: Dispatch | None, copies: dict[str, RemoteWorkloadObserved]) -> str:
    """The cluster in which it runs without a decision of this log: its object names it, or its check is Ready; empty when there is none.

    Rule: docs/rules/multikueue.md#taken-over
    """
    admitting = {cluster: one for cluster, one in copies.items() if _admits(one)}
    if dispatch is not None and dispatch.cluster:
        return dispatch.cluster if not dispatch.decision and dispatch.cluster in admitting else ""
    return first_with(admitting, ADMITTED) if check.state is CheckState.READY else ""


def _admitted(
    world: DispatchState,
    workload: Workload,
    check: CheckStatus,
    dispatch: Dispatch | None,
    copies: dict[str, RemoteWorkloadObserved],
    at: Millis,
) -> list[Decision]:
    """It runs elsewhere, as far as is known: whether it has to come back. Copies elsewhere than there are on their way out."""
    cluster = dispatch.cluster if dispatch is not None else ""
    copies = {name: one for name, one in copies.items() if name == cluster}
    finished, evicted = first_with(copies, FINISHED), first_with(copies, EVICTED)
    if finished and not evicted:
        if copies[finished].conditions[FINISHED].reason != OUT_OF_SYNC:
            return []  # Its end comes with the status of its job.
        message = f'Remote workload on worker cluster "{finished}" is out of sync with its user job, resetting for re-dispatch'
        return _settle(workload, check, CheckState.RETRY, _previously(message, check), at)
    if evicted:
        message = (
            f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission. Previously: "{check.state}"'
        )
        return _settle(workload, check, CheckState.RETRY, message, at)
    if first_with(copies, ADMITTED):
        return []
    if not cluster:
        message = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
        return _settle(workload, check, CheckState.RETRY, _previously(message, check), at)
    until = lost_at(world, cluster)
    if until is not None and at < until:
        return []
    message = NO_LONGER_THERE if until is None else LOST
    return _settle(workload, check, CheckState.RETRY, _previously(message, check), at)


def _may_preempt(
    dispatch: Dispatch, copies: dict[str, RemoteWorkloadObserved], at: Millis
) -> RemoteWorkloadObserved | None:
    """The copy whose preemption gate is opened next: that which is blocked longest, five minutes after the last one.

    Rule: docs/rules/multikueue.md#preemption
    """
    opened = {one.copy: one.at for one in dispatch.opened}
    times = [*opened.values(), *(one.opened for one in copies.values())]
    closed = {name: one for name, one in copies.items() if not one.opened and one.uid not in opened}
    found = first_with(closed, BLOCKED_ON_GATES)
    waits = any(times) and at < max(times) + ROUND
    return closed[found] if found and not waits else None


def _still_chosen(world: DispatchState, dispatch: Dispatch, copies: dict[str, RemoteWorkloadObserved]) -> bool:
    """Whether the cluster that was chosen still admits the copy; one that can't be reached may have the job already, and is waited for."""
    if not connected(world, dispatch.cluster):
        return True
    found = copies.get(dispatch.cluster)
    return found is not None and _admits(found)


def _admits(copy: RemoteWorkloadObserved) -> bool:
    return ADMITTED in copy.conditions and EVICTED not in copy.conditions


def _chosen(
    world: DispatchState, workload: Workload, check: CheckStatus, dispatch: Dispatch, at: Millis
) -> list[Decision]:
    """A cluster is chosen: the check is Ready once the job is there."""
    until = lost_at(world, dispatch.cluster)
    if until is not None:
        return _settle(workload, check, CheckState.RETRY, LOST, at) if at >= until else []
    if dispatch.refused:
        return _settle(workload, check, CheckState.PENDING, dispatch.refused, at)
    if not dispatch.synced:
        return []
    return _settle(workload, check, CheckState.READY, f'The workload was admitted on "{dispatch.cluster}"', at)


def _nominated(
    world: DispatchState,
    workload: Workload,
    check: CheckStatus,
    dispatch: Dispatch | None,
    rule: MultiKueueSettings,
    at: Millis,
) -> list[Decision]:
    """Where it is to be tried, once all other checks are Ready."""
    if any(one.state is not CheckState.READY for one in workload.checks.values() if one.name != check.name):
        return []
    config = multikueue_config(world, check.name)
    if config is None:
        return []
    before = dispatch.clusters if dispatch is not None else ()
    together = cluster_of_siblings(world, workload)
    if together or not goes_first(world, workload):
        clusters = (together,) if together else ()
        return (
            []
            if clusters == before
            else [ClustersNominated(workload=workload.key, check=check.name, clusters=clusters)]
        )
    match rule.dispatcher:
        case found if found == ALL_AT_ONCE:
            clusters = tuple(sorted(name for name in config.clusters if connected(world, name)))
        case found if found == INCREMENTAL:
            if dispatch is not None and at < dispatch.nominated_at + ROUND:
                return []
            in_order = enabled(world.settings, "MultiKueueIncrementalDispatcherRespectConfigOrder")
            more = [name for name in (config.clusters if in_order else sorted(config.clusters)) if name not in before]
            kept = [name for name in before if name in config.clusters]
            clusters = _tried_before(world, workload, dispatch, config) or (*kept, *more[: rule.step_size])
        case found if found == BY_ESTIMATE:
            step = next_of_dispatch(world, workload, check.name, dispatch, config.clusters, rule, at)
            return [] if step is None else [step]
        case _:
            clusters = _named(world, workload, config, dispatch)
    if clusters == before:
        return []
    return [ClustersNominated(workload=workload.key, check=check.name, clusters=clusters)]


def _tried_before(
    world: DispatchState, workload: Workload, dispatch: Dispatch | None, config: MultiKueueConfigObserved
) -> tuple[str, ...]:
    """Where it was tried before a choice that has fallen through: that is as far as the rounds had come."""
    lost = world.dispatches.get(workload.key) if dispatch is None else None
    return () if lost is None else tuple(name for name in lost.tried if name in config.clusters)


def _named(
    world: DispatchState, workload: Workload, config: MultiKueueConfigObserved, dispatch: Dispatch | None
) -> tuple[str, ...]:
    """What somebody else nominates; one that was chosen and is not there any more is tried again until they name others."""
    if dispatch is not None:
        return tuple(name for name in dispatch.named if name in config.clusters)
    lost = world.dispatches.get(workload.key)
    return (lost.cluster,) if lost is not None and lost.cluster else ()


def _previously(message: str, check: CheckStatus) -> str:
    return f'{message}, Previously: "{check.state}"'


def _settle(workload: Workload, check: CheckStatus, state: CheckState, message: str, at: Millis) -> list[Decision]:
    if (check.state, check.message) == (state, message):
        return []
    since = check.since if check.state is state and state is not CheckState.READY else at
    settled = CheckStatus(name=check.name, state=state, message=message, since=since, retries=check.retries)
    return [RemoteCheckSettled(workload=workload.key, check=settled)]
