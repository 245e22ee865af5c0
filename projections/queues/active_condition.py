"""The condition Active of cluster queues and local queues: whether they take anything in.

Rule: docs/rules/queues.md#active
"""

import msgspec

from events.api.check_controllers import MULTIKUEUE
from events.api.check_controllers import PROVISIONING as PROVISIONING_CONTROLLER
from events.quota import ClusterQueueObserved, StopPolicy
from projections.budgets.rates import CONTROLLER as BUDGET_CONTROLLER
from projections.checks.multikueue import is_multikueue, misused, served, standing
from projections.checks.provisioning import config_problem
from projections.checks.state import ProvisioningState
from projections.configuration import Configuration
from projections.feature_gates import enabled
from projections.queues.state import QueueState


class ActiveCondition(msgspec.Struct, frozen=True):
    """The condition Active: its status, reason and message."""

    active: bool
    reason: str
    message: str


OURS = (BUDGET_CONTROLLER, PROVISIONING_CONTROLLER)
"""Controllers of checks that kuelog always answers itself."""
OPEN = ActiveCondition(True, "Ready", "Can admit new workloads")
OPEN_LOCAL_QUEUE = ActiveCondition(True, "Ready", "Can submit new workloads to localQueue")
STOPPED_LOCAL_QUEUE = ActiveCondition(False, "Stopped", "LocalQueue is stopped")
ACTIVE_CHECK = ActiveCondition(True, "Active", "The admission check is active")
INACTIVE_CHECK = ActiveCondition(False, "Inactive", "Its controller does not say that it is active")
NOT_TO_CLUSTER_QUEUE = "Can't submit new workloads to clusterQueue"
_NO_MORE = "Can't admit new workloads"


def inactive_reasons(world: QueueState, name: str) -> list[tuple[str, str]]:
    """Why a cluster queue takes nothing in: reason and what is the matter, first the one to show."""
    queue = world.cluster_queues[name]
    found: list[tuple[str, str]] = []
    if queue.stop is not StopPolicy.NONE:
        found.append(("Stopped", "is stopped"))
    if world.quota.cyclic(name):
        found.append(("CohortCycle", f"cohort {queue.cohort} is part of a cycle"))
    missing = [name for name in queue.flavors if name not in world.flavors]
    if missing:
        found.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}"))
    return [*found, *_checks_amiss(world, queue), *_topologies_missing(world, queue)]


def _checks_amiss(world: ProvisioningState, queue: ClusterQueueObserved) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if not queue.checks:
        return found
    absent = [rule.name for rule in queue.checks if rule.name not in world.checks]
    if absent:
        found.append(("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(absent)}"))
    sleeping = [
        rule.name for rule in queue.checks if rule.name in world.checks and not check_active(world, rule.name).active
    ]
    if sleeping:
        found.append(("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(sleeping)}"))
    return [*found, *misused(world, queue)] if served(world) else found


def _topologies_missing(world: Configuration, queue: ClusterQueueObserved) -> list[tuple[str, str]]:
    """Flavors of a queue whose topology is not there (docs/rules/topology.md#topology-not-found)."""
    names = dict.fromkeys(queue.flavors)
    flavors = [flavor for name in names if (flavor := world.flavors.get(name)) is not None and flavor.topology]
    if not flavors or not enabled(world.settings, "TopologyAwareScheduling"):
        return []
    if any(is_multikueue(world, rule.name) for rule in queue.checks):
        return []
    return [
        ("TopologyNotFound", f'there is no Topology "{one.topology}" for TAS flavor "{one.name}"')
        for one in flavors
        if one.topology not in world.topologies
    ]


def is_ours(world: Configuration, check: str) -> bool:
    """Whether a check has a controller of ours, which says whether it is active."""
    controller = world.checks[check].controller
    return controller in OURS or (controller == MULTIKUEUE and served(world))


def check_active(world: ProvisioningState, check: str) -> ActiveCondition:
    """Whether a check is active: by what is known of ours, by what its controller says of any other."""
    found = world.checks[check]
    if not is_ours(world, check):
        return ACTIVE_CHECK if found.active else INACTIVE_CHECK
    if found.controller == MULTIKUEUE:
        return ActiveCondition(*standing(world, check))
    problem = config_problem(world, check) if found.controller == PROVISIONING_CONTROLLER else ""
    return ActiveCondition(False, "BadParametersRef", problem) if problem else ACTIVE_CHECK


def cluster_queue_active(world: QueueState, name: str) -> ActiveCondition:
    """The condition Active of a cluster queue; all reasons against it are in one message, as in Kueue."""
    if world.cluster_queues[name].terminating:
        return ActiveCondition(False, "Terminating", f"{_NO_MORE}; clusterQueue is terminating")
    reasons = inactive_reasons(world, name)
    if not reasons:
        return OPEN
    return ActiveCondition(False, reasons[0][0], f"{_NO_MORE}: {', '.join(message for _, message in reasons)}.")


def why_closed(world: QueueState, name: str) -> str:
    """What keeps a cluster queue from taking anything in, with what its checks that are not active say of themselves; empty where it does."""
    queue = world.cluster_queues[name]
    found = ["is terminating"] if queue.terminating else [message for _, message in inactive_reasons(world, name)]
    checks = [rule.name for rule in queue.checks if rule.name in world.checks]
    asleep = [f"{one}: {told.message}" for one in checks if not (told := check_active(world, one)).active]
    return "; ".join([*found, *asleep])


def takes_in(world: QueueState, name: str) -> bool:
    """Whether a cluster queue admits at all."""
    return not world.cluster_queues[name].terminating and not inactive_reasons(world, name)


def local_queue_active(world: QueueState, key: str) -> ActiveCondition:
    """The condition Active of a local queue."""
    local_queue = world.local_queues[key]
    if local_queue.stop is not StopPolicy.NONE:
        return STOPPED_LOCAL_QUEUE
    if local_queue.cluster_queue not in world.cluster_queues:
        return ActiveCondition(False, "ClusterQueueDoesNotExist", NOT_TO_CLUSTER_QUEUE)
    if not takes_in(world, local_queue.cluster_queue):
        return ActiveCondition(False, "ClusterQueueIsInactive", NOT_TO_CLUSTER_QUEUE)
    return OPEN_LOCAL_QUEUE
