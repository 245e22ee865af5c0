"""Facts about what may be shared: queues, cohorts, flavors, and the rules of each."""

from enum import StrEnum
from typing import ClassVar, TypeAlias

from events.budget import Budget, BudgetPrice
from events.configuration import ClusterObjectObserved, NamespacedObjectObserved
from events.event import Millis, Value
from events.multikueue import MultiKueueClusterObserved, MultiKueueConfigObserved
from events.selector import LabelSelector, Taint, Toleration
from events.settings import DevicePolicy, QuotaCheckStrategy
from events.topology import TopologyObserved


class Quota(Value, frozen=True, kw_only=True):
    """What a queue or cohort owns of one resource in one flavor; the limits are None when there is none."""

    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class FlavorQuotas(Value, frozen=True, kw_only=True):
    """The quotas of one flavor."""

    flavor: str
    quotas: tuple[Quota, ...]


class ResourceGroup(Value, frozen=True, kw_only=True):
    """Resources that are given one flavor together, and the flavors in the order in which they are tried."""

    resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class QueueingStrategy(StrEnum):
    """Whether a head that does not fit blocks those behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    """Whether a queue admits workloads, and whether those that are admitted may run on."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class FlavorSearch(StrEnum):
    """Whether the search ends at a flavor that is only good with borrowing or preemption."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class FlavorPreference(StrEnum):
    """Which of two flavors is better (docs/rules/flavors.md#preference)."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class Fungibility(Value, frozen=True, kw_only=True):
    """How a queue moves on from one flavor to the next."""

    when_can_borrow: FlavorSearch = FlavorSearch.MAY_STOP_SEARCH
    when_can_preempt: FlavorSearch = FlavorSearch.TRY_NEXT_FLAVOR
    preference: FlavorPreference = FlavorPreference.BORROWING_OVER_PREEMPTION


class PreemptionPolicy(StrEnum):
    """Whom a workload may preempt (docs/rules/preemption.md#within-queue)."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class BorrowWithinCohort(Value, frozen=True, kw_only=True):
    """Whether a workload may preempt in the cohort although it ends up borrowing."""

    policy: PreemptionPolicy = PreemptionPolicy.NEVER
    max_priority_threshold: int | None = None


class PreemptionRules(Value, frozen=True, kw_only=True):
    """A queue's rules of preemption. The last four are kuelog's own and off by default."""

    within_cluster_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_left_out: bool = False
    """The object has rules of preemption and does not say that one: no API server with Kueue's definitions leaves it so."""
    borrow_within_cohort: BorrowWithinCohort | None = None
    minimum_runtime: Millis = 0
    """A workload of this queue is no candidate before it has run this long."""
    cooldown: Millis = 0
    """A workload of this queue is no candidate again before this time has passed since it was last preempted."""
    claims: bool = False
    """Room that victims of this queue's preemptions leave is claimed for the preemptor."""
    marks_ignored: bool = False
    """Who bears `kuelog.io/never-preempt` is a candidate in this queue as others are."""


class CheckRule(Value, frozen=True, kw_only=True):
    """A check that must be ready before admission; on these flavors only, on all when there are none."""

    name: str
    flavors: tuple[str, ...] = ()


class AdmissionMode(StrEnum):
    """Whether local queues of a cluster queue are ordered by their past usage.

    Rule: docs/rules/fair-sharing.md#usage-order
    """

    NONE = "NoAdmissionFairSharing"
    USAGE_BASED = "UsageBasedAdmissionFairSharing"


class Weight(Value, frozen=True, kw_only=True):
    """A fair-sharing weight as an exact fraction; 0/1 means "never borrow while anyone else waits"."""

    numerator: int = 1
    denominator: int = 1


class MigrationMode(StrEnum):
    """Whether a job that runs is moved to a better flavor when that has room (docs/rules/variants.md#migration)."""

    TRY_PREFERRED_FLAVORS = "TryPreferredFlavors"
    RETAIN_FIRST_ADMISSION = "RetainFirstAdmission"


class ConcurrentAdmission(Value, frozen=True, kw_only=True):
    """A queue tries all of its flavors for a workload at once (gate ConcurrentAdmission; docs/rules/variants.md)."""

    mode: MigrationMode = MigrationMode.TRY_PREFERRED_FLAVORS
    last_acceptable: str = ""
    """The worst flavor to which a job that runs may be moved; any where none is named."""


class ClusterQueueObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="ClusterQueueObserved.v1"):
    """A cluster queue stands so in the cluster."""

    kind: ClassVar[str] = "ClusterQueue"
    uid: str = ""
    generation: int = 0
    created_at: Millis = 0
    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    namespaces: LabelSelector | None = None
    """None admits nobody, an empty selector everybody (docs/rules/queues.md#namespaces)."""
    fungibility: Fungibility = Fungibility()
    preemption: PreemptionRules = PreemptionRules()
    checks: tuple[CheckRule, ...] = ()
    stop: StopPolicy = StopPolicy.NONE
    weight: Weight = Weight()
    admission_mode: AdmissionMode = AdmissionMode.NONE
    undeclared: QuotaCheckStrategy = QuotaCheckStrategy.BLOCK_UNDECLARED
    max_concurrent: int | None = None
    """kuelog's own: the most workloads that may hold quota at once."""
    budget: Budget | None = None
    """kuelog's own: what its workloads may hold in a period, where the queue requires the check of budgets."""
    concurrent: ConcurrentAdmission | None = None
    """How workloads are let in on several flavors at once; None where they wait as one."""
    terminating: bool = False
    held: bool = False
    """Whether it bears the finalizer `kueue.x-k8s.io/resource-in-use`, so that it stays while something needs it."""
    metric_labels: dict[str, str] = {}
    """By the name of a label of one's own on metrics what it is here; none where the object has no such label."""

    @property
    def flavors(self) -> tuple[str, ...]:
        """The flavors that it has quota of, in its own order."""
        return tuple(quotas.flavor for group in self.groups for quotas in group.flavors)


class CohortObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="CohortObserved.v1"):
    """A cohort object stands so in the cluster; a cohort that is only named needs none."""

    kind: ClassVar[str] = "Cohort"
    uid: str = ""
    parent: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    weight: Weight = Weight()
    metric_labels: dict[str, str] = {}
    """By the name of a label of one's own on metrics what it is here; none where the object has no such label."""


class LocalQueueObserved(NamespacedObjectObserved, frozen=True, kw_only=True, tag="LocalQueueObserved.v1"):
    """A local queue stands so in the cluster: how a namespace submits to a cluster queue."""

    kind: ClassVar[str] = "LocalQueue"
    uid: str = ""
    cluster_queue: str
    stop: StopPolicy = StopPolicy.NONE
    weight: Weight = Weight()
    consumed: dict[str, int] = {}
    """What Kueue had measured of its past usage, in units, when it was first seen (status.fairSharing)."""
    consumed_at: Millis = 0
    terminating: bool = False
    metric_labels: dict[str, str] = {}
    """By the name of a label of one's own on metrics what it is here; none where the object has no such label."""
    unmeasured: bool = False
    """Whether the settings leave it out of the metrics of local queues (docs/metrics.md#local-queues)."""


class FlavorObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="FlavorObserved.v1"):
    """A kind of capacity stands so in the cluster."""

    kind: ClassVar[str] = "ResourceFlavor"
    uid: str = ""
    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""
    device_policy: DevicePolicy | None = None
    """What the cards that are really there mean beside the quota; None where the settings say it."""
    terminating: bool = False
    held: bool = False
    """Whether it bears the finalizer `kueue.x-k8s.io/resource-in-use`, so that it stays while something needs it."""


class PriorityClassObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="PriorityClassObserved.v1"):
    """A priority class; `workload` is true for a WorkloadPriorityClass, false for a pod PriorityClass."""

    kind: ClassVar[str] = "PriorityClass"
    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    value: int
    workload: bool = False
    default: bool = False

    @property
    def place(self) -> str:
        """The class as `kind//name`."""
        return f"{'WorkloadPriorityClass' if self.workload else self.kind}//{self.name}"


class NamespaceObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="NamespaceObserved.v1"):
    """A namespace and its labels."""

    kind: ClassVar[str] = "Namespace"
    api_version: ClassVar[str] = "v1"
    labels: dict[str, str] = {}
    budget: Budget | None = None
    """What its workloads may hold in a period, in queues that require the check of budgets."""


class CheckParameters(Value, frozen=True, kw_only=True):
    """A reference to the object that holds the check's parameters."""

    group: str
    kind: str
    name: str


class AdmissionCheckObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="AdmissionCheckObserved.v1"):
    """A check that queues may require; inactive ones make their queues inactive."""

    kind: ClassVar[str] = "AdmissionCheck"
    uid: str = ""
    generation: int = 0
    controller: str
    active: bool = True
    """Its condition Active as its controller sets it; for the built-in controllers it is derived and this is not read."""
    parameters: CheckParameters | None = None
    prices: tuple[BudgetPrice, ...] = ()
    """Of a check of budgets: what budgets in money go by."""
    terminating: bool = False
    held: bool = False
    """Whether it bears the finalizer `kueue.x-k8s.io/resource-in-use`, so that it stays while something needs it."""


class LimitRangeItem(Value, frozen=True, kw_only=True):
    """Bounds and defaults for containers or pods."""

    kind: str
    minimum: dict[str, int] = {}
    maximum: dict[str, int] = {}
    default: dict[str, int] = {}
    default_request: dict[str, int] = {}


class LimitRangeObserved(NamespacedObjectObserved, frozen=True, kw_only=True, tag="LimitRangeObserved.v1"):
    """The limit range of a namespace."""

    kind: ClassVar[str] = "LimitRange"
    api_version: ClassVar[str] = "v1"
    items: tuple[LimitRangeItem, ...] = ()


class RuntimeClassObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="RuntimeClassObserved.v1"):
    """A runtime class and what each of its pods costs on top."""

    kind: ClassVar[str] = "RuntimeClass"
    api_version: ClassVar[str] = "node.k8s.io/v1"
    overhead: dict[str, int] = {}


ConfigurationFact: TypeAlias = (
    ClusterQueueObserved
    | CohortObserved
    | LocalQueueObserved
    | FlavorObserved
    | TopologyObserved
    | PriorityClassObserved
    | NamespaceObserved
    | AdmissionCheckObserved
    | LimitRangeObserved
    | RuntimeClassObserved
    | MultiKueueConfigObserved
    | MultiKueueClusterObserved
)
"""All of them. Whatever is not said to be otherwise of one of them is done with each alike."""
