"""The list of all events, by the author that writes them."""

from typing import TypeAlias, get_args

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
from events.claims import ResourceClaimObserved, ResourceSliceObserved
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
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteCheckSettled,
    RemoteGateOpened,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
    WorkloadEndedElsewhere,
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
from events.quota import ConfigurationFact
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

Fact: TypeAlias = (
    ConfigurationFact
    | ProvisioningConfigObserved
    | ProvisioningRequestObserved
    | SettingsObserved
    | PartitionMapObserved
    | PartitionForked
    | NodeObserved
    | NodeUsageObserved
    | DevicesRegistered
    | NodeLockObserved
    | PodObserved
    | CardQuotaObserved
    | ResourceSliceObserved
    | ResourceClaimObserved
    | DeviceConfigObserved
    | NodeConfigsObserved
    | WorkloadSubmitted
    | WorkloadOwned
    | DecidedElsewhere
    | WorkloadChanged
    | PodsReady
    | JobUnsuspended
    | PodsGone
    | PodsReclaimed
    | PodAccounted
    | WorkloadFinished
    | WorkloadDeleted
    | WorkloadSwitched
    | WorkloadTerminating
    | CheckReported
    | PreemptionGateReported
    | ClustersNamed
    | DecisionApplied
    | DecisionRejected
    | ProvisioningRejected
    | RemoteWorkloadObserved
    | RemoteWorkloadGone
    | RemoteJobSynced
    | RemoteJobRefused
    | RemoteQueuesObserved
    | ObjectRemoved
    | ObjectRefused
    | ObjectMended
    | ResourceVersionsRestarted
)
"""What the watcher observes and the applier reports."""

AdmissionDecision: TypeAlias = (
    WorkloadQueued
    | WorkloadParked
    | WorkloadRequeued
    | ChecksRequired
    | CheckSettled
    | ProvisioningOrdered
    | ProvisioningDropped
    | BackoffSet
    | AdmissionGateCleared
    | EvictionOrdered
    | DeactivationOrdered
    | DeactivationSettled
    | WorkloadDeactivated
    | WorkloadOrphaned
    | WorkloadFailedToStart
    | WorkloadEndedElsewhere
    | WorkloadDiscarded
    | QuotaReleased
    | QuotaReserved
    | AdmissionRefused
    | PreemptionRequested
    | TopologyAssigned
    | SecondPassFailed
    | UnhealthyNodesChanged
    | PodEndForced
    | WorkloadAdmitted
    | PreemptionOrdered
    | PreemptionRefused
    | RoomClaimed
    | PreemptionWasted
    | WorkloadSliceSubmitted
    | WorkloadSliceResized
    | WorkloadSliceReplaced
    | WorkloadSliceDropped
    | VariantSubmitted
    | VariantDropped
    | VariantSwitched
    | PreemptionGateOpened
    | MigrationOrdered
    | BudgetThresholdReached
    | BudgetRenewed
    | BudgetUseTold
    | EstimatesAsked
    | ClustersNominated
    | RemoteGateOpened
    | ClusterChosen
    | RemoteCheckSettled
    | QuotaAutomationSettled
    | QuotaAutomationEnded
    | SetAside
)
"""What queue manager, admitter, preemptor and the dispatcher to other clusters decide, on a partition of trees."""

DeviceDecision: TypeAlias = (
    DevicesReserved
    | DevicesRefused
    | PodCardsAssigned
    | DevicesReleased
    | CardReturned
    | PluginLost
    | DriftDetected
    | DriftResolved
    | AllocationStale
    | CapacityShort
    | CapacityCovered
    | BudgetUsePassedOn
    | SetAside
)
"""What the accountant decides, on the partition of a pool of nodes."""

ControlEvent: TypeAlias = (
    EpochStarted
    | Quarantined
    | ClockScaled
    | LogPartitioned
    | PriceListSet
    | ExchangeRateSet
    | AccountsSet
    | CorrectionEntered
    | MonthClosed
)

Decision: TypeAlias = AdmissionDecision | DeviceDecision | ControlEvent

AnyEvent: TypeAlias = Fact | Decision


def all_events() -> tuple[type, ...]:
    """Every event type there is, in the order of the catalogue."""
    return get_args(AnyEvent)
