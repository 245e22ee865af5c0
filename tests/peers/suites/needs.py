"""What each suite needs of kuelog's configuration that it gives to nobody who could be listened to."""

FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "controller/jobs/appwrapper": ("workload.codeflare.dev/appwrapper",),
    "controller/jobs/jaxjob": ("kubeflow.org/jaxjob",),
    "controller/jobs/jobset": ("jobset.x-k8s.io/jobset",),
    "controller/jobs/mpijob": ("kubeflow.org/mpijob",),
    "controller/jobs/paddlejob": ("kubeflow.org/paddlejob",),
    "controller/jobs/pod": ("pod",),
    "controller/jobs/pytorchjob": ("kubeflow.org/pytorchjob",),
    "controller/jobs/raycluster": ("ray.io/raycluster", "ray.io/rayjob"),
    "controller/jobs/rayjob": ("ray.io/rayjob", "ray.io/raycluster"),
    "controller/jobs/sparkapplication": ("sparkoperator.k8s.io/sparkapplication",),
    "controller/jobs/tfjob": ("kubeflow.org/tfjob",),
    "controller/jobs/xgboostjob": ("kubeflow.org/xgboostjob",),
    "importer": ("pod",),
    "tas": ("pod",),
}
"""By suite, the kinds of jobs that queues manage, besides `batch/job`."""
OF_ALL_KINDS = frozenset({"webhook/jobs", "multikueue"})
"""Suites in which queues manage all kinds."""

_WRITTEN = (
    "once admitted",
    "podSets should not be updated: podSpec",
    "Should forbid the change of (spec.podSet|spec.queueName|status.admission)",
    "cannot (add|update) maximum execution",
    "can't (set|update|delete) (workload|pod) priority class",
    "admission should not be updated once set",
    "podSetUpdates should be immutable",
)
BEFORE_WEBHOOKS: dict[str, str] = {"webhook/core": "|".join(_WRITTEN)}
"""By suite without a scheduler, which specs write an admission or a check themselves, to have the next write judged.

Services would take it back, so they are run before the webhooks alone.
"""


def frameworks(suite: str) -> list[str]:
    """The kinds that queues manage in a suite; all of them where none is named."""
    return [] if suite in OF_ALL_KINDS else ["batch/job", *FRAMEWORKS.get(suite, ())]


_WITH_SCHEDULER = "(?i)interacting with scheduler|topologyawarescheduling|workload-slices|preemption enabled|TAS"


def focus_of(suite: str) -> str:
    """Which specs are run of a suite: of controllers of jobs those beside a scheduler, of several clusters those about clusters.

    In all others the spec itself decides, where kuelog would.
    """
    if suite == "multikueue":
        return "ClusterProfile|MultiKueueClusters"
    return _WITH_SCHEDULER if suite.startswith("controller/jobs/") else ""
