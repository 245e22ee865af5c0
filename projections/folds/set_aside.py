"""Folding that a service sets an object aside, and that it is tried again: after a change of it or of what it depends on."""

import msgspec

from events.catalogue import AnyEvent
from events.configuration import ConfigurationObserved
from events.control import ObjectRefused, ObjectRemoved
from events.device import CardQuotaObserved, DevicesRegistered, NodeObserved, PodObserved
from events.device_config import DeviceConfigObserved
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.setting_aside import SetAside
from events.settings import SettingsObserved
from events.workload import (
    CheckReported,
    ConditionStatus,
    DecidedElsewhere,
    PodsReclaimed,
    PreemptionGateReported,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.log_position import LogPosition
from projections.preemption.requested import end_request
from projections.preemption.state import PreemptionState
from projections.quota.state import QuotaState
from projections.set_aside.records import ADMITTER, LEFT_ALONE, Aside, Scope, aside_key, asides_of
from projections.workloads.lifecycle import condition_at, true_condition, with_condition, with_news

SET_ASIDE = "SetAside"
"""The condition of a workload that a service has set aside."""
TAKEN_UP = "TakenUpAgain"
_LEFT_ALONE = "The {} failed on this workload and leaves it alone until it or its queues change"


def set_aside(world: PreemptionState, event: SetAside, position: LogPosition) -> None:
    """Fold that a service sets an object aside; a workload gets the condition SetAside."""
    scope, name = scope_of(event)
    workload = world.workloads.get(name) if scope is Scope.WORKLOAD else None
    if scope is Scope.WORKLOAD and workload is None and not world.cards.attempts_of(name):
        return
    aside = Aside(
        service=event.service,
        scope=scope,
        name=name,
        reason=event.reason,
        rules=event.rules,
        since=position.at,
        sequence=position.sequence,
    )
    world.trail.put(world.aside, aside_key(event.service, scope, name), aside)
    if workload is not None:
        message = f"{_LEFT_ALONE.format(event.service)}: {event.reason}"
        condition = true_condition(SET_ASIDE, "DecisionFailed", message, workload, position)
        shown = with_news(with_condition(workload, condition), position, SET_ASIDE, message, warning=True)
        world.put_workload(msgspec.structs.replace(shown, decided=position.sequence))
        if event.service == ADMITTER and workload.line:
            end_request(world.requests, world.answered, world.trail, workload.key)
            world.lines.of(workload.line).park(world.trail, workload.key, LEFT_ALONE)


def scope_of(event: SetAside) -> tuple[Scope, str]:
    """Kind and key of the object that an event sets aside."""
    if event.workload:
        return Scope.WORKLOAD, event.workload
    named = ((Scope.TREE, event.tree), (Scope.CARD, event.card), (Scope.POD, event.pod), (Scope.FLAVOR, event.flavor))
    return next((one for one in named if one[1]), (Scope.NODE, event.node))


def take_up_again(world: PreemptionState, event: AnyEvent, position: LogPosition) -> None:
    """Let objects that are set aside be tried again, if this event changes them or what they depend on."""
    if not world.aside:
        return
    for key in sorted(world.aside):
        if _concerns(world, event, world.aside[key]):
            _take_up(world, key, position)


def _concerns(world: QuotaState, event: AnyEvent, aside: Aside) -> bool:  # noqa: PLR0911 - one case after the other
    match event:
        case (
            WorkloadSubmitted()
            | WorkloadOwned()
            | DecidedElsewhere()
            | WorkloadChanged()
            | WorkloadDeleted()
            | WorkloadFinished()
            | WorkloadSwitched()
            | PodsReclaimed()
            | CheckReported()
            | PreemptionGateReported()
        ):
            return aside.scope is Scope.WORKLOAD and aside.name == event.workload
        case LocalQueueObserved():
            workload = world.workloads.get(aside.name) if aside.scope is Scope.WORKLOAD else None
            return workload is not None and workload.local_queue == f"{event.namespace}/{event.name}"
        case ClusterQueueObserved():
            return aside.scope in (Scope.TREE, Scope.FLAVOR) or _tree_of(world, aside) == world.quota.root_of(
                event.name
            )
        case NodeObserved():
            return aside.scope is Scope.NODE and aside.name == event.name
        case DevicesRegistered():
            if aside.scope is Scope.CARD:
                return any(one.uuid == aside.name for one in event.cards)
            return aside.scope is Scope.FLAVOR or (aside.scope is Scope.NODE and aside.name == event.node)
        case PodObserved():
            if aside.scope is Scope.CARD:
                return any(share.uuid == aside.name for shares in event.shares for share in shares)
            return aside.scope is Scope.POD and aside.name == f"{event.namespace}/{event.name}"
        case (
            ConfigurationObserved()
            | CardQuotaObserved()
            | DeviceConfigObserved()
            | SettingsObserved()
            | ObjectRemoved()
            | ObjectRefused()
        ):
            return True
        case _:
            return False


def _tree_of(world: QuotaState, aside: Aside) -> str | None:
    workload = world.workloads.get(aside.name) if aside.scope is Scope.WORKLOAD else None
    queue = world.cluster_queue_of(workload) if workload is not None else None
    return world.quota.root_of(queue.name) if queue is not None else None


def _take_up(world: PreemptionState, key: str, position: LogPosition) -> None:
    aside = world.aside[key]
    world.trail.drop(world.aside, key)
    workload = world.workloads.get(aside.name) if aside.scope is Scope.WORKLOAD else None
    if aside.scope is Scope.TREE:
        for queue in world.quota.members(aside.name):
            world.quota.touch(queue)
    if aside.scope is Scope.CARD:
        world.cards.dirty_cards[aside.name] = None  # A hint, as all that is dirty.
    if workload is None or asides_of(world.aside, Scope.WORKLOAD, aside.name):
        return
    message = "It or what it depends on has changed: it is tried again"
    condition = condition_at(SET_ASIDE, ConditionStatus.FALSE, TAKEN_UP, message, workload, position)
    world.put_workload(with_condition(workload, condition))
    if workload.key in world.requests:
        world.request_work.mark_dirty(workload.key)
