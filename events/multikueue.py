"""Other clusters that workloads are dispatched to: which there are, and how each is reached."""

from enum import StrEnum
from typing import ClassVar

from events.citation import CitedCommit
from events.configuration import ClusterObjectObserved
from events.event import Event, Millis, Value
from events.start_estimate import StartEstimate
from events.workload import CheckStatus

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
BY_ESTIMATE = "kuelog.io/multikueue-dispatcher-by-estimate"


class ClusterOrder(StrEnum):
    """By what one cluster is preferred to another, of those that are asked beforehand."""

    EARLIEST_START = "EarliestStart"
    PRICE = "Price"
    LOCALITY = "Locality"
    SPREAD = "Spread"


class KubeConfigPlace(StrEnum):
    """Where the kubeconfig of a worker cluster is: in a Secret of kuelog's namespace, or in a file of the service that connects."""

    SECRET = "Secret"  # noqa: S105 - Kueue's name of the place
    PATH = "Path"


class AccessProvider(Value, frozen=True, kw_only=True):
    """A program that gives access to clusters whose ClusterProfile names it."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Variables that it gets besides those of the service."""
    api_version: str
    """Of the ExecCredential that it prints."""
    cluster_info: bool = False
    """Whether it is told of which cluster."""


class MultiKueueSettings(Value, frozen=True, kw_only=True):
    """How workloads are dispatched to other clusters (docs/rules/multikueue.md)."""

    origin: str = "multikueue"
    """What the label `kueue.x-k8s.io/multikueue-origin` says on all that this manager makes in other clusters."""
    worker_lost_timeout: Millis = 900_000
    """How long a workload stays admitted in a cluster that can't be reached, from the moment at which that began."""
    dispatcher: str = ALL_AT_ONCE
    """Who nominates clusters; any name but those of Kueue's own dispatchers and `BY_ESTIMATE` is somebody else, who writes `nominatedClusterNames`."""
    step_size: int = 3
    """How many clusters the incremental dispatcher nominates at once."""
    order: tuple[ClusterOrder, ...] = (ClusterOrder.EARLIEST_START,)
    """By what the dispatcher that asks beforehand prefers clusters: by the first, then the next."""
    estimate_timeout: Millis = 10_000
    """How long that dispatcher waits for answers."""
    external_frameworks: tuple[str, ...] = ()
    """Kinds of jobs besides the known ones that may run on other clusters, as `Kind.version.group`."""
    access_providers: tuple[AccessProvider, ...] = ()
    """Who gives access to clusters that are named by a ClusterProfile, the first that such an object names."""

    @property
    def dispatched_by_others(self) -> bool:
        """Whether somebody else nominates clusters, on the Workload objects."""
        return self.dispatcher not in (ALL_AT_ONCE, INCREMENTAL, BY_ESTIMATE)


class MultiKueueConfigObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="MultiKueueConfigObserved.v1"):
    """To which clusters a check dispatches: a MultiKueueConfig stands so in the cluster."""

    kind: ClassVar[str] = "MultiKueueConfig"
    uid: str = ""
    clusters: tuple[str, ...]
    """In the order in which the incremental dispatcher nominates them."""
    automated: bool = False
    """Whether the quota here is to follow that of these clusters (gate MultiKueueManagerQuotaAutomation)."""


class MultiKueueClusterObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="MultiKueueClusterObserved.v1"):
    """A worker cluster, how it is reached, and whether it is connected: a MultiKueueCluster stands so in the cluster."""

    kind: ClassVar[str] = "MultiKueueCluster"
    uid: str = ""
    generation: int = 0
    location: str = ""
    """The name of the Secret or of the file with its kubeconfig; empty where a ClusterProfile is named instead."""
    location_type: KubeConfigPlace = KubeConfigPlace.SECRET
    profile: str = ""
    """The ClusterProfile that says how it is reached, if any."""
    active: bool = False
    """Its condition Active, as who connects to it has set it: whether it is connected."""
    since: Millis = 0
    """Since when it is or is not; where nobody has connected yet, since it was created."""
    price: int | None = None
    """What an hour there costs by its annotation, in 10^-10 of whatever money; None where it says nothing."""
    locality: str = ""
    """What its label says about where its data are."""


class RemoteCondition(Value, frozen=True, kw_only=True):
    """A condition of a remote workload that is True; times are those of its cluster's clock."""

    since: Millis
    reason: str = ""
    message: str = ""


class RemoteWorkloadObserved(Event, frozen=True, kw_only=True, tag="RemoteWorkloadObserved.v1"):
    """The copy of a workload stands so in a worker cluster."""

    cluster: str
    workload: str
    """The key of the workload here; the copy has the same."""
    uid: str
    version: int = 0
    """Its resourceVersion there: of the same UID, what is older is not folded, unless it is `restored`."""
    queue: str = ""
    priority: int = 0
    priority_class: str = ""
    counts: dict[str, int] = {}
    """By pod set, how many pods it asks for."""
    asks: str = ""
    """The digest of the pod sets that it was made with; empty where it does not say."""
    max_execution: Millis | None = None
    """How long it may run, 0 for as long as it likes; None where that was not told."""
    active: bool = True
    """Whether it may be admitted there; what is stopped from here may not."""
    conditions: dict[str, RemoteCondition] = {}
    """By type, those of QuotaReserved, Admitted, Evicted, Finished and BlockedOnPreemptionGates that are True."""
    opened: Millis = 0
    """When its preemption gate was opened, as it shows; 0 while it is closed, or has none."""
    cited: CitedCommit | None = None
    """The commit of the cluster's own log by which it stands so; None where no kuelog decides there."""
    shown: bool = False
    """It has ended, and what there is to show of its job is shown here."""
    restored: bool = False
    """It is older than what was told of it: the store of its cluster was restored, and what was seen before is no more."""
    estimate: StartEstimate | None = None
    """What the cluster answers to the question what would happen to the workload there; None where it has not answered."""
    sent: int | None = None
    """With an answer, how many copies of this manager's were admitted in the cluster then, whatever partition decides about them; None without one."""


class RemoteQueue(Value, frozen=True, kw_only=True):
    """A ClusterQueue of a worker cluster, and who leads to it."""

    name: str
    local_queues: tuple[str, ...]
    """Keys of the LocalQueues there that lead to it, of those that have the same key here."""
    nominal: dict[str, int] = {}
    """By resource its nominal quota over all of its groups and flavors, in the units of quota."""


class RemoteQueuesObserved(Event, frozen=True, kw_only=True, tag="RemoteQueuesObserved.v1"):
    """The queues of a worker cluster stand so, as far as the quota of queues here is to follow them.

    Rule: docs/rules/multikueue.md#quota
    """

    cluster: str
    queues: tuple[RemoteQueue, ...] = ()
    """By name."""


class ClustersNamed(Event, frozen=True, kw_only=True, tag="ClustersNamed.v1"):
    """Somebody else's dispatcher wants a workload to be tried in these clusters: its Workload object says so."""

    workload: str
    clusters: tuple[str, ...]


class RemoteWorkloadGone(Event, frozen=True, kw_only=True, tag="RemoteWorkloadGone.v1"):
    """There is no copy of a workload in a worker cluster any more."""

    cluster: str
    workload: str


class RemoteJobSynced(Event, frozen=True, kw_only=True, tag="RemoteJobSynced.v1"):
    """The job of a workload is in the cluster that was chosen for it."""

    workload: str
    cluster: str
    decision: str
    """The decision that chose the cluster, as `partition/sequence`."""


class RemoteJobRefused(Event, frozen=True, kw_only=True, tag="RemoteJobRefused.v1"):
    """The job of a workload can't be made in the cluster that was chosen for it, or is not kuelog's there: why."""

    workload: str
    cluster: str
    decision: str
    message: str


class EstimatesAsked(Event, frozen=True, kw_only=True, tag="EstimatesAsked.v1"):
    """These clusters are asked what would happen to a workload that holds quota; then it is decided in which it is tried."""

    workload: str
    check: str
    clusters: tuple[str, ...]


class ClustersNominated(Event, frozen=True, kw_only=True, tag="ClustersNominated.v1"):
    """A workload that holds quota is to be tried in these clusters; it was chosen for none of them yet, or is not any more."""

    workload: str
    check: str
    clusters: tuple[str, ...]
    later: tuple[str, ...] = ()
    """Where it is tried next, one after the other, if none of these admits it in time."""
    why: str = ""
    """Why just these, where they were chosen by what clusters had answered."""


class RemoteGateOpened(Event, frozen=True, kw_only=True, tag="RemoteGateOpened.v1"):
    """In this cluster a workload may preempt others from now on; where it is tried besides it may not yet.

    Rule: docs/rules/multikueue.md#preemption
    """

    workload: str
    cluster: str
    copy: str
    """The UID of the copy whose gate is meant."""


class ClusterChosen(Event, frozen=True, kw_only=True, tag="ClusterChosen.v1"):
    """A cluster has admitted the copy of a workload first: the job is to run there, and all other copies are to go."""

    workload: str
    check: str
    cluster: str
    cited: CitedCommit | None = None
    """The commit of that cluster's own log on which the choice rests; None where no kuelog decides there."""
    taken_over: bool = False
    """Nobody has chosen it on this log: the workload runs there already, as its object or the copy says."""


class WorkloadEndedElsewhere(Event, frozen=True, kw_only=True, tag="WorkloadEndedElsewhere.v1"):
    """The copy has ended in the cluster in which the workload was tried or ran, and all is shown here that there was of its job: so it has ended here.

    Rule: docs/rules/multikueue.md#ended-there
    """

    workload: str
    reason: str
    """That of the copy."""
    message: str


class QuotaAutomationSettled(Event, frozen=True, kw_only=True, tag="QuotaAutomationSettled.v1"):
    """Whether the quota of a ClusterQueue follows that of other clusters, and what it is to be by that.

    Rule: docs/rules/multikueue.md#quota
    """

    cluster_queue: str
    reason: str
    """Kueue's reason of the condition MultiKueueManagerQuotaAutomation."""
    message: str
    nominal: dict[str, int] = {}
    """By covered resource what its nominal quota is to be, in the units of quota; nothing where it does not follow."""
    by_cluster: dict[str, dict[str, int]] = {}
    """By cluster that is connected, and by resource, what was counted of it."""


class QuotaAutomationEnded(Event, frozen=True, kw_only=True, tag="QuotaAutomationEnded.v1"):
    """Nobody asks any more whether the quota of a ClusterQueue follows that of other clusters; it stays what it is."""

    cluster_queue: str


class RemoteCheckSettled(Event, frozen=True, kw_only=True, tag="RemoteCheckSettled.v1"):
    """How the check of other clusters stands for a workload, by what was seen there."""

    workload: str
    check: CheckStatus
