"""What serves instead of ending: its pods are what is let in, so their templates say to which queue they belong."""

from typing import Any

from services.jobs.paths import Location, Plain, get, put
from services.jobs.pods import FAST, GROUP, PARENT, SERVING, TOTAL

QUEUE = "kueue.x-k8s.io/queue-name"
_PRIORITY = "kueue.x-k8s.io/priority-class"
_NAME_LIMIT = 63
RESOURCES = (
    ("apps", ("v1",), ("deployments", "statefulsets")),
    ("leaderworkerset.x-k8s.io", ("v1",), ("leaderworkersets",)),
)
"""Their places on the API: group, versions, plurals."""
_TEMPLATES: dict[tuple[str, str], tuple[Location, ...]] = {
    ("apps", "Deployment"): (("spec", "template"),),
    ("apps", "StatefulSet"): (("spec", "template"),),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
}


def queued_pods(group: str, kind: str, value: Plain) -> Plain:
    """The object with its queue on its pods: one workload per pod of a Deployment, one for all pods of a StatefulSet."""
    labels: dict[str, Any] = (value.get("metadata") or {}).get("labels") or {}
    if not labels.get(QUEUE):
        return value
    for at in _TEMPLATES.get((group, kind), ()):
        if get(value, at) is None:
            continue
        value = put(value, (*at, "metadata", "annotations", PARENT), kind.lower())
        for label in (QUEUE, _PRIORITY):
            if labels.get(label):
                value = put(value, (*at, "metadata", "labels", label), labels[label])
        if kind == "StatefulSet":
            value = _grouped(value, at)
    return value


def _grouped(value: Plain, at: Location) -> Plain:
    replicas = get(value, ("spec", "replicas"))
    name = f"statefulset-{value['metadata'].get('name', '')}"[:_NAME_LIMIT]
    value = put(value, (*at, "metadata", "labels", GROUP), name)
    notes = {TOTAL: str(1 if replicas is None else replicas), FAST: "true", SERVING: "true"}
    for note, text in notes.items():
        value = put(value, (*at, "metadata", "annotations", note), text)
    return value
