"""Where a job says who runs it (`managedBy`): a job that another cluster runs is left alone by its own controller here."""

from events.json_object import JsonObject
from events.json_path import get, put
from events.settings import SettingsObserved
from projections.feature_gates import enabled

MULTIKUEUE_MANAGER = "kueue.x-k8s.io/multikueue"
"""What a job says that may run on another cluster."""
CUSTOM_JOBS = "MultiKueueAdaptersForCustomJobs"
"""The gate by which kinds that the configuration names may run on other clusters."""
_SPEC, _RUN_POLICY = "spec.managedBy", "spec.runPolicy.managedBy"
_TRAINING, _RAY = "kubeflow.org/training-operator", "ray.io/kuberay-operator"
_FIELDS = {
    ("batch", "Job"): (_SPEC, "kubernetes.io/job-controller"),
    ("jobset.x-k8s.io", "JobSet"): (_SPEC, "jobset.sigs.k8s.io/jobset-controller"),
    ("trainer.kubeflow.org", "TrainJob"): (_SPEC, "trainer.kubeflow.org/trainjob-controller"),
    ("kubeflow.org", "MPIJob"): (_RUN_POLICY, "kubeflow.org/mpi-operator"),
    ("kubeflow.org", "PyTorchJob"): (_RUN_POLICY, _TRAINING),
    ("kubeflow.org", "TFJob"): (_RUN_POLICY, _TRAINING),
    ("kubeflow.org", "XGBoostJob"): (_RUN_POLICY, _TRAINING),
    ("kubeflow.org", "PaddleJob"): (_RUN_POLICY, _TRAINING),
    ("kubeflow.org", "JAXJob"): (_RUN_POLICY, _TRAINING),
    ("ray.io", "RayJob"): (_SPEC, _RAY),
    ("ray.io", "RayCluster"): (_SPEC, _RAY),
    ("ray.io", "RayService"): (_SPEC, _RAY),
    ("workload.codeflare.dev", "AppWrapper"): (_SPEC, "workload.codeflare.dev/appwrapper"),
}
"""By kind, where the field is, and the name of the kind's own controller: what an empty field means."""


def managed_by_path(settings: SettingsObserved, group: str, kind: str) -> str:
    """The path of the field; empty for kinds that have none, or do not run on other clusters.

    Kinds that the configuration names have it at the place of a plain Job's.
    """
    path, _ = _FIELDS.get((group, kind), ("", ""))
    return path or (_SPEC if is_external(settings, group, kind) and enabled(settings, CUSTOM_JOBS) else "")


def is_external(settings: SettingsObserved, group: str, kind: str) -> bool:
    """Whether it is the configuration that names a kind as one that may run on other clusters."""
    rule = settings.multikueue
    return rule is not None and any(parts_of(one) == (kind, group) for one in rule.external_frameworks)


def has_adapter(group: str, kind: str) -> bool:
    """Whether jobs of a kind run on other clusters without being named in the configuration."""
    return (group, kind) in _FIELDS


def parts_of(name: str) -> tuple[str, str]:
    """Kind and group of what is written as `Kind.version.group`."""
    kind, _, rest = name.partition(".")
    return kind, rest.partition(".")[2]


def given_to_multikueue(value: JsonObject, kind: str) -> JsonObject:
    """A new job that says so, unless somebody else than its kind's own controller is named; other kinds as they are.

    Rule: docs/rules/multikueue.md#managed-by
    """
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    path, own = _FIELDS.get((group, kind), ("", ""))
    place = tuple(path.split("."))
    if not path or get(value, place) not in (None, own):
        return value
    return put(value, place, MULTIKUEUE_MANAGER)
