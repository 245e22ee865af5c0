"""The one step of every fold: state and event in, state out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from events.billing import AccountsSet, CorrectionEntered, ExchangeRateSet, MonthClosed, PriceListSet
from events.budget import BudgetRenewed, BudgetThresholdReached, BudgetUsePassedOn, BudgetUseTold
from events.catalogue import AnyEvent
from events.commit import Sighting
from events.control import ClockScaled, EpochStarted, LogPartitioned, Quarantined, ResourceVersionsRestarted
from events.event import Millis
from events.partition_map import PartitionForked, PartitionMapObserved
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.setting_aside import SetAside
from events.settings import SettingsObserved
from events.workload import WorkloadDeleted
from events.workload_facts import WorkloadFact
from projections.budgets.counting import follow as count_in_budgets
from projections.budgets.counting import keep_budgets, tell_renewal, tell_threshold
from projections.budgets.partitions import hear, note_told
from projections.fair_sharing.admission_usage import follow as count_past_usage
from projections.fair_sharing.admission_usage import keep_ledgers, settle_all
from projections.folds.admission import AdmissionEvent, evolve_admission
from projections.folds.claims import ClaimEvent, evolve_claims
from projections.folds.devices import DeviceEvent, evolve_devices
from projections.folds.dispatch import DispatchEvent, evolve_dispatch, miss_dispatch
from projections.folds.forks import observe_fork
from projections.folds.lines import LineEvent, evolve_lines
from projections.folds.objects import ObjectEvent, evolve_objects
from projections.folds.partitions import give_home, observe_map, placed
from projections.folds.provisioning import ProvisioningEvent, evolve_provisioning, miss_provisioning
from projections.folds.quota_automation import (
    QuotaAutomationEvent,
    evolve_quota_automation,
    miss_automation,
    place_automation,
)
from projections.folds.set_aside import set_aside, take_up_again
from projections.folds.slices import SliceEvent, evolve_slices
from projections.folds.upkeep import UpkeepEvent, evolve_upkeep
from projections.folds.variants import VariantEvent, evolve_variants, evolve_workload_fact
from projections.folds.workloads import forget_written
from projections.log_position import LogPosition
from projections.partitions.homes import is_foreign
from projections.queues.order import order_anew
from projections.workloads.slices import slices_beside
from projections.world import World

Fold: TypeAlias = Callable[[World, Any, LogPosition], None]
"""Folds the events of one room into the world."""


def evolve_sighting(world: World, sighting: Sighting, position: LogPosition) -> None:
    """Fold an observed fact, unless something newer is known of the object that it is about."""
    if is_foreign(world, sighting.fact):
        return
    if world.partition_map:
        world.versions.forget_long_gone(position.at)
    if world.versions.take(sighting.about, sighting.fact, position.at):
        evolve(world, sighting.fact, position)


def evolve(world: World, event: AnyEvent, position: LogPosition) -> None:
    """Fold one event into the world; what the event does not touch stays as it is."""
    if isinstance(event, SettingsObserved):
        settle_all(world.settings, world.ledgers, world.trail, position.at)
    beside = _of_the_same_job(world, event)
    # Asking for one class after the other costs more than most folds: there are some hundred of them.
    FOLDS[type(event)](world, event, position)
    take_up_again(world, event, position)
    miss_provisioning(world, event)
    miss_dispatch(world, event, position, beside)
    for cluster_queue in keep_ledgers(world, event, position.at):
        order_anew(world, cluster_queue)
    keep_budgets(world, event, position.at)
    for key in beside:
        count_past_usage(world, key, position.at)
        count_in_budgets(world, key, position.at)


def _of_the_same_job(world: World, event: AnyEvent) -> Sequence[str]:
    """Slices and variants of whose job an event tells, where what they use is counted, or clusters are chosen: they may end with it."""
    leaves_choices = bool(world.dispatches) and isinstance(event, WorkloadDeleted)
    key = getattr(event, "workload", None) if world.budgets or world.entered or leaves_choices else None
    if not isinstance(key, str):
        return ()
    slices = world.chains.get(key, ()) if key not in world.workloads else slices_beside(world, key)
    return sorted({*slices, *world.variants.get(key, ())} - {key})


def _fold_workload_fact(world: World, event: WorkloadFact, position: LogPosition) -> None:
    for one in placed(world, event):
        evolve_workload_fact(world, one, position)


def _fold_object(world: World, event: ObjectEvent, position: LogPosition) -> None:
    """A queue that is there now may have a home: what was observed of workloads that ask for it is folded there."""
    miss_automation(world, event)
    evolve_objects(world, event, position)
    if isinstance(event, ClusterQueueObserved | LocalQueueObserved):
        queue = event.cluster_queue if isinstance(event, LocalQueueObserved) else event.name
        for one in give_home(world, queue):
            evolve(world, one, position)


def _fold_claim(world: World, event: ClaimEvent, position: LogPosition) -> None:
    del position
    evolve_claims(world, event)


def _fold_map(world: World, event: PartitionMapObserved, position: LogPosition) -> None:
    observe_map(world, event, position.at)
    place_automation(world, world.cluster_queues)


def _fold_fork(world: World, event: PartitionForked, position: LogPosition) -> None:
    observe_fork(world, event, position.at)
    place_automation(world, world.cluster_queues)


def _fold_epoch(world: World, event: EpochStarted, position: LogPosition) -> None:
    del position
    world.trail.put(world.epochs, event.service, event.epoch)


def _fold_restart(world: World, event: ResourceVersionsRestarted, position: LogPosition) -> None:
    del position
    world.versions.restart(event.epoch)
    forget_written(world)


def _by_time(fold: Callable[[World, Any, Millis], None]) -> Fold:
    """A fold that needs to know when, and not where on the log."""
    return lambda world, event, position: fold(world, event, position.at)


def _pass(world: World, event: AnyEvent, position: LogPosition) -> None:
    """Nothing of it is part of this world: who reads the stream of control knows it from there."""
    del world, event, position


def _each(events: object, fold: Fold) -> dict[type, Fold]:
    return dict.fromkeys(get_args(events), fold)


FOLDS: Mapping[type, Fold] = {
    **_each(WorkloadFact, _fold_workload_fact),
    **_each(DeviceEvent, evolve_devices),
    **_each(SliceEvent, evolve_slices),
    **_each(VariantEvent, evolve_variants),
    **_each(LineEvent, evolve_lines),
    **_each(AdmissionEvent, evolve_admission),
    **_each(ObjectEvent, _fold_object),
    **_each(ProvisioningEvent, evolve_provisioning),
    **_each(DispatchEvent, evolve_dispatch),
    **_each(QuotaAutomationEvent, evolve_quota_automation),
    **_each(UpkeepEvent, evolve_upkeep),
    **_each(ClaimEvent, _fold_claim),
    EpochStarted: _fold_epoch,
    SetAside: set_aside,
    ResourceVersionsRestarted: _fold_restart,
    BudgetThresholdReached: _by_time(tell_threshold),
    BudgetRenewed: _by_time(tell_renewal),
    BudgetUseTold: note_told,
    BudgetUsePassedOn: _by_time(hear),
    PartitionMapObserved: _fold_map,
    PartitionForked: _fold_fork,
    **_each(Quarantined | ClockScaled | LogPartitioned, _pass),
    **_each(PriceListSet | ExchangeRateSet | AccountsSet | CorrectionEntered | MonthClosed, _pass),
}
"""By event its fold. Each of these covers all events of its room, which the type checker sees there; that no event is left out a test holds."""
