"""The clusters that workloads are sent to (MultiKueue): whether each is reached, which queues lead there, who runs there, who is tried there.

Rule: docs/rules/multikueue.md#told
"""

import msgspec

from events.event import Millis
from events.multikueue import MultiKueueClusterObserved
from projections.checks.multikueue import is_multikueue, multikueue_config, standing
from projections.explanation.elsewhere import standing_in
from projections.world import World


class SentWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that runs in a cluster, or is tried there."""

    workload: str
    answer: str
    """What the cluster answers about its copy, or why it answers nothing."""
    decision: str = ""
    """What chose the cluster, as `partition/sequence`; empty while it is tried."""


class WorkerCluster(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster."""

    name: str
    known: bool
    """Whether there is a MultiKueueCluster of this name; if not, only a MultiKueueConfig names it."""
    active: bool
    """Whether it is connected."""
    since: Millis
    """Since when it is or is not."""
    location: str
    """Where its kubeconfig is."""
    checks: tuple[str, ...]
    """The admission checks that lead to it."""
    runs: tuple[SentWorkload, ...]
    tried: tuple[SentWorkload, ...]


class DispatchingCheck(msgspec.Struct, frozen=True, kw_only=True):
    """An admission check that leads to clusters."""

    name: str
    active: bool
    reason: str
    message: str
    clusters: tuple[str, ...]
    """In the order in which they are nominated a few at a time."""
    queues: tuple[str, ...]
    """The cluster queues whose workloads need it."""


class WorkerClusters(msgspec.Struct, frozen=True, kw_only=True):
    """All clusters and the checks that lead to them, by name."""

    clusters: tuple[WorkerCluster, ...]
    checks: tuple[DispatchingCheck, ...]


def worker_clusters(world: World) -> WorkerClusters:
    """The clusters of a world, with the workloads of each in the order of their names."""
    checks = [_check(world, name) for name in sorted(world.checks) if is_multikueue(world, name)]
    runs: dict[str, list[SentWorkload]] = {}
    tried: dict[str, list[SentWorkload]] = {}
    for key, dispatch in sorted(world.dispatches.items()):
        workload = world.workloads.get(key)
        if workload is None or workload.finished:
            continue
        for name in (dispatch.cluster,) if dispatch.cluster else dispatch.clusters:
            answer = standing_in(world, workload, name)
            sent = SentWorkload(workload=key, answer=answer, decision=dispatch.decision if dispatch.cluster else "")
            (runs if dispatch.cluster else tried).setdefault(name, []).append(sent)
    names = {*world.multikueue_clusters, *(name for one in checks for name in one.clusters), *runs, *tried}
    found = [
        _cluster(
            name,
            world.multikueue_clusters.get(name),
            tuple(one.name for one in checks if name in one.clusters),
            tuple(runs.get(name, ())),
            tuple(tried.get(name, ())),
        )
        for name in sorted(names)
    ]
    return WorkerClusters(clusters=tuple(found), checks=tuple(checks))


def _cluster(
    name: str,
    found: MultiKueueClusterObserved | None,
    checks: tuple[str, ...],
    runs: tuple[SentWorkload, ...],
    tried: tuple[SentWorkload, ...],
) -> WorkerCluster:
    return WorkerCluster(
        name=name,
        known=found is not None,
        active=found is not None and found.active,
        since=0 if found is None else found.since,
        location="" if found is None else _location(found),
        checks=checks,
        runs=runs,
        tried=tried,
    )


def _location(found: MultiKueueClusterObserved) -> str:
    return f"ClusterProfile {found.profile}" if found.profile else f"{found.location_type} {found.location}"


def _check(world: World, name: str) -> DispatchingCheck:
    active, reason, message = standing(world, name)
    config = multikueue_config(world, name)
    queues = sorted(one.name for one in world.cluster_queues.values() if any(rule.name == name for rule in one.checks))
    return DispatchingCheck(
        name=name,
        active=active,
        reason=reason,
        message=message,
        clusters=() if config is None else config.clusters,
        queues=tuple(queues),
    )
