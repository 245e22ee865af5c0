"""Folding what is asked of a cluster autoscaler, and what the cluster shows of it."""

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRefused, ObjectRemoved
from events.provisioning import (
    ProvisioningConfigObserved,
    ProvisioningDropped,
    ProvisioningOrdered,
    ProvisioningRejected,
    ProvisioningRequestObserved,
)
from events.workload import CheckStatus
from projections.checks.provisioning import CONFIG_KIND
from projections.checks.state import ProvisioningState
from projections.folds.refused_objects import accept
from projections.log_position import LogPosition
from projections.queues.retry import retry_users_of_check
from projections.queues.state import QueueState
from projections.work_queue import WorkQueue
from projections.workloads.lifecycle import Provisioning, Workload, with_news

ProvisioningEvent: TypeAlias = (
    ProvisioningConfigObserved
    | ProvisioningRequestObserved
    | ProvisioningRejected
    | ProvisioningOrdered
    | ProvisioningDropped
)


def evolve_provisioning(world: QueueState, event: ProvisioningEvent, position: LogPosition) -> None:
    """Fold one such event; one about a workload that is gone changes nothing of it."""
    match event:
        case ProvisioningConfigObserved():
            world.trail.put(world.provisioning_configs, event.name, event)
            accept(world, CONFIG_KIND, "", event.name)
            _retry_users_of_config(world, event.name)
        case ProvisioningRequestObserved():
            accept(world, "ProvisioningRequest", event.namespace, event.name)
            _see(world, event)
        case ProvisioningRejected() | ProvisioningOrdered() | ProvisioningDropped():
            workload = world.workloads.get(event.workload)
            if workload is not None:
                world.put_workload(_evolved(world.provisioning_requests, workload, event, position))
        case _:
            assert_never(event)


def miss_provisioning(world: QueueState, event: AnyEvent) -> None:
    """Fold that a configuration or a request is gone, or that a configuration can't be read."""
    match event:
        case ObjectRemoved(kind="ProvisioningRequestConfig"):
            world.trail.drop(world.provisioning_configs, event.name)
            _retry_users_of_config(world, event.name)
        case ObjectRefused(kind="ProvisioningRequestConfig"):
            _retry_users_of_config(world, event.name)
        case ObjectRemoved(kind="ProvisioningRequest"):
            _lose(world, f"{event.namespace}/{event.name}")
        case _:
            pass


def _evolved(
    requests: Mapping[str, ProvisioningRequestObserved],
    workload: Workload,
    event: ProvisioningRejected | ProvisioningOrdered | ProvisioningDropped,
    position: LogPosition,
) -> Workload:
    match event:
        case ProvisioningRejected():
            asked = {
                name: replace(one, rejected=event.message) if one.order.request == event.request else one
                for name, one in workload.provisioning.items()
            }
            return replace(workload, provisioning=asked)
        case ProvisioningOrdered():
            return _ordered(requests.get(f"{workload.namespace}/{event.request}"), workload, event, position)
        case ProvisioningDropped():
            left = {name: one for name, one in workload.provisioning.items() if name != event.check}
            return replace(workload, provisioning=left, decided=position.sequence)
        case _:
            assert_never(event)


def _ordered(
    before: ProvisioningRequestObserved | None, workload: Workload, order: ProvisioningOrdered, position: LogPosition
) -> Workload:
    asked = Provisioning(
        order=order,
        decision=f"{position.partition}/{position.sequence}",
        before=before.uid if before is not None else "",
    )
    check = CheckStatus(name=order.check, since=position.at, decided=position.sequence, retries=order.attempt - 1)
    noted = with_news(
        workload, position, "ProvisioningRequestCreated", f'Created ProvisioningRequest: "{order.request}"'
    )
    return replace(
        noted,
        provisioning={**workload.provisioning, order.check: asked},
        checks={**workload.checks, order.check: check},
        decided=position.sequence,
    )


def _retry_users_of_config(world: QueueState, config: str) -> None:
    for name, check in sorted(world.checks.items()):
        found = check.parameters
        if found is not None and (found.kind, found.name) == (CONFIG_KIND, config):
            retry_users_of_check(world, name)


def _see(world: ProvisioningState, event: ProvisioningRequestObserved) -> None:
    key = f"{event.namespace}/{event.name}"
    _lose(world, key)
    world.trail.put(world.provisioning_requests, key, event)
    if event.workload not in world.provisioning_of:
        world.trail.put(world.provisioning_of, event.workload, {})
    world.trail.put(world.provisioning_of[event.workload], key, None)
    _review(world.workloads, world.work, event.workload)


def _lose(world: ProvisioningState, key: str) -> None:
    known = world.provisioning_requests.get(key)
    if known is None:
        return
    world.trail.drop(world.provisioning_requests, key)
    world.trail.drop(world.provisioning_of[known.workload], key)
    if not world.provisioning_of[known.workload]:
        world.trail.drop(world.provisioning_of, known.workload)
    _review(world.workloads, world.work, known.workload)


def _review(workloads: Mapping[str, Workload], work: WorkQueue, workload: str) -> None:
    if workload in workloads:
        work.mark_dirty(workload)
