"""What keeps the log short in a cluster: a job every so often that rolls streams, with a volume for its witness and its archive.

It is the only one whose user may remove a stream, never runs twice at once, and is given nothing of the cluster itself.
"""

from events.json_object import JsonObject
from ops.production.archive.archivist import ARCHIVE
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.deployments import ON_BUS, container_of, labels, pod_of
from ops.production.deploy.on_bus import put_on_bus
from ops.production.deploy.permissions import service_account

ARCHIVIST = "archivist"
_NAME = f"kuelog-{ARCHIVIST}"
_PLACE = "/var/lib/kuelog"


def archivist(values: ChartValues) -> list[JsonObject]:
    """The archivist: account, volume and CronJob."""
    limits = ["--max-bytes", values.count("archivist.maxBytes"), "--days", values.count("archivist.days")]
    places = ["--witness", f"{_PLACE}/witness", "--archive", values.text("archivist.archive")]
    container = container_of(values, ARCHIVIST, ["log", "roll", "--nats", "$(KUELOG_NATS)", *places, *limits])
    put_on_bus(values, container, ARCHIVIST)
    container["env"] += [
        {"name": "KUELOG_HAND_OUT", "value": values.text("archivist.handOut")},
        {"name": "KUELOG_HUB_COPIES", "value": values.quoted_json("archivist.hubCopies")},
        {"name": "KUELOG_TIMESTAMP", "value": values.text("archivist.timestamp")},
    ]
    # Who it is to a storage elsewhere, by the variables of that: AWS_ACCESS_KEY_ID and the like.
    container["envFrom"] = [{"secretRef": {"name": _NAME, "optional": True}}]
    container["volumeMounts"].append({"name": ARCHIVE, "mountPath": _PLACE})
    volume: JsonObject = {"name": ARCHIVE, "persistentVolumeClaim": {"claimName": _NAME}}
    pod = {**pod_of(values, ARCHIVIST, container, [volume]), "restartPolicy": "Never"}
    meta = {"name": _NAME, "namespace": values.namespace, "labels": labels(ARCHIVIST)}
    return [
        service_account(values, ARCHIVIST),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            # The proof of all that was removed from the bus: it outlives an uninstalled chart.
            "metadata": {**meta, "annotations": {"helm.sh/resource-policy": "keep"}},
            "spec": values.whole("archivist.volume"),
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": meta,
            "spec": {
                "schedule": values.text("archivist.schedule"),
                "suspend": values.whole("archivist.suspend"),
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {
                    "spec": {
                        "backoffLimit": 0,
                        "template": {"metadata": {"labels": {**labels(ARCHIVIST), ON_BUS: "true"}}, "spec": pod},
                    }
                },
            },
        },
    ]
