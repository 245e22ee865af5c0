"""The Job that creates the streams of the log, anew with each release."""

from events.json_object import JsonObject
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.deployments import ON_BUS, container_of, labels, pod_of
from ops.production.deploy.on_bus import put_on_bus
from ops.production.deploy.permissions import service_account

_MADE_ANEW = {
    "argocd.argoproj.io/hook": "Sync",
    "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
}
"""Argo CD gives every release of a chart the same revision, and a Job can't be changed: it removes the one before. As a hook of
its phase Sync it comes with all the rest, and is not missed once it has ended and is gone."""


def streams_job(values: ChartValues) -> list[JsonObject]:
    """A Job that creates the streams, three times each: the only one whose user may. It divides a log that is still empty."""
    kept = ["--replicas", values.count("bus.replicas"), "--max-bytes", values.count("bus.maxBytes")]
    args = ["deploy", "streams", *kept, "--partitions", values.count("partitions")]
    container = container_of(values, "streams", args)
    put_on_bus(values, container, "streams")
    account = service_account(values, "streams")
    return [
        account,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            # No hook of Helm's: one that comes after all is ready would wait for services that wait for streams.
            "metadata": {
                "name": f"kuelog-streams{values.revision}",
                "namespace": values.namespace,
                "annotations": dict(_MADE_ANEW),
            },
            "spec": {
                "backoffLimit": 20,
                "ttlSecondsAfterFinished": 600,
                "template": {
                    "metadata": {"labels": {**labels("streams"), ON_BUS: "true"}},
                    "spec": {**pod_of(values, "streams", container, []), "restartPolicy": "OnFailure"},
                },
            },
        },
    ]
