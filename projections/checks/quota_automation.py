"""Whether the quota of a cluster queue follows that of the clusters in which its workloads run, and what it is by that.

Rule: docs/rules/multikueue.md#quota
"""

from typing import NamedTuple, Protocol

from events.amount import Requests, add_requests
from events.multikueue import MultiKueueConfigObserved, QuotaAutomationSettled
from events.quota import ClusterQueueObserved, FlavorQuotas, Quota, ResourceGroup
from projections.checks.multikueue import connected, is_multikueue, multikueue_config, served
from projections.checks.state import DispatchState
from projections.feature_gates import enabled
from projections.partitions.homes import owns_queue
from projections.partitions.state import PartitionState

GATE = "MultiKueueManagerQuotaAutomation"
CONDITION = GATE
"""The condition of a ClusterQueue that says so has the name of the gate."""
AUTOMATED, NOT_REQUESTED, UNSUPPORTED = "QuotaAutomated", "NotRequested", "UnsupportedConfiguration"


class AutomationState(DispatchState, PartitionState, Protocol):
    """What was told of other clusters' queues, and which queues here are decided about here."""


def is_automatic(world: DispatchState) -> bool:
    """Whether quota may follow other clusters at all: kuelog dispatches to them, and the gate is on."""
    return served(world) and enabled(world.settings, GATE)


def automation_of(world: AutomationState, name: str) -> QuotaAutomationSettled | None:
    """What is true of a cluster queue now; None where nobody asks.

    While a cluster is connected of which the queues were never told, what was decided before stays true: a quota without
    that cluster's part would be too low.
    """
    queue = world.cluster_queues.get(name)
    if queue is None or not owns_queue(world, name) or not is_automatic(world):
        return None
    check = check_of_queue(world, queue)
    if not check:
        return None
    config = multikueue_config(world, check)
    if config is None:
        return _refused(name, "The referenced MultiKueueConfig was not found.")
    if not config.automated:
        message = "MultiKueue manager quota automation has not been requested."
        return QuotaAutomationSettled(cluster_queue=name, reason=NOT_REQUESTED, message=message)
    only = _only_flavor(queue)
    if only is None:
        message = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"
        return _refused(name, message)
    counted = _counted(world, name, config)
    return world.quota_automation.get(name) if counted is None else _settled(name, only.group.resources, counted)


def check_of_queue(world: DispatchState, queue: ClusterQueueObserved) -> str:
    """The first check by which workloads of a queue run in other clusters; empty where there is none."""
    return next((rule.name for rule in queue.checks if is_multikueue(world, rule.name)), "")


def followed_local_queues(world: DispatchState) -> frozenset[str] | None:
    """Keys of the local queues whose namesakes in other clusters have to be known; None where no queue follows any."""
    if not is_automatic(world):
        return None
    queues = [
        name
        for name, queue in world.cluster_queues.items()
        if (check := check_of_queue(world, queue))
        and (config := multikueue_config(world, check)) is not None
        and config.automated
    ]
    if not queues:
        return None
    return frozenset(key for name in queues for key in world.local_queues_of.get(name, ()))


def quotas_to_set(world: AutomationState, name: str) -> tuple[Quota, ...] | None:
    """The quotas that the only flavor of a cluster queue is to have by what was decided; None where it has them, or nothing was."""
    settled, only = world.quota_automation.get(name), _only_flavor(world.cluster_queues[name])
    if settled is None or only is None:
        return None
    covered = only.group.resources
    if set(covered) != settled.nominal.keys():
        return None  # Nothing is followed, or what it covers has changed: that is decided about first.
    wanted = tuple(Quota(resource=one, nominal=settled.nominal[one]) for one in covered)
    return None if only.flavor.quotas == wanted else wanted


class _OnlyFlavor(NamedTuple):
    """The flavor of a queue that has no other one, and its group."""

    group: ResourceGroup
    flavor: FlavorQuotas


def _only_flavor(queue: ClusterQueueObserved) -> _OnlyFlavor | None:
    match queue.groups:
        case (ResourceGroup(flavors=(flavor,)) as group,):
            return _OnlyFlavor(group, flavor)
        case _:
            return None


def _counted(world: DispatchState, name: str, config: MultiKueueConfigObserved) -> dict[str, Requests] | None:
    """By cluster that is connected, what the queues have there to which namesakes of this queue's local queues lead; None while one has to tell yet."""
    doors = world.local_queues_of.get(name, {})
    found: dict[str, Requests] = {}
    for cluster in config.clusters:
        if not connected(world, cluster):
            continue
        told = world.remote_queues.get(cluster)
        if told is None:
            return None
        total: Requests = {}
        for one in told.queues:
            if any(key in doors for key in one.local_queues):
                total = add_requests(total, one.nominal)
        found[cluster] = dict(sorted(total.items()))
    return found


def _settled(name: str, covered: tuple[str, ...], by_cluster: dict[str, Requests]) -> QuotaAutomationSettled:
    total: Requests = {}
    for counted in by_cluster.values():
        total = add_requests(total, counted)
    if missing := sorted(total.keys() - set(covered)):
        told = f"manager-side coveredResources is missing resources configured on workers: [{' '.join(missing)}]"
        return _refused(name, told, by_cluster)
    return QuotaAutomationSettled(
        cluster_queue=name,
        reason=AUTOMATED,
        message="ClusterQueue quota is automatically managed based on MultiKueue workers.",
        nominal={resource: total.get(resource, 0) for resource in covered},
        by_cluster=by_cluster,
    )


def _refused(name: str, message: str, by_cluster: dict[str, Requests] | None = None) -> QuotaAutomationSettled:
    return QuotaAutomationSettled(cluster_queue=name, reason=UNSUPPORTED, message=message, by_cluster=by_cluster or {})
