"""Every condition that kuelog sets on objects of Kueue's, every reason that it gives there, and what to do about each."""

import msgspec


class KnownCondition(msgspec.Struct, frozen=True):
    """A condition of a kind of object."""

    on: str
    type: str
    meaning: str


class KnownReason(msgspec.Struct, frozen=True):
    """A reason that a condition may have."""

    type: str
    reason: str
    meaning: str
    instead: str = ""
    """What to do, where anything is to be done."""


CONDITIONS = (
    KnownCondition("Workload", "QuotaReserved", "it holds quota; False says why it waits"),
    KnownCondition("Workload", "Admitted", "it may run: quota, cards and checks are there"),
    KnownCondition("Workload", "PodsReady", "all of its pods are ready, where the configuration waits for that"),
    KnownCondition("Workload", "Evicted", "it has to stop, or had to since it was queued last"),
    KnownCondition("Workload", "Preempted", "it had to make room for another"),
    KnownCondition("Workload", "Requeued", "after an eviction it may queue again; False while it has to wait first"),
    KnownCondition(
        "Workload", "BlockedOnPreemptionGates", "it would have to preempt, and one of its preemption gates is closed"
    ),
    KnownCondition("Workload", "WaitingForReplacementPods", "pods of its group have ended and were not replaced yet"),
    KnownCondition("Workload", "DeactivationTarget", "a rule is about to set it inactive"),
    KnownCondition("Workload", "Finished", "its job has ended, or will never run"),
    KnownCondition(
        "Workload, ClusterQueue",
        "SetAside",
        "a service failed on it, or on the queue's tree, and goes on with all others",
    ),
    KnownCondition(
        "ClusterQueue, LocalQueue", "Active", "it takes workloads in; one message names all that is against it"
    ),
    KnownCondition(
        "ClusterQueue, LocalQueue",
        "WithinBudget",
        "something is left of the budgets that count there; absent without a budget",
    ),
    KnownCondition(
        "ClusterQueue",
        "MultiKueueManagerQuotaAutomation",
        "its quota follows that of the clusters in which its workloads run; absent without the gate of that name, or a check of other clusters",
    ),
    KnownCondition("AdmissionCheck", "Active", "its controller works with it; set for kuelog's own controllers"),
    KnownCondition("MultiKueueCluster", "Active", "it is connected"),
)

_Q, _A, _E, _P, _R, _F, _T = "QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "Finished", "Active"
_B, _M, _D, _S = "WithinBudget", "MultiKueueManagerQuotaAutomation", "DeactivationTarget", "SetAside"

REASONS = (
    KnownReason(_Q, "QuotaReserved", "it holds quota"),
    KnownReason(_Q, "PendingEvaluation", "it is in line and was not tried yet"),
    KnownReason(
        _Q,
        "WaitingForQuota",
        "its queue and the cohort have not enough left",
        "wait; `kuelog explain` says what would let it in",
    ),
    KnownReason(
        _Q,
        "ExceedsMaxQuota",
        "it asks for more than its queue could ever use",
        "ask for less, or raise `nominalQuota` or `borrowingLimit`",
    ),
    KnownReason(
        _Q,
        "NoMatchingFlavor",
        "its node selector, affinity or tolerations suit no flavor of the queue, or the queue has no quota of a resource that it asks for",
        "change these, or add a flavor or the resource",
    ),
    KnownReason(
        _Q,
        "WaitingForDevices",
        "quota is there; the cards that are left are too few, too small or in pieces",
        "`kuelog devices fit` names card after card",
    ),
    KnownReason(
        _Q,
        "ExceedsCardCapacity",
        "no card could hold it even if nothing ran, no node of its flavors is ready and has cards or takes its pods (a taint), or HAMi's webhook would refuse its pods",
        "ask for less memory or cores of a card, or for what HAMi lets in; where no node has cards, compare the flavor's labels with the nodes', and where none takes its pods, their tolerations or those of the flavor with the taints",
    ),
    KnownReason(_Q, "DevicesRefused", "its cards were given to somebody else at the same moment; it is tried again"),
    KnownReason(
        _Q,
        "TopologyPlacementFailed",
        "its pods find no place in the topology",
        "`kuelog explain` says how many would fit, and what rules nodes out",
    ),
    KnownReason(_Q, "WaitingForPreemptedWorkloads", "those who make room for it have not left yet"),
    KnownReason(
        _Q, "WaitingForPodsReady", "another workload that was let in is not ready yet", "look at that one's pods"
    ),
    KnownReason(
        _Q,
        "BudgetExhausted",
        "the budget of its queue, its namespace or its user is used up",
        "wait for the next period, or have the budget raised or more approved of",
    ),
    KnownReason(
        _Q, "AdmissionGated", "`kueue.x-k8s.io/admission-gated-by` names gates", "who put them there takes them away"
    ),
    KnownReason(
        "BlockedOnPreemptionGates",
        "PreemptionGated",
        "it would have to preempt, and one of its preemption gates is closed (QuotaReserved says `AdmissionGated`)",
        "who put it there opens it in `status.preemptionGates`, or it waits for room",
    ),
    KnownReason(_Q, "OnHold", "its job is scaled to zero or on hold", "scale it up"),
    KnownReason(
        _Q,
        "WaitingForReplacementPods",
        "pods of its group have ended and were not replaced yet, or were stopped and hang",
    ),
    KnownReason(_Q, "Backoff", "it was evicted, and its back-off is not over"),
    KnownReason(
        _Q,
        "NodeFailures",
        "a pod by itself was lost with its node or card; it does not come back",
        "create another pod",
    ),
    KnownReason(
        _Q,
        "Suspended",
        "its LocalQueue or ClusterQueue takes nothing in",
        "`kuelog describe clusterqueue NAME` says why",
    ),
    KnownReason(
        _Q,
        "Misconfigured",
        "its LocalQueue or ClusterQueue does not exist, its namespace is not in the ClusterQueue's `namespaceSelector`, its pods break a "
        "LimitRange, or it claims devices while the gate KueueDRAIntegration is off",
        "`kuelog explain` says what to do: create the queue or name another in the label `kueue.x-k8s.io/queue-name`, label the namespace, "
        "or ask for devices as resources of a container",
    ),
    KnownReason(_Q, "Deactivated", "`spec.active` of the Workload is false", "set it to true"),
    KnownReason(
        _Q,
        "Pending",
        "the older, broader word for what keeps it from quota (without the gate UnadmittedWorkloadsObservability)",
    ),
    KnownReason(_Q, "Inadmissible", "the older, broader word for Misconfigured and Suspended"),
    KnownReason(_Q, "Waiting", "the older, broader word for WaitingForPodsReady"),
    KnownReason(_A, "Admitted", "it may run"),
    KnownReason(_A, "NoReservation", "it has no quota"),
    KnownReason(
        _A,
        "UnsatisfiedAdmissionChecks",
        "quota is reserved; checks or cards are not ready",
        "`status.admissionChecks` says which",
    ),
    KnownReason(_A, "NoReservationUnsatisfiedChecks", "both"),
    KnownReason("PodsReady", "Started", "all of its pods are ready for the first time"),
    KnownReason("PodsReady", "Recovered", "they are ready again"),
    KnownReason("PodsReady", "WaitForStart", "its pods were never all ready since its admission"),
    KnownReason("PodsReady", "WaitForRecovery", "they were, and are not any more"),
    KnownReason(
        "WaitingForReplacementPods",
        "PodsFailed",
        "pods have failed; of who was evicted it has the reason of that",
        "make pods of the same shape",
    ),
    KnownReason("WaitingForReplacementPods", "PodsReady", "none has to be replaced any more"),
    KnownReason(_E, "Preempted", "it makes room for another", "`kuelog explain` says for whom and by which rule"),
    KnownReason(
        _E,
        "PodsReadyTimeout",
        "its pods did not get ready in time",
        "look at the pods; `waitForPodsReady.timeout` of the configuration",
    ),
    KnownReason(
        _E,
        "BudgetExhausted",
        "a budget that it counts in is used up, whose policy stops who runs",
        "`kuelog budget list` says which; it is queued again in the next period",
    ),
    KnownReason(_E, "AdmissionCheck", "a check said Retry", "its message is in `status.admissionChecks`"),
    KnownReason(
        _E, "ClusterQueueStopped", "the ClusterQueue was stopped with HoldAndDrain", "`kuelog resume clusterqueue NAME`"
    ),
    KnownReason(
        _E, "LocalQueueStopped", "the LocalQueue was stopped with HoldAndDrain", "`kuelog resume localqueue NAME`"
    ),
    KnownReason(_E, "NodeFailures", "a node or a card under it has failed"),
    KnownReason(_E, "DevicesRefused", "it has quota, and no cards can be given to it"),
    KnownReason(_E, "FlavorMigration", "a better flavor has room for it: it goes on there"),
    KnownReason(_E, "Deactivated", "somebody has set `spec.active` of the Workload to false", "set it to true"),
    KnownReason(
        _E,
        "DeactivatedDueToMaximumExecutionTimeExceeded",
        "it ran for longer than its own limit",
        "`kueue.x-k8s.io/max-exec-time-seconds`, then set `spec.active` to true",
    ),
    KnownReason(
        _E,
        "DeactivatedDueToRequeuingLimitExceeded",
        "it came back too often without getting ready",
        "mend its pods, then set `spec.active` to true",
    ),
    KnownReason(
        _E,
        "DeactivatedDueToAdmissionCheck",
        "a check said Rejected",
        "its message is in `status.admissionChecks`; then set `spec.active` to true",
    ),
    KnownReason(
        _E,
        "DeactivatedDueToEvictedOnManagerCluster",
        "it is a copy, and the manager of other clusters has evicted the workload that it is a copy of",
    ),
    KnownReason(_D, "MaximumExecutionTimeExceeded", "it ran for longer than its own limit"),
    KnownReason(_D, "RequeuingLimitExceeded", "it came back too often without getting ready"),
    KnownReason(_D, "AdmissionCheck", "a check said Rejected"),
    KnownReason(_D, "EvictedOnManagerCluster", "it is a copy, and was evicted where it comes from"),
    KnownReason(_E, "WorkloadDeleted", "somebody deletes its Workload; it stops first and is let in anew"),
    KnownReason(
        _E, "NoMatchingWorkload", "its job asks for other pods than it was let in with; it stops and is let in anew"
    ),
    KnownReason(_P, "InClusterQueue", "for a more urgent one of its own queue"),
    KnownReason(_P, "InCohortReclamation", "for the owner of the quota that it had borrowed"),
    KnownReason(_P, "InCohortFairSharing", "for a queue with a smaller share"),
    KnownReason(_P, "InCohortReclaimWhileBorrowing", "for one that borrows itself and is more urgent"),
    KnownReason(_R, "BackoffFinished", "its back-off is over"),
    KnownReason(_R, "ClusterQueueRestarted", "its ClusterQueue goes on"),
    KnownReason(_R, "LocalQueueRestarted", "its LocalQueue goes on"),
    KnownReason(_R, "Reactivated", "it was set active again"),
    KnownReason(_F, "Succeeded", "its job has ended well"),
    KnownReason(_F, "Failed", "its job has failed"),
    KnownReason(_F, "FailedToStart", "its checks contradict the job", "the message names check, pod set and key"),
    KnownReason(_F, "OwnerNotFound", "its job is gone, or owns it no longer"),
    KnownReason(
        _F,
        "OutOfSync",
        "it was made before its job, and the job has other pods",
        "make it anew with the pods of the job",
    ),
    KnownReason(_F, "WorkloadSliceReplaced", "the next Workload of its elastic job has taken its place"),
    KnownReason(
        _S,
        "DecisionFailed",
        "a service failed on it, and leaves it alone",
        "`kuelog explain` has the error; it is tried again when anything about it changes",
    ),
    KnownReason(_S, "TakenUpAgain", "something has changed, and it is tried again"),
    KnownReason(_T, "Ready", "it takes workloads in"),
    KnownReason(_T, "Stopped", "somebody has stopped it", "`kuelog resume clusterqueue NAME`"),
    KnownReason(_T, "Terminating", "somebody has deleted it, and it is still in use"),
    KnownReason(
        _T,
        "CohortCycle",
        "its cohort is above itself",
        "`kuelog lint` names the cycle; change `parentName` of one cohort",
    ),
    KnownReason(_T, "FlavorNotFound", "a ResourceFlavor that it names does not exist", "create it"),
    KnownReason(_T, "AdmissionCheckNotFound", "an AdmissionCheck that it names does not exist", "create it"),
    KnownReason(
        _T, "AdmissionCheckInactive", "an AdmissionCheck that it names is not active", "look at that check's condition"
    ),
    KnownReason(_T, "TopologyNotFound", "the Topology of one of its flavors does not exist", "create it"),
    KnownReason(
        _T,
        "MultipleMultiKueueAdmissionChecks",
        "it names several checks of other clusters",
        "leave one",
    ),
    KnownReason(
        _T,
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        "it asks for its check of other clusters with some flavors only",
        "take `onFlavors` away",
    ),
    KnownReason(
        _T,
        "MultiKueueWithProvisioningRequest",
        "it names a check of other clusters and one of the cluster autoscaler",
        "leave one of the two",
    ),
    KnownReason(_T, "ClusterQueueDoesNotExist", "of a LocalQueue: its ClusterQueue is not there", "create it"),
    KnownReason(
        _T,
        "ClusterQueueIsInactive",
        "of a LocalQueue: its ClusterQueue takes nothing in",
        "look at that queue's condition",
    ),
    KnownReason(_T, "Active", "of a check or a MultiKueueCluster: it can be used"),
    KnownReason(
        _T,
        "SomeActiveClusters",
        "of a check: some of its clusters are missing or not connected",
        "its message names them",
    ),
    KnownReason(
        _T, "NoUsableClusters", "of a check: all of its clusters are missing or not connected", "its message names them"
    ),
    KnownReason(_T, "BadConfig", "of a check: its MultiKueueConfig is missing", "create it"),
    KnownReason(
        _T,
        "ClientConnectionFailed",
        "of a MultiKueueCluster: it does not answer, or refuses access",
        "its message says what is wrong; it is tried again by itself",
    ),
    KnownReason(
        _T,
        "BadKubeConfig",
        "of a MultiKueueCluster: its kubeconfig is not there or can't be read",
        "its message says why",
    ),
    KnownReason(
        _T,
        "InsecureKubeConfig",
        "of a MultiKueueCluster: its kubeconfig names files, programs, or skips checks",
        "have it hold a token and the authority in itself",
    ),
    KnownReason(
        _T, "BadClusterProfile", "of a MultiKueueCluster: its ClusterProfile gives no access", "its message says why"
    ),
    KnownReason(_T, "BadRestConfig", "of a MultiKueueCluster: what its ClusterProfile says may not be used"),
    KnownReason(
        _T,
        "MultiKueueClusterProfileFeatureDisabled",
        "of a MultiKueueCluster: it names a ClusterProfile",
        "`featureGates: {MultiKueueClusterProfile: true}`",
    ),
    KnownReason(
        _T,
        "BadParametersRef",
        "of a check: its ProvisioningRequestConfig is missing or can't be read",
        "its message says what is wrong",
    ),
    KnownReason(_M, "QuotaAutomated", "it follows"),
    KnownReason(
        _M,
        "NotRequested",
        "the MultiKueueConfig does not ask for it",
        "`quotaManagement: Automated` there, if it is to",
    ),
    KnownReason(
        _M,
        "UnsupportedConfiguration",
        "it can't: the message says what is missing; quota stays what it was",
        "one flavor that covers all resources of the workers' queues, and a MultiKueueConfig that is there",
    ),
    KnownReason(_B, "WithinBudget", "no threshold of the budget is reached"),
    KnownReason(
        _B,
        "ThresholdReached",
        "so many per cent of the budget are used",
        "`kuelog budget list` says when it is used up",
    ),
    KnownReason(
        _B,
        "BudgetExhausted",
        "nothing is left of the budget in its period",
        "wait for the next period, or have the budget raised or more approved of",
    ),
)
