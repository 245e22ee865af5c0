"""The kinds of jobs that are known: one row each."""

from events.job_kind import Ending, Factor, JobKind, PodsAt, Sign

_CONDITION = "status.conditions[{}].status"
_MESSAGE = "status.conditions[{}].message"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""The label, and annotation, in which a pod of an Indexed Job bears its index."""
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
STATEFUL_SET_INDEX = "apps.kubernetes.io/pod-index"


def _ending(condition: str, *, succeeded: bool = False) -> Ending:
    return Ending(sign=Sign(at=_CONDITION.format(condition)), succeeded=succeeded, message=_MESSAGE.format(condition))


def _is(condition: str) -> Sign:
    return Sign(at=_CONDITION.format(condition))


def _training(kind: str, plural: str, specs: str, *roles: str, version: str = "v1") -> JobKind:
    """One of Kubeflow's kinds that list their pods by role."""
    return JobKind(
        group="kubeflow.org",
        versions=(version,),
        kind=kind,
        plural=plural,
        pods=tuple(
            PodsAt(at=f"spec.{specs}.{role}", count=(Factor(path="replicas"),), pod_index_label=REPLICA_INDEX)
            for role in roles
        ),
        suspend="spec.runPolicy.suspend",
        priority_class="spec.runPolicy.schedulingPolicy.priorityClass",
        endings=(_ending("Succeeded", succeeded=True), _ending("Failed")),
        stopped=_is("Suspended"),
        active=("status.replicaStatuses.*.active",),
        ready=_is("Running"),
    )


JOB = JobKind(
    group="batch",
    versions=("v1",),
    kind="Job",
    plural="jobs",
    pods=(
        PodsAt(
            at="spec",
            name="main",
            count=(Factor(path="parallelism", cap="completions"),),
            pod_index_label=COMPLETION_INDEX,
        ),
    ),
    reader="job",
    endings=(_ending("Complete", succeeded=True), _ending("Failed")),
    stopped=_is("Suspended"),
    active=("status.active", "status.terminating"),
    counter="job",
)
JOB_SET = JobKind(
    group="jobset.x-k8s.io",
    versions=("v1alpha2",),
    kind="JobSet",
    plural="jobsets",
    pods=(
        PodsAt(
            at="spec.replicatedJobs.*",
            template="template.spec.template",
            name_at="name",
            count=(
                Factor(path="replicas"),
                Factor(path="template.spec.parallelism", cap="template.spec.completions"),
            ),
            pod_index_label=COMPLETION_INDEX,
            sub_group_index_label=JOB_INDEX,
        ),
    ),
    endings=(_ending("Completed", succeeded=True), _ending("Failed")),
    stopped=_is("Suspended"),
    active=("status.replicatedJobsStatus.*.active",),
    replicas="status.replicatedJobsStatus.*",
    counter="replicas",
)
TRAIN_JOB = JobKind(
    group="trainer.kubeflow.org",
    versions=("v1alpha1",),
    kind="TrainJob",
    plural="trainjobs",
    reader="train job",
    endings=(_ending("Complete", succeeded=True), _ending("Failed")),
    stopped=_is("Suspended"),
    active=("status.jobsStatus.*.active",),
    replicas="status.jobsStatus.*",
    counter="replicas",
)
_RAY_JOB_OVER = Sign(at="status.jobDeploymentStatus", values=("Complete", "Failed"))
"""Its cluster is done with; that is also so when somebody has stopped what ran on it."""
RAY_JOB = JobKind(
    group="ray.io",
    versions=("v1",),
    kind="RayJob",
    plural="rayjobs",
    reader="ray job",
    endings=(
        Ending(
            sign=_RAY_JOB_OVER,
            unless=Sign(at="status.jobStatus", values=("SUCCEEDED",)),
            message="status.message",
        ),
        Ending(sign=_RAY_JOB_OVER, succeeded=True, message="status.message"),
    ),
    stopped=Sign(at="status.jobDeploymentStatus", values=("Suspended",)),
    # Its pods are those of its cluster; when its entrypoint is submitted says nothing of them.
    ready=Sign(at="status.rayClusterStatus.state", values=("ready",)),
)
RAY_CLUSTER = JobKind(
    group="ray.io",
    versions=("v1",),
    kind="RayCluster",
    plural="rayclusters",
    reader="ray cluster",
    stopped=Sign(at="status.state", values=("suspended",)),
    ready=Sign(at="status.state", values=("ready",)),
)
RAY_SERVICE = JobKind(
    group="ray.io",
    versions=("v1",),
    kind="RayService",
    plural="rayservices",
    reader="ray service",
    suspend="spec.rayClusterConfig.suspend",
    stopped=Sign(at="status.activeServiceStatus.rayClusterStatus.state", values=("suspended",)),
    ready=_is("Ready"),
)
APP_WRAPPER = JobKind(
    group="workload.codeflare.dev",
    versions=("v1beta2",),
    kind="AppWrapper",
    plural="appwrappers",
    reader="components",
    endings=(
        Ending(
            sign=Sign(at="status.phase", values=("Succeeded",)),
            succeeded=True,
            says="AppWrapper finished successfully",
        ),
        Ending(
            sign=Sign(at="status.phase", values=("Failed",)), unless=_is("ResourcesDeployed"), says="AppWrapper failed"
        ),
    ),
    stopped=Sign(at="status.phase", values=("Suspended",)),
    ready=_is("PodsReady"),
)
SPARK = JobKind(
    group="sparkoperator.k8s.io",
    versions=("v1beta2",),
    kind="SparkApplication",
    plural="sparkapplications",
    reader="spark",
    endings=(
        Ending(sign=Sign(at="status.applicationState.state", values=("COMPLETED",)), succeeded=True),
        Ending(
            sign=Sign(at="status.applicationState.state", values=("FAILED", "SUBMISSION_FAILED")),
            message="status.applicationState.errorMessage",
        ),
    ),
    stopped=Sign(at="status.applicationState.state", values=("SUSPENDED",)),
    ready=Sign(at="status.applicationState.state", values=("RUNNING",)),
)

POD = JobKind(group="", versions=("v1",), kind="Pod", plural="pods", reader="pods")
POD_GROUP = JobKind(group="", versions=("v1",), kind="PodGroup", plural="pods", reader="pods")
"""Not a kind of the API: pods that name a group. The rules of both are in `services.jobs.kinds.pods`."""

DEPLOYMENT = JobKind(group="apps", versions=("v1",), kind="Deployment", plural="deployments", reader="pods")
STATEFUL_SET = JobKind(group="apps", versions=("v1",), kind="StatefulSet", plural="statefulsets", reader="pods")
LEADER_WORKER_SET = JobKind(
    group="leaderworkerset.x-k8s.io",
    versions=("v1",),
    kind="LeaderWorkerSet",
    plural="leaderworkersets",
    reader="pods",
)
REPLICA_SET = JobKind(group="apps", versions=("v1",), kind="ReplicaSet", plural="replicasets", reader="pods")
"""What a Deployment makes its pods with: nobody's kind of job, only on the way from them to it."""
SERVING = {
    "deployment": DEPLOYMENT,
    "statefulset": STATEFUL_SET,
    "leaderworkerset.x-k8s.io/leaderworkerset": LEADER_WORKER_SET,
}
"""Serving kinds by their name in a configuration file: their pods are what is admitted."""

KINDS: tuple[JobKind, ...] = (
    JOB,
    POD,
    POD_GROUP,
    JOB_SET,
    TRAIN_JOB,
    _training("MPIJob", "mpijobs", "mpiReplicaSpecs", "Launcher", "Worker", version="v2beta1"),
    _training("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", "Master", "Worker"),
    _training("TFJob", "tfjobs", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _training("XGBoostJob", "xgboostjobs", "xgbReplicaSpecs", "Master", "Worker"),
    _training("PaddleJob", "paddlejobs", "paddleReplicaSpecs", "Master", "Worker"),
    _training("JAXJob", "jaxjobs", "jaxReplicaSpecs", "Worker"),
    RAY_JOB,
    RAY_CLUSTER,
    RAY_SERVICE,
    APP_WRAPPER,
    SPARK,
)
