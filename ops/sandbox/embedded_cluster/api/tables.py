"""The tables that kubectl prints: columns of a kind, and the cells of its objects."""

from collections.abc import Callable, Sequence
from typing import Any

from events.event import Millis
from events.timestamp import parse_timestamp
from ops.sandbox.embedded_cluster.kinds import ApiKind, PrinterColumn
from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Object

METADATA, WHOLE, NOTHING = "Metadata", "Object", "None"
"""What of its object each row carries: kubectl asks for all of it to sort by a field."""


def table(
    kind: ApiKind, objects: Sequence[Object], now: Millis, list_meta: Object, including: str = METADATA
) -> Object:
    """A meta.k8s.io/v1 Table of these objects."""
    columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
    columns += [
        {
            "name": column.name,
            "type": column.type if column.type != "date" else "string",
            "format": "",
            "description": "",
            "priority": column.priority,
        }
        for column in _columns(kind)
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_meta,
        "columnDefinitions": columns,
        "rows": [{"cells": _cells(kind, value, now), "object": _included(kind, value, including)} for value in objects],
    }


def _cells(kind: ApiKind, value: Object, now: Millis) -> list[Any]:
    cells: list[Any] = [value["metadata"]["name"]]
    for column in _columns(kind):
        found = _SPECIAL[column.path](value) if column.path.startswith("@") else look(value, column.path)
        if column.type == "date" and isinstance(found, str):
            found = age(found, now)
        cells.append("<none>" if found is None else found if isinstance(found, int) else str(found))
    return cells


def _columns(kind: ApiKind) -> list[PrinterColumn]:
    """The columns behind the name: those that are always shown, the age, and those of wide output."""
    own = [column for column in kind.columns if column.name != "Age"]
    always = [column for column in own if not column.priority]
    return [*always, _AGE, *(column for column in own if column.priority)]


_AGE = PrinterColumn("Age", "metadata.creationTimestamp", "date")


def age(text: str, now: Millis) -> str:
    """How long ago, as kubectl says it."""
    if not text:
        return "<unknown>"
    seconds = max((now - parse_timestamp(text)) // 1000, 0)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size or (unit != "m" and seconds >= size):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _included(kind: ApiKind, value: Object, including: str) -> Object | None:
    if including == NOTHING:
        return None
    if including == WHOLE:
        return {"kind": kind.kind, "apiVersion": kind.api_version, **value}
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]}


def _node_status(value: Object) -> str:
    ready = look(value, 'status.conditions[?(@.type=="Ready")].status')
    status = "Ready" if ready == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if look(value, "spec.unschedulable") else status


def _pod_ready(value: Object) -> str:
    ready = look(value, 'status.conditions[?(@.type=="Ready")].status') == "True"
    total = len(look(value, "spec.containers") or ())
    return f"{total if ready else 0}/{total}"


def _pod_status(value: Object) -> str:
    if value["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase = str(look(value, "status.phase") or "Pending")
    return {"Succeeded": "Completed", "Failed": "Error"}.get(phase, phase)


def _event_object(value: Object) -> str:
    about = value.get("involvedObject") or value.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _job_status(value: Object) -> str:
    for kind in ("Complete", "Failed", "Suspended"):
        if look(value, f'status.conditions[?(@.type=="{kind}")].status') == "True":
            return kind
    return "Running"


def _job_completions(value: Object) -> str:
    return f"{look(value, 'status.succeeded') or 0}/{look(value, 'spec.completions') or 1}"


def _containers(value: Object) -> list[Object]:
    paths = ("spec.jobTemplate.spec.template.spec.containers", "spec.template.spec.containers", "spec.containers")
    return next((found for path in paths if (found := look(value, path))), [])


def _node_product(value: Object) -> str | None:
    labels = value["metadata"].get("labels") or {}
    return next((labels[one.label] for one in DIALECTS.values() if one.label in labels), None)


def _node_cards(value: Object) -> int:
    counts = [(value["metadata"].get("labels") or {}).get(f"{one.count}.count", "") for one in DIALECTS.values()]
    return sum(int(text) for text in counts if text.isdecimal())


def _pod_restarts(value: Object) -> int:
    return sum(int(one.get("restartCount", 0)) for one in look(value, "status.containerStatuses") or ())


def _service_ports(value: Object) -> str | None:
    ports = look(value, "spec.ports") or ()
    return ",".join(f"{one.get('port')}/{one.get('protocol', 'TCP')}" for one in ports) or None


def _pairs(value: Any) -> str | None:
    return ",".join(f"{name}={text}" for name, text in sorted((value or {}).items())) or None


def _quota_amounts(value: Object, prefix: str) -> str:
    """What is used of what is allowed, of requests or of limits."""
    hard, used = look(value, "spec.hard") or {}, look(value, "status.used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is (prefix == "limits.")]
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)


def _bound_role(value: Object) -> str:
    return f"{look(value, 'roleRef.kind')}/{look(value, 'roleRef.name')}"


def _active_jobs(value: Object) -> int:
    return len(look(value, "status.active") or ())


def _replicas_ready(value: Object) -> str:
    ready = look(value, "status.readyReplicas") or 0
    return str(ready) if value["kind"] == "ReplicaSet" else f"{ready}/{look(value, 'spec.replicas')}"


_SPECIAL: dict[str, Callable[[Object], str | int | None]] = {
    "@containers": lambda value: ",".join(str(one.get("name", "")) for one in _containers(value)),
    "@images": lambda value: ",".join(str(one.get("image", "")) for one in _containers(value)),
    "@node-product": _node_product,
    "@node-cards": _node_cards,
    "@replicas": lambda value: look(value, "status.replicas") or 0,
    "@replicas-ready": _replicas_ready,
    "@replicas-updated": lambda value: look(value, "status.updatedReplicas") or 0,
    "@replicas-available": lambda value: look(value, "status.availableReplicas") or 0,
    "@node-status": _node_status,
    "@pod-ready": _pod_ready,
    "@pod-status": _pod_status,
    "@pod-restarts": _pod_restarts,
    "@event-object": _event_object,
    "@data": lambda value: len(value.get("data") or {}) + len(value.get("binaryData") or {}),
    "@claim-state": lambda value: (
        ",".join(
            [
                *(["allocated"] if look(value, "status.allocation") else []),
                *(["reserved"] if look(value, "status.reservedFor") else []),
            ]
        )
        or "pending"
    ),
    "@secrets": lambda value: len(value.get("secrets") or ()),
    "@service-type": lambda value: look(value, "spec.type") or "ClusterIP",
    "@service-ports": _service_ports,
    "@selector": lambda value: _pairs(look(value, "spec.selector.matchLabels") or look(value, "spec.selector")),
    "@quota-requests": lambda value: _quota_amounts(value, "requests."),
    "@quota-limits": lambda value: _quota_amounts(value, "limits."),
    "@bound-role": _bound_role,
    "@active-jobs": _active_jobs,
    "@job-status": _job_status,
    "@job-completions": _job_completions,
}
