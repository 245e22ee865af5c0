"""Where a workload was sent, what each cluster answers about its copy, and which one it runs in and why, in words.

Rule: docs/rules/multikueue.md#told
"""

from collections.abc import Mapping
from typing import assert_never

from events.catalogue import AnyEvent
from events.citation import CitedCommit
from events.multikueue import (
    ClustersNamed,
    KubeConfigPlace,
    MultiKueueClusterObserved,
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.quantity import from_units
from events.start_estimate import ForeseenStart, StartEstimate
from events.timestamp import format_timestamp
from projections.checks.dispatch import Dispatch, in_sync, is_outdated, lost_at, stays_elsewhere
from projections.checks.multikueue import connected
from projections.checks.state import DispatchState
from projections.workloads.lifecycle import Workload
from projections.workloads.multikueue_check import check_of

_STAGES = (("Finished", "finished"), ("Evicted", "evicted"), ("Admitted", "admitted"), ("QuotaReserved", "holds quota"))
"""Conditions of a copy and how each is said, what counts most first."""
_WHY = ("Finished", "Evicted")
"""Conditions whose reason says more than their type."""


def about_clusters(event: AnyEvent) -> tuple[str, str] | None:
    """An event about other clusters as a moment of a life, what and detail; None for all others."""
    match event:
        case MultiKueueClusterObserved():
            since = f" since {format_timestamp(event.since)}" if event.since else ""
            return ("connected" if event.active else "not connected"), f"by {_way_to(event)}{since}"
        case RemoteWorkloadObserved():
            return "cluster answers", f"{event.cluster}: {answer(event)}"
        case RemoteWorkloadGone():
            return "cluster answers", f"{event.cluster}: has no copy any more"
        case ClustersNamed():
            return "clusters named", ", ".join(event.clusters) or "none"
        case RemoteJobSynced():
            return "job is there", f"{event.cluster}: chosen at {event.decision}"
        case RemoteJobRefused():
            return "job not made there", f"{event.cluster}: {event.message}"
        case _:
            return _about_quota(event)


def _about_quota(event: AnyEvent) -> tuple[str, str] | None:
    match event:
        case RemoteQueuesObserved():
            there = (f"{one.name} {in_words(one.nominal)}" for one in event.queues)
            return "quota told", f"{event.cluster}: {', '.join(there) or 'no queue that counts'}"
        case QuotaAutomationSettled(nominal=nominal) if nominal:
            parts = (f"{name} {in_words(counted)}" for name, counted in event.by_cluster.items())
            return "quota follows", f"{in_words(nominal)}: {', '.join(parts) or 'no cluster is connected'}"
        case QuotaAutomationSettled():
            return "quota does not follow", f"{event.reason}: {event.message}"
        case QuotaAutomationEnded():
            return "quota follows nobody", ""
        case _:
            return None


def in_words(amounts: Mapping[str, int]) -> str:
    """Amounts of resources as people write them."""
    return " ".join(f"{name}={from_units(name, amount)}" for name, amount in amounts.items()) or "nothing"


def _way_to(cluster: MultiKueueClusterObserved) -> str:
    """How a cluster is reached."""
    if cluster.profile:
        return f"ClusterProfile {cluster.profile}"
    return f"{'Secret' if cluster.location_type is KubeConfigPlace.SECRET else 'file'} {cluster.location}"


def answer(copy: RemoteWorkloadObserved) -> str:
    """How the copy in a cluster stands, by that cluster's own clock."""
    if copy.estimate is not None and not copy.active:
        return foreseen_words(copy.estimate)
    for kind, words in _STAGES:
        found = copy.conditions.get(kind)
        if found is not None:
            why = ": ".join(part for part in (found.reason, found.message) if part) if kind in _WHY else ""
            return f"{words} since {format_timestamp(found.since)}{f' ({why})' if why else ''}{by_what(copy.cited)}"
    return f"waits for quota{by_what(copy.cited)}" if copy.active else "stopped from here"


def foreseen_words(found: StartEstimate) -> str:
    """What a cluster answers that is asked beforehand."""
    match found.start:
        case ForeseenStart.NOW:
            return "would start it now"
        case ForeseenStart.PREEMPTING:
            return f"would start it by preempting {found.others}"
        case ForeseenStart.LATER:
            return f"would have it wait behind {found.others}"
        case _:
            assert_never(found.start)


def by_what(cited: CitedCommit | None) -> str:
    """The commit of a cluster's own log that is cited, behind what it says; empty where none is."""
    return f", by {cited.place} of its log" if cited is not None else ""


def chosen(world: DispatchState, workload: Workload) -> str:
    """Where a workload runs, or is to run, and by which decision; empty where no cluster is chosen."""
    dispatch = world.dispatches.get(workload.key)
    if dispatch is not None and dispatch.follows and not dispatch.cluster:
        return f"cluster {dispatch.runs_in} has its job, by the copy of the slice before, {dispatch.follows}; this one is tried there and nowhere else"
    if dispatch is None or not dispatch.cluster:
        return ""
    if not dispatch.decision:
        looked = "its copy there is looked at" if dispatch.unseen else "its copy there is not admitted"
        return f"cluster {dispatch.cluster} is where it runs by its Workload, of a log that is not this one; {looked}"
    job = "its job is there" if dispatch.synced else f"its job is not there: {dispatch.refused or 'not made yet'}"
    return f"cluster {dispatch.cluster} was {_decided(dispatch)}; {job}{_preferred(dispatch)}"


def has_run_in(world: DispatchState, workload: Workload) -> str:
    """Where a workload that has ended has run, and by which decision; empty where its job was in no other cluster."""
    dispatch = world.dispatches.get(workload.key)
    if dispatch is None or not dispatch.synced or not dispatch.cluster:
        return ""
    return f"it ran in cluster {dispatch.cluster}, which was {_decided(dispatch)}{_preferred(dispatch)}"


def _decided(dispatch: Dispatch) -> str:
    """By which decision of this log a cluster was chosen, and why."""
    how = "taken over" if dispatch.taken_over else "chosen"
    why = "it ran there already" if dispatch.taken_over else "it admitted its copy first"
    return f"{how} at {dispatch.decision}, as {why}{by_what(dispatch.cited)}"


def _preferred(dispatch: Dispatch) -> str:
    return f"; it was tried just there as {dispatch.why}" if dispatch.why else ""


def answers(world: DispatchState, workload: Workload) -> tuple[str, ...]:
    """By name, what each cluster answers in which a workload is tried or runs; empty where it is sent nowhere."""
    dispatch = world.dispatches.get(workload.key)
    if dispatch is None or not (check_of(world.checks, workload) or stays_elsewhere(world.dispatches, workload)):
        return ()
    names = (dispatch.cluster,) if dispatch.cluster else dispatch.clusters or dispatch.asked
    return tuple(f"cluster {name}: {standing_in(world, workload, name)}" for name in sorted(names))


def standing_in(world: DispatchState, workload: Workload, cluster: str) -> str:
    """What a cluster answers about the copy of a workload, or why it answers nothing."""
    if not connected(world, cluster):
        return _away(world, workload, cluster)
    copy = world.remotes.get(workload.key, {}).get(cluster)
    if copy is None:
        return "no copy seen there yet"
    if world.dispatches[workload.key].asked and not copy.active:
        return answer(copy) if copy.estimate is not None else "is asked what would happen"
    if in_sync(workload, copy) and is_outdated(workload, copy):
        return f"{answer(copy)}; its copy is about to get the size and the priority of now"
    return answer(copy) if in_sync(workload, copy) else f"its copy asks for something else; {answer(copy)}"


def _away(world: DispatchState, workload: Workload, cluster: str) -> str:
    found = world.multikueue_clusters.get(cluster)
    if found is None:
        return "there is no such MultiKueueCluster"
    until, runs = lost_at(world, cluster), world.dispatches[workload.key].runs_in == cluster
    given_up = f", given up at {format_timestamp(until)}" if runs and until else ""
    return f"out of reach since {format_timestamp(found.since)}{given_up}"
