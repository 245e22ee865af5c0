"""Where a job says who runs it (`managedBy`): a job that another cluster runs is left alone by its own controller here."""

MULTIKUEUE_MANAGER = "kueue.x-k8s.io/multikueue"
"""What a job says that may run on another cluster."""
_SPEC, _RUN_POLICY = "spec.managedBy", "spec.runPolicy.managedBy"
_PATHS = {
    ("batch", "Job"): _SPEC,
    ("jobset.x-k8s.io", "JobSet"): _SPEC,
    ("trainer.kubeflow.org", "TrainJob"): _SPEC,
    ("kubeflow.org", "MPIJob"): _RUN_POLICY,
    ("kubeflow.org", "PyTorchJob"): _RUN_POLICY,
    ("kubeflow.org", "TFJob"): _RUN_POLICY,
    ("kubeflow.org", "XGBoostJob"): _RUN_POLICY,
    ("kubeflow.org", "PaddleJob"): _RUN_POLICY,
    ("kubeflow.org", "JAXJob"): _RUN_POLICY,
    ("ray.io", "RayJob"): _SPEC,
    ("ray.io", "RayCluster"): _SPEC,
    ("ray.io", "RayService"): _SPEC,
    ("workload.codeflare.dev", "AppWrapper"): _SPEC,
}


def managed_by_path(group: str, kind: str) -> str:
    """The path of the field; empty for kinds that have none."""
    return _PATHS.get((group, kind), "")
