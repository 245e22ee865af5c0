"""The dispatcher that asks beforehand: how clusters are asked what would happen, and which is preferred by what they answer.

Rule: docs/rules/multikueue.md#estimates
"""

from typing import assert_never

from events.api.labels import ESTIMATE, LOCALITY
from events.event import Millis
from events.json_object import JsonObject
from events.multikueue import (
    ClusterOrder,
    ClustersNominated,
    EstimatesAsked,
    MultiKueueSettings,
    RemoteWorkloadObserved,
)
from events.start_estimate import ASKED, ForeseenStart, StartEstimate
from projections.checks.dispatch import ROUND, Dispatch, asks_alike
from projections.checks.multikueue import connected
from projections.checks.state import DispatchState
from projections.explanation.elsewhere import foreseen_words
from projections.workloads.lifecycle import Workload

_STARTS = tuple(ForeseenStart)


def question(copy: JsonObject) -> JsonObject:
    """A copy that asks what would happen: it may not be admitted."""
    meta = copy["metadata"]
    annotations = {**meta["annotations"], ESTIMATE: ASKED}
    return {**copy, "metadata": {**meta, "annotations": annotations}, "spec": {**copy["spec"], "active": False}}


def asks_the_same(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy is a question about what the workload asks for."""
    return not copy.active and asks_alike(workload, copy)


def answers_of(world: DispatchState, workload: Workload, asked: tuple[str, ...]) -> dict[str, StartEstimate | None]:
    """By cluster that is asked and connected, what it answers; None where it has not yet."""
    copies = world.remotes.get(workload.key, {})
    return {
        name: one.estimate if (one := copies.get(name)) is not None and asks_the_same(workload, one) else None
        for name in asked
        if connected(world, name)
    }


def next_of_dispatch(
    world: DispatchState,
    workload: Workload,
    check: str,
    dispatch: Dispatch | None,
    clusters: tuple[str, ...],
    rule: MultiKueueSettings,
    at: Millis,
) -> EstimatesAsked | ClustersNominated | None:
    """Ask first, nominate once all have answered or the time is over, and the next ones where none of these admits it in time."""
    reached = tuple(name for name in clusters if connected(world, name))
    if dispatch is None or not (dispatch.asked or dispatch.clusters):
        return EstimatesAsked(workload=workload.key, check=check, clusters=reached) if reached else None
    if dispatch.asked:
        found = answers_of(world, workload, dispatch.asked)
        if any(one is None for one in found.values()) and at < dispatch.nominated_at + rule.estimate_timeout:
            return None
        if not found:
            return EstimatesAsked(workload=workload.key, check=check, clusters=reached) if reached else None
        return _nominated(world, workload, check, found, rule)
    if not dispatch.later or at < dispatch.nominated_at + ROUND:
        return None
    nominated = (*dispatch.clusters, dispatch.later[0])
    return ClustersNominated(
        workload=workload.key, check=check, clusters=nominated, later=dispatch.later[1:], why=dispatch.why
    )


def _nominated(
    world: DispatchState,
    workload: Workload,
    check: str,
    found: dict[str, StartEstimate | None],
    rule: MultiKueueSettings,
) -> ClustersNominated:
    """The one that is preferred; besides, those that nothing is known of, where nobody says that it starts there.

    Where nobody has answered at all it is tried everywhere.
    """
    unknown = tuple(name for name, one in found.items() if one is None)
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        why = "no cluster has answered in time"
        return ClustersNominated(workload=workload.key, check=check, clusters=tuple(sorted(found)), why=why)
    ranked = sorted(known, key=lambda name: _rank(world, workload, name, known[name], rule))
    best = ranked[0]
    starts = any(one.start is not ForeseenStart.LATER for one in known.values())
    counts = ClusterOrder.SPREAD in rule.order
    said = "; ".join(
        f"{name} {_told(one)}" + (f", {_sent(world, workload, name)} of the jobs from here run in it" if counts else "")
        for name, one in found.items()
    )
    why = f"{best} is preferred by {', '.join(rule.order)}: {said}"
    along = () if starts else unknown
    later = (*ranked[1:], *(unknown if starts else ()))
    return ClustersNominated(workload=workload.key, check=check, clusters=(best, *along), later=tuple(later), why=why)


def _told(found: StartEstimate | None) -> str:
    return "has not answered" if found is None else foreseen_words(found)


def _rank(
    world: DispatchState, workload: Workload, cluster: str, found: StartEstimate, rule: MultiKueueSettings
) -> tuple[int, ...]:
    """The smaller the better; clusters that are equal in all of it stay in the order of the list."""
    key: list[int] = []
    for order in rule.order:
        key.extend(_key(world, workload, cluster, found, order))
    return tuple(key)


def _key(
    world: DispatchState, workload: Workload, cluster: str, found: StartEstimate, order: ClusterOrder
) -> tuple[int, ...]:
    there = world.multikueue_clusters[cluster]
    match order:
        case ClusterOrder.EARLIEST_START:
            return _STARTS.index(found.start), found.others
        case ClusterOrder.PRICE:
            return (1, 0) if there.price is None else (0, there.price)
        case ClusterOrder.LOCALITY:
            wanted = workload.spec.labels.get(LOCALITY, "")
            return (0 if wanted and wanted == there.locality else 1,)
        case ClusterOrder.SPREAD:
            return (_sent(world, workload, cluster),)
        case _:
            assert_never(order)


def _sent(world: DispatchState, workload: Workload, cluster: str) -> int:
    """How many jobs from here run in a cluster: those of all partitions when it answered, and those of this one by now, where these are more."""
    copy = world.remotes.get(workload.key, {}).get(cluster)
    here = sum(1 for one in world.dispatches.values() if one.cluster == cluster)
    return max(here, (copy.sent if copy is not None else None) or 0)
