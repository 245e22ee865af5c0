"""Where a job says who runs it (`managedBy`): a job that another cluster runs is left alone by its own controller here."""

from events.json_object import JsonObject
from events.json_path import get, put

MULTIKUEUE_MANAGER = "kueue.x-k8s.io/multikueue"
"""What a job says that may run on another cluster."""
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


def managed_by_path(group: str, kind: str) -> str:
    """The path of the field; empty for kinds that have none."""
    path, _ = _FIELDS.get((group, kind), ("", ""))
    return path


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
