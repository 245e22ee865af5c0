"""Every label, annotation, finalizer, scheduling gate and preemption gate of Kueue and of kuelog that is read or written, and what it is for."""

from enum import StrEnum

import msgspec

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME_SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
ADMISSION_GATED_BY = "kueue.x-k8s.io/admission-gated-by"
JOB_MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
JOB_COMPLETIONS_EQUAL_PARALLELISM = "kueue.x-k8s.io/job-completions-equal-parallelism"
ELASTIC_JOB = "kueue.x-k8s.io/elastic-job"
"""An annotation of jobs and Workloads; as a scheduling gate it holds pods back for which no slice has room."""
FORCIBLE = "kueue.x-k8s.io/safe-to-forcefully-delete"
"""Of a pod: it may be ended by force where it hangs on a node out of reach (gate FailureRecoveryPolicy)."""
WORKLOAD_SLICE_NAME = "kueue.x-k8s.io/workload-slice-name"
WORKLOAD_SLICE_REPLACEMENT_FOR = "kueue.x-k8s.io/workload-slice-replacement-for"
POD_GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_TOTAL_COUNT = "kueue.x-k8s.io/pod-group-total-count"
POD_GROUP_FAST_ADMISSION = "kueue.x-k8s.io/pod-group-fast-admission"
POD_GROUP_SERVING = "kueue.x-k8s.io/pod-group-serving"
POD_GROUP_POD_INDEX_LABEL = "kueue.x-k8s.io/pod-group-pod-index-label"
RETRIABLE_IN_GROUP = "kueue.x-k8s.io/retriable-in-group"
POD_SUSPENDING_PARENT = "kueue.x-k8s.io/pod-suspending-parent"
PREBUILT_WORKLOAD_NAME = "kueue.x-k8s.io/prebuilt-workload-name"
ROLE_HASH = "kueue.x-k8s.io/role-hash"
POD_GROUP_POD_INDEX = "kueue.x-k8s.io/pod-group-pod-index"
POD_INDEX_OFFSET = "kueue.x-k8s.io/pod-index-offset"
PODSET_REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PODSET_PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
PODSET_UNCONSTRAINED_TOPOLOGY = "kueue.x-k8s.io/podset-unconstrained-topology"
PODSET_SLICE_REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-slice-required-topology"
PODSET_SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
PODSET_SLICE_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
PODSET_GROUP_NAME = "kueue.x-k8s.io/podset-group-name"
MANAGED = "kueue.x-k8s.io/managed"
"""A label on gated pods; as a finalizer it keeps them until their outcome is on the log."""
MULTIKUEUE_ORIGIN = "kueue.x-k8s.io/multikueue-origin"
MULTIKUEUE_ORIGIN_UID = "kueue.x-k8s.io/multikueue-origin-uid"
MULTIKUEUE_WORKER_POD = "kueue.x-k8s.io/multikueue-worker-workload-pod"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
"""Before each pod that no job has made, and before those that are placed by topology until they know their domain."""
CARDS_GATE = "kuelog.io/cards"
WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
CLUSTER_QUEUE_NAME = "kueue.x-k8s.io/cluster-queue-name"
LOCAL_QUEUE_NAME = "kueue.x-k8s.io/local-queue-name"
JOB_UID = "kueue.x-k8s.io/job-uid"
JOB_OWNER_GVK = "kueue.x-k8s.io/job-owner-gvk"
JOB_OWNER_NAME = "kueue.x-k8s.io/job-owner-name"
IS_GROUP_WORKLOAD = "kueue.x-k8s.io/is-group-workload"
COMPONENT_WORKLOAD_INDEX = "kueue.x-k8s.io/component-workload-index"
MULTIKUEUE_GATE = "kueue.x-k8s.io/multikueue"
"""A preemption gate of copies: the manager of other clusters opens it in one of them at a time."""
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
CONCURRENT_ADMISSION_GATE = "kueue.x-k8s.io/concurrent-admission"
CONCURRENT_ADMISSION_PARENT = "kueue.x-k8s.io/concurrent-admission-parent"
WORKLOAD_ALLOWED_RESOURCE_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"
AUTO_GENERATED = "kueue.x-k8s.io/auto-generated"
RESOURCE_IN_USE = "kueue.x-k8s.io/resource-in-use"
"""Kueue's finalizer: what bears it stays until nothing needs it."""
NEVER_PREEMPT = "kuelog.io/never-preempt"
MINIMUM_RUNTIME = "kuelog.io/minimum-runtime"
PREEMPTION_COOLDOWN = "kuelog.io/preemption-cooldown"
PREEMPTION_CLAIMS = "kuelog.io/preemption-claims"
MAX_CONCURRENT_WORKLOADS = "kuelog.io/max-concurrent-workloads"
QUOTA_CHECK_STRATEGY = "kuelog.io/quota-check-strategy"
BUDGET = "kuelog.io/budget"
BUDGET_POLICY = "kuelog.io/budget-policy"
BUDGET_PER_USER = "kuelog.io/budget-per-user"
BUDGET_APPROVED = "kuelog.io/budget-approved"
BUDGET_PRICES = "kuelog.io/budget-prices"
USER = "kuelog.io/user"
"""On a job or pod: whose it is; the shares of users in budgets are counted by it."""
DEVICE_POLICY = "kuelog.io/device-policy"
"""On a ResourceFlavor: what the cards that are really there mean beside its quota."""
CARD_CORDON = "kuelog.io/card-cordon"
"""On a node: UUIDs of cards of any vendor that new pods are kept from; HAMi's own annotation counts as well."""
DECISION = "kuelog.io/decision"
ESTIMATE = "kuelog.io/estimate"
"""On the copy of a Workload by which another cluster asks what would happen to it here, and the answer (events/start_estimate.py)."""
PRICE = "kuelog.io/price"
"""On a MultiKueueCluster: what an hour there costs, as a plain decimal."""
LOCALITY = "kuelog.io/locality"
"""On a MultiKueueCluster: where its data are. On a job: where those are that it reads."""
CITED = "kuelog.io/cited-commit"
"""On the copy of a Workload that another cluster has sent: the commit by which it stands as it does (events/citation.py)."""
ADDED_BY_CHECKS = "kuelog.io/added-by-checks"
"""On a job: the labels and annotations that checks have added to its pod sets, to be taken out at the stop."""
POD_SETS = "kuelog.io/pod-sets"
"""A digest of the pod sets that an object was written with: by it a change is known without reading the job."""
RUN_SECONDS = "kuelog.io/run-seconds"
EXIT = "kuelog.io/exit"
TERMINATION_SECONDS = "kuelog.io/termination-seconds"


class LabelForm(StrEnum):
    """As what it stands on an object."""

    LABEL = "label"
    ANNOTATION = "annotation"
    EITHER = "label or annotation"
    FINALIZER = "finalizer"
    PREEMPTION_GATE = "preemption gate"
    GATE = "scheduling gate"


class LabelWriter(StrEnum):
    """Who writes it."""

    PEOPLE = "you"
    KUELOG = "kuelog"
    BOTH = "you or kuelog"


class Known(msgspec.Struct, frozen=True):
    """One of them, as a person looks it up."""

    key: str
    form: LabelForm
    on: str
    writer: LabelWriter
    meaning: str


_L, _A, _E, _F, _G = LabelForm.LABEL, LabelForm.ANNOTATION, LabelForm.EITHER, LabelForm.FINALIZER, LabelForm.GATE
_YOU, _OURS, _BOTH = LabelWriter.PEOPLE, LabelWriter.KUELOG, LabelWriter.BOTH
_TEMPLATES = ("pods, pod templates", _YOU)

KNOWN = (
    Known(
        QUEUE_NAME,
        _E,
        "jobs, pods, serving kinds",
        _BOTH,
        "the LocalQueue in which it waits; kuelog hands it on to the pods of serving kinds",
    ),
    Known(
        PRIORITY_CLASS,
        _L,
        "jobs, pods, serving kinds",
        _BOTH,
        "the WorkloadPriorityClass whose value orders it and says whom it may preempt",
    ),
    Known(MAX_EXEC_TIME_SECONDS, _L, "jobs, pods, serving kinds", _YOU, "it is deactivated after running for so long"),
    Known(
        ADMISSION_GATED_BY,
        _A,
        "jobs, pods, serving kinds, Workload",
        _YOU,
        "names of gates, apart by commas: it does not join the queue while one is left",
    ),
    Known(
        FORCIBLE,
        _A,
        *_TEMPLATES,
        "`true`: it is ended by force where it hangs on a node out of reach, with the gate `FailureRecoveryPolicy`",
    ),
    Known(JOB_MIN_PARALLELISM, _A, "Job", _YOU, "it may be admitted with fewer pods, with at least so many"),
    Known(JOB_COMPLETIONS_EQUAL_PARALLELISM, _A, "Job", _YOU, "with fewer pods it also has as many completions"),
    Known(
        ELASTIC_JOB,
        _A,
        "Job, RayCluster, RayJob, RayService, Workload",
        _BOTH,
        "`true`: the job may change its size while it runs; kuelog writes it on its Workloads",
    ),
    Known(
        ELASTIC_JOB, _G, "pods, pod templates", _BOTH, "taken away when a slice is admitted that has room for the pod"
    ),
    Known(
        WORKLOAD_SLICE_NAME, _A, "Workload, pods, pod templates", _OURS, "the first of the Workloads of its elastic job"
    ),
    Known(
        WORKLOAD_SLICE_REPLACEMENT_FOR,
        _A,
        "Workload",
        _OURS,
        "the Workload, `namespace/name`, whose place it takes when it is admitted",
    ),
    Known(
        POD_GROUP_NAME,
        _E,
        "pods",
        _BOTH,
        "the group that is admitted together; kuelog writes it on the pods of serving kinds",
    ),
    Known(POD_GROUP_TOTAL_COUNT, _A, "pods", _BOTH, "how many pods the group has"),
    Known(
        POD_GROUP_FAST_ADMISSION,
        _A,
        "pods",
        _BOTH,
        "the group joins the queue with its first pod, as if all of its pods were like it",
    ),
    Known(
        POD_GROUP_SERVING, _A, "pods", _BOTH, "pods of the group that end or fail are made again: they are not its end"
    ),
    Known(POD_GROUP_POD_INDEX_LABEL, _A, "pods", _BOTH, "which label says the place of a pod in its group"),
    Known(
        POD_GROUP_POD_INDEX,
        _L,
        "pods",
        _BOTH,
        "the place of a pod in its group; kuelog copies it from the label so named",
    ),
    Known(
        POD_INDEX_OFFSET,
        _A,
        "pods, pod templates",
        _BOTH,
        "with what index the pods of a pod set begin; kuelog writes 1 where a leader takes the first",
    ),
    Known(PODSET_REQUIRED_TOPOLOGY, _A, *_TEMPLATES, "the level whose one domain takes all pods"),
    Known(PODSET_PREFERRED_TOPOLOGY, _A, *_TEMPLATES, "the level whose one domain takes all pods, if one can"),
    Known(PODSET_UNCONSTRAINED_TOPOLOGY, _A, *_TEMPLATES, "its pods are placed, anywhere there is room"),
    Known(
        PODSET_SLICE_REQUIRED_TOPOLOGY,
        _A,
        *_TEMPLATES,
        "the level of which each slice, so many pods in succession, gets one domain",
    ),
    Known(PODSET_SLICE_SIZE, _A, *_TEMPLATES, "how many pods are a slice"),
    Known(
        PODSET_SLICE_LAYERS,
        _A,
        *_TEMPLATES,
        "up to three layers of slices, the widest first: a JSON list of level (`topology`) and `size`",
    ),
    Known(
        PODSET_GROUP_NAME,
        _A,
        *_TEMPLATES,
        "two pod sets that share one placement and one flavor, as a leader and its workers",
    ),
    Known(RETRIABLE_IN_GROUP, _A, "pods", _YOU, "`false` on any pod: the group fails with the next pod that fails"),
    Known(POD_SUSPENDING_PARENT, _A, "pods", _BOTH, "the kind that made the pod and makes another when it is gone"),
    Known(
        PREBUILT_WORKLOAD_NAME,
        _E,
        "jobs, pods",
        _BOTH,
        "the Workload, made before it, in which it is to run (on pods as a label); on pods of serving kinds that of their group, by which Kueue finds it at a take-over",
    ),
    Known(ROLE_HASH, _A, "pods", _OURS, "a digest of the pod's shape: pods of one role are one pod set"),
    Known(MULTIKUEUE_ORIGIN, _L, "Workloads and jobs in other clusters", _OURS, "which manager has made them there"),
    Known(
        MULTIKUEUE_ORIGIN_UID,
        _A,
        "StatefulSets and LeaderWorkerSets in other clusters",
        _OURS,
        "the UID of the object of which it is a copy",
    ),
    Known(
        MULTIKUEUE_WORKER_POD,
        _L,
        "pods, pod templates",
        _OURS,
        "`true` where the manager of other clusters has sent the workload of the pod here",
    ),
    Known(MANAGED, _L, "pods, PodTemplates, ProvisioningRequests", _OURS, "queueing decides over it"),
    Known(MANAGED, _F, "pods", _OURS, "the pod stays until its outcome is on the log"),
    Known(ADMISSION_GATE, _G, "pods", _BOTH, "taken away when the workload of the pod is admitted"),
    Known(
        TOPOLOGY_GATE,
        _G,
        "pods, pod templates",
        _BOTH,
        "taken away with the other, or, where pods are placed by topology, when it is known where this one goes",
    ),
    Known(CARDS_GATE, _G, "pods", _OURS, "taken away when the pod's own cards are written on it"),
    Known(WORKLOAD, _A, "pods, pod templates", _OURS, "the Workload to which the pod belongs"),
    Known(POD_SET, _L, "pods, pod templates", _OURS, "its pod set"),
    Known(
        CLUSTER_QUEUE_NAME,
        _L,
        "pods, pod templates",
        _OURS,
        "the ClusterQueue that admitted it, if its name is a DNS label",
    ),
    Known(LOCAL_QUEUE_NAME, _L, "pods, pod templates", _OURS, "the LocalQueue in which it waited"),
    Known(JOB_UID, _L, "Workload", _OURS, "the uid of its job"),
    Known(JOB_OWNER_GVK, _A, "Workload", _OURS, "kind of the object that a group of pods belongs to"),
    Known(JOB_OWNER_NAME, _A, "Workload", _OURS, "its name"),
    Known(IS_GROUP_WORKLOAD, _A, "Workload", _OURS, "it is that of a group of pods"),
    Known(COMPONENT_WORKLOAD_INDEX, _A, "Workload", _OURS, "which of several Workloads of one object it is"),
    Known(PRIORITY_BOOST, _A, "Workload", _YOU, "added to its priority where it is compared with others"),
    Known(
        WORKLOAD_ALLOWED_RESOURCE_FLAVORS, _A, "Workload", _BOTH, "the only flavors that it may get, apart by commas"
    ),
    Known(
        CONCURRENT_ADMISSION_GATE,
        LabelForm.PREEMPTION_GATE,
        "Workload",
        _OURS,
        "a variant preempts nobody before it is its turn",
    ),
    Known(
        MULTIKUEUE_GATE,
        LabelForm.PREEMPTION_GATE,
        "Workloads in other clusters",
        _OURS,
        "its copies preempt nobody before it is their turn",
    ),
    Known(CONCURRENT_ADMISSION_PARENT, _L, "Workload", _OURS, "there are variants of it, one for each flavor"),
    Known(AUTO_GENERATED, _L, "LocalQueue", _OURS, "that `kuelog populator` has made it"),
    Known(
        RESOURCE_IN_USE,
        _F,
        "ClusterQueue, ResourceFlavor, Topology, AdmissionCheck, Workload",
        _OURS,
        "the object stays until nothing needs it",
    ),
    Known(
        NEVER_PREEMPT,
        _E,
        "jobs, pods, serving kinds, Workload, ClusterQueue",
        _YOU,
        "`true`: it is never preempted; `false` on a ClusterQueue: there its jobs' marks count for nothing",
    ),
    Known(
        MINIMUM_RUNTIME, _A, "ClusterQueue", _YOU, "its workloads are not preempted before they have run for so long"
    ),
    Known(PREEMPTION_COOLDOWN, _A, "ClusterQueue", _YOU, "nor again before so long after they were preempted last"),
    Known(
        PREEMPTION_CLAIMS,
        _A,
        "ClusterQueue",
        _YOU,
        "room that victims of its preemptions leave is kept for the preemptor",
    ),
    Known(MAX_CONCURRENT_WORKLOADS, _A, "ClusterQueue", _YOU, "so many of its workloads hold quota at once"),
    Known(
        QUOTA_CHECK_STRATEGY,
        _A,
        "ClusterQueue",
        _YOU,
        "`IgnoreUndeclared` or `BlockUndeclared`: what becomes of resources that it does not declare",
    ),
    Known(BUDGET, _A, "ClusterQueue, Namespace", _YOU, "unit-hours and money per day, week or month"),
    Known(
        BUDGET_POLICY,
        _A,
        "ClusterQueue, Namespace",
        _YOU,
        "what becomes of workloads when its budget is used up, when that is told, and what is carried over",
    ),
    Known(BUDGET_PER_USER, _A, "ClusterQueue, Namespace", _YOU, "what each user may have of its budget"),
    Known(
        BUDGET_APPROVED,
        _A,
        "ClusterQueue, Namespace",
        _YOU,
        "what was approved of on top of its budget; `kuelog budget approve` writes it",
    ),
    Known(BUDGET_PRICES, _A, "AdmissionCheck", _YOU, "what budgets in money go by: prices an hour"),
    Known(
        USER,
        _L,
        "jobs, pods, serving kinds, Workload",
        _YOU,
        "whose it is: the user whose share of a budget it counts in",
    ),
    Known(DEVICE_POLICY, _A, "ResourceFlavor", _YOU, "what the cards that are there mean beside the quota"),
    Known(CARD_CORDON, _A, "Node", _YOU, "UUIDs of cards that new pods are kept from"),
    Known(
        DECISION,
        _A,
        "jobs, Workload, PodTemplates and ProvisioningRequests of checks",
        _OURS,
        "which decision of the log it bears",
    ),
    Known(
        ESTIMATE,
        _A,
        "Workloads from other clusters",
        _OURS,
        "the question what would happen to it, and the answer",
    ),
    Known(PRICE, _A, "MultiKueueCluster", _YOU, "what an hour there costs, by which clusters are preferred"),
    Known(LOCALITY, _L, "MultiKueueCluster, jobs", _YOU, "where data are: a job prefers a cluster with the same"),
    Known(
        CITED,
        _A,
        "Workloads from other clusters",
        _OURS,
        "by which commit of this cluster's log it stands so: stream, sequence and hash",
    ),
    Known(ADDED_BY_CHECKS, _A, "jobs", _OURS, "what checks added to its pod sets, to be taken out at the stop"),
    Known(POD_SETS, _A, "Workload", _OURS, "a digest of the pod sets it was written with"),
    Known(RUN_SECONDS, _A, "pods, in the embedded cluster alone", _YOU, "how long the pod runs"),
    Known(EXIT, _A, "pods, in the embedded cluster alone", _YOU, "the code with which it ends"),
    Known(TERMINATION_SECONDS, _A, "pods, in the embedded cluster alone", _YOU, "how long it takes to stop"),
)
"""All of them; docs/labels.md is made of this list."""
