"""The one step of every fold: state and event in, state out."""

from typing import assert_never

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    SecondPassFailed,
    TopologyAssigned,
    UnhealthyNodesChanged,
    WorkloadAdmitted,
)
from events.application import DecisionApplied, DecisionRejected
from events.billing import AccountsSet, CorrectionEntered, ExchangeRateSet, MonthClosed, PriceListSet
from events.budget import BudgetRenewed, BudgetThresholdReached, BudgetUsePassedOn, BudgetUseTold
from events.catalogue import AnyEvent
from events.claims import ResourceClaimObserved, ResourceSliceObserved
from events.commit import Sighting
from events.configuration import ConfigurationObserved
from events.control import (
    ClockScaled,
    EpochStarted,
    LogPartitioned,
    ObjectMended,
    ObjectRefused,
    ObjectRemoved,
    Quarantined,
    ResourceVersionsRestarted,
)
from events.device import (
    AllocationStale,
    CapacityCovered,
    CapacityShort,
    CardQuotaObserved,
    CardReturned,
    DevicesRefused,
    DevicesRegistered,
    DevicesReleased,
    DevicesReserved,
    DriftDetected,
    DriftResolved,
    NodeLockObserved,
    NodeObserved,
    NodeUsageObserved,
    PluginLost,
    PodCardsAssigned,
    PodObserved,
)
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.multikueue import (
    ClusterChosen,
    ClustersNamed,
    ClustersNominated,
    EstimatesAsked,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.partition_map import PartitionForked, PartitionMapObserved
from events.pod import PodAccounted, PodEndForced
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted, RoomClaimed
from events.provisioning import (
    ProvisioningConfigObserved,
    ProvisioningDropped,
    ProvisioningOrdered,
    ProvisioningRejected,
    ProvisioningRequestObserved,
)
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.setting_aside import SetAside
from events.settings import SettingsObserved
from events.slices import (
    WorkloadSliceDropped,
    WorkloadSliceReplaced,
    WorkloadSliceResized,
    WorkloadSliceSubmitted,
)
from events.upkeep import (
    AdmissionGateCleared,
    BackoffSet,
    CheckSettled,
    ChecksRequired,
    DeactivationOrdered,
    DeactivationSettled,
    WorkloadDiscarded,
    WorkloadFailedToStart,
    WorkloadOrphaned,
)
from events.variants import (
    MigrationOrdered,
    PreemptionGateOpened,
    VariantDropped,
    VariantSubmitted,
    VariantSwitched,
)
from events.workload import (
    CheckReported,
    DecidedElsewhere,
    EvictionOrdered,
    JobUnsuspended,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    PreemptionGateReported,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from events.workload_object import WorkloadTerminating
from projections.budgets.counting import keep_budgets, tell_renewal, tell_threshold
from projections.budgets.partitions import hear, note_told
from projections.fair_sharing.admission_usage import keep_ledgers, settle_all
from projections.folds.admission import evolve_admission
from projections.folds.claims import evolve_claims
from projections.folds.devices import evolve_devices
from projections.folds.dispatch import evolve_dispatch, miss_dispatch
from projections.folds.forks import observe_fork
from projections.folds.lines import evolve_lines
from projections.folds.objects import evolve_objects
from projections.folds.partitions import give_home, observe_map, placed
from projections.folds.provisioning import evolve_provisioning, miss_provisioning
from projections.folds.set_aside import set_aside, take_up_again
from projections.folds.slices import evolve_slices
from projections.folds.upkeep import evolve_upkeep
from projections.folds.variants import evolve_variants, evolve_workload_fact
from projections.folds.workloads import forget_written
from projections.log_position import LogPosition
from projections.partitions.homes import is_foreign
from projections.queues.order import order_anew
from projections.world import World


def evolve_sighting(world: World, sighting: Sighting, position: LogPosition) -> None:
    """Fold an observed fact, unless something newer is known of the object that it is about."""
    if is_foreign(world, sighting.fact):
        return
    if world.partition_map:
        world.versions.forget_long_gone(position.at)
    if world.versions.take(sighting.about, sighting.fact, position.at):
        evolve(world, sighting.fact, position)


def evolve(world: World, event: AnyEvent, position: LogPosition) -> None:  # noqa: C901, PLR0915 - one case for each fold
    """Fold one event into the world; what the event does not touch stays as it is."""
    if isinstance(event, SettingsObserved):
        settle_all(world.settings, world.ledgers, world.trail, position.at)
    match event:
        case (
            WorkloadSubmitted()
            | WorkloadOwned()
            | DecidedElsewhere()
            | WorkloadChanged()
            | PodsReady()
            | JobUnsuspended()
            | PodsGone()
            | PodsReclaimed()
            | WorkloadFinished()
            | WorkloadDeleted()
            | CheckReported()
            | PreemptionGateReported()
            | WorkloadSwitched()
            | DecisionApplied()
            | DecisionRejected()
        ):
            for one in placed(world, event):
                evolve_workload_fact(world, one, position)
        case (
            PodObserved()
            | NodeObserved()
            | DevicesRegistered()
            | NodeLockObserved()
            | NodeUsageObserved()
            | CardQuotaObserved()
            | DeviceConfigObserved()
            | NodeConfigsObserved()
            | DevicesReserved()
            | DevicesRefused()
            | PodCardsAssigned()
            | DevicesReleased()
            | CardReturned()
            | PluginLost()
            | DriftDetected()
            | DriftResolved()
            | AllocationStale()
            | CapacityShort()
            | CapacityCovered()
        ):
            evolve_devices(world, event, position)
        case WorkloadSliceSubmitted() | WorkloadSliceResized() | WorkloadSliceReplaced() | WorkloadSliceDropped():
            evolve_slices(world, event, position)
        case VariantSubmitted() | VariantDropped() | VariantSwitched() | PreemptionGateOpened() | MigrationOrdered():
            evolve_variants(world, event, position)
        case WorkloadQueued() | WorkloadParked() | WorkloadRequeued():
            evolve_lines(world, event, position)
        case (
            QuotaReserved()
            | AdmissionRefused()
            | PreemptionRequested()
            | TopologyAssigned()
            | SecondPassFailed()
            | UnhealthyNodesChanged()
            | WorkloadAdmitted()
            | PreemptionOrdered()
            | PreemptionRefused()
            | RoomClaimed()
            | PreemptionWasted()
            | EvictionOrdered()
            | WorkloadDeactivated()
            | QuotaReleased()
        ):
            evolve_admission(world, event, position)
        case (
            ConfigurationObserved()
            | SettingsObserved()
            | PodAccounted()
            | PodEndForced()
            | WorkloadTerminating()
            | ObjectRemoved()
            | ObjectRefused()
            | ObjectMended()
        ):
            evolve_objects(world, event, position)
            _fold_placed(world, event, position)
        case (
            ProvisioningConfigObserved()
            | ProvisioningRequestObserved()
            | ProvisioningRejected()
            | ProvisioningOrdered()
            | ProvisioningDropped()
        ):
            evolve_provisioning(world, event, position)
        case (
            RemoteWorkloadObserved()
            | RemoteWorkloadGone()
            | RemoteJobSynced()
            | RemoteJobRefused()
            | ClustersNamed()
            | EstimatesAsked()
            | ClustersNominated()
            | RemoteGateOpened()
            | ClusterChosen()
            | RemoteCheckSettled()
        ):
            evolve_dispatch(world, event, position)
        case (
            ChecksRequired()
            | CheckSettled()
            | BackoffSet()
            | AdmissionGateCleared()
            | DeactivationOrdered()
            | DeactivationSettled()
            | WorkloadOrphaned()
            | WorkloadFailedToStart()
            | WorkloadDiscarded()
        ):
            evolve_upkeep(world, event, position)
        case ResourceSliceObserved() | ResourceClaimObserved():
            evolve_claims(world, event)
        case EpochStarted():
            world.trail.put(world.epochs, event.service, event.epoch)
        case SetAside():
            set_aside(world, event, position)
        case ResourceVersionsRestarted():
            world.versions.restart(event.epoch)
            forget_written(world)
        case BudgetThresholdReached():
            tell_threshold(world, event, position.at)
        case BudgetRenewed():
            tell_renewal(world, event, position.at)
        case BudgetUseTold():
            note_told(world, event, position)
        case BudgetUsePassedOn():
            hear(world, event, position.at)
        case PartitionMapObserved():
            observe_map(world, event, position.at)
        case PartitionForked():
            observe_fork(world, event, position.at)
        case Quarantined() | ClockScaled() | LogPartitioned():
            pass
        case PriceListSet() | ExchangeRateSet() | AccountsSet() | CorrectionEntered() | MonthClosed():
            pass
        case _:
            assert_never(event)
    take_up_again(world, event, position)
    miss_provisioning(world, event)
    miss_dispatch(world, event, position)
    for cluster_queue in keep_ledgers(world, event, position.at):
        order_anew(world, cluster_queue)
    keep_budgets(world, event, position.at)


def _fold_placed(world: World, event: AnyEvent, position: LogPosition) -> None:
    """A queue that is there now may have a home: what was observed of workloads that ask for it is folded there."""
    if isinstance(event, ClusterQueueObserved | LocalQueueObserved):
        queue = event.cluster_queue if isinstance(event, LocalQueueObserved) else event.name
        for one in give_home(world, queue):
            evolve(world, one, position)
