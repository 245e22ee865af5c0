"""The settings that steer decisions, recorded as a fact so that a replay decides under the same ones."""

from enum import StrEnum

from events.claims import DeviceClassMapping
from events.event import Event, Millis, Value
from events.job_kind import JobKind
from events.multikueue import MultiKueueSettings
from events.selector import LabelSelector


class TransformationStrategy(StrEnum):
    """Whether a transformed resource is still counted itself."""

    RETAIN = "Retain"
    REPLACE = "Replace"


class Transformation(Value, frozen=True, kw_only=True):
    """A resource that is counted as others; factors are decimal text, taken exactly.

    Rule: docs/rules/quota.md#transformations
    """

    input: str
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = ""
    outputs: dict[str, str] = {}


class FairStrategy(StrEnum):
    """Which shares are compared before somebody is preempted by share (docs/rules/fair-sharing.md#fair-strategies)."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


class RequeuingTimestamp(StrEnum):
    """Which time orders a workload that was evicted because its pods were not ready."""

    EVICTION = "Eviction"
    CREATION = "Creation"


class PodsReadyRule(Value, frozen=True, kw_only=True):
    """Evict workloads whose pods are not ready in time (docs/rules/eviction.md#pods-ready); times in milliseconds."""

    timeout: Millis
    recovery_timeout: Millis | None = None
    block_admission: bool = False
    timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION
    backoff_limit: int | None = None
    backoff_base: Millis = 60_000
    backoff_max: Millis = 3_600_000


class AdmissionFairSharing(Value, frozen=True, kw_only=True):
    """Past usage of local queues decays with this half-life; weights are decimal text."""

    half_life: Millis
    sampling: Millis = 300_000
    resource_weights: dict[str, str] = {}


class DevicePolicy(StrEnum):
    """What the cards that are really there mean beside the nominal quota of a flavor."""

    IGNORE = "Ignore"
    WARN = "Warn"
    CAP = "Cap"


class QuotaCheckStrategy(StrEnum):
    """What a resource means that no group of the queue covers."""

    BLOCK_UNDECLARED = "BlockUndeclared"
    IGNORE_UNDECLARED = "IgnoreUndeclared"


class MissingQueuePolicy(StrEnum):
    """What becomes of a new job that names a local queue that is not there."""

    WAIT = "Wait"
    REFUSE = "Refuse"


class HamiSettings(Value, frozen=True, kw_only=True):
    """Where HAMi is installed, and the flags of its scheduler; the defaults are those of its chart."""

    namespace: str = "kube-system"
    device_config: str = "hami-scheduler-device"
    """The ConfigMap of its scheduler, with the resource names of cards; when empty, none is read."""
    node_config: str = "hami-device-plugin"
    """The ConfigMap of its device plugin."""
    node_policy: str = "binpack"
    """How nodes are ranked for pods that name no policy of their own (`--node-scheduler-policy`)."""
    card_policy: str = "spread"
    """How cards are ranked for pods that name no policy of their own (`--gpu-scheduler-policy`)."""


class LabelSource(StrEnum):
    """The kind of object from which a label of one's own is taken."""

    CLUSTER_QUEUE = "ClusterQueue"
    LOCAL_QUEUE = "LocalQueue"
    COHORT = "Cohort"


class MetricLabel(Value, frozen=True, kw_only=True):
    """A label or annotation of queues or cohorts that their metrics bear as well (docs/metrics.md#custom-labels)."""

    name: str
    """What follows `custom_` in the name of the metrics' label."""
    source: LabelSource = LabelSource.CLUSTER_QUEUE
    label: str = ""
    """The key of the object's label; empty where it is an annotation."""
    annotation: str = ""
    tracked: tuple[str, ...] = ()
    """The values that are told as they are, and no other; all of them where none is named."""


class SettingsObserved(Event, frozen=True, kw_only=True, tag="SettingsObserved.v1"):
    """The configuration in force. Durations in milliseconds."""

    fair_sharing: bool = False
    fair_strategies: tuple[FairStrategy, ...] = (
        FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
        FairStrategy.LESS_THAN_INITIAL_SHARE,
    )
    admission_fair_sharing: AdmissionFairSharing | None = None
    pods_ready: PodsReadyRule | None = None
    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    device_class_mappings: tuple[DeviceClassMapping, ...] = ()
    """How claimed devices are counted; where there are none, no claim can be counted (docs/rules/claims.md#mappings)."""
    undeclared: QuotaCheckStrategy = QuotaCheckStrategy.BLOCK_UNDECLARED
    """What a resource means that a queue does not cover; a queue may override it to ignore such resources."""
    gates: dict[str, bool] = {}
    """Feature gates that differ from their defaults, by Kueue's names."""
    retain_finished: Millis | None = None
    retain_deactivated: Millis | None = None
    device_totals: bool = True
    """Whether memory and cores of a card count for each card of a container (docs/rules/quota.md#device-totals)."""
    devices: bool = True
    """Whether card-holding workloads need a reservation of cards before they are admitted."""
    device_policies: dict[str, DevicePolicy] = {}
    """By flavor; `Ignore` where none is named."""
    frameworks: tuple[str, ...] = ()
    """The kinds of jobs that queues manage, such as `batch/job`; all that are known when none is named."""
    external_frameworks: tuple[str, ...] = ()
    """Kinds that somebody else manages, as `Kind.version.group`: what they own is not queued by itself."""
    job_kinds: tuple[JobKind, ...] = ()
    """Kinds of jobs besides those that are known."""
    managed_namespaces: LabelSelector | None = None
    """The namespaces whose jobs are managed; all of them when it is not set."""
    without_queue: bool = False
    """Whether jobs that name no queue are managed too: they wait until they name one."""
    missing_queues: MissingQueuePolicy = MissingQueuePolicy.WAIT
    """Whether the webhook takes jobs that name a local queue that is not there."""
    copied_labels: tuple[str, ...] = ()
    """Labels of a job that its Workload gets as well."""
    hami: HamiSettings = HamiSettings()
    multikueue: MultiKueueSettings | None = None
    """How workloads are dispatched to other clusters; None where nobody here does that."""
    metric_labels: tuple[MetricLabel, ...] = ()
    """Labels of one's own on metrics, in the order of the file; none without the gate CustomMetricLabels."""
    local_queue_metrics: bool = True
    """Whether metrics of local queues are exported."""
    measured_local_queues: LabelSelector | None = None
    """The local queues whose metrics are exported; all of them when it is not set."""
