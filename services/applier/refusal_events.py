"""What is told in the cluster about objects that can't be understood: a Kubernetes Event on each."""

import hashlib
from typing import Any

from events.control import ObjectRefused
from events.event import Millis
from events.timestamp import format_timestamp

REASON = "Refused"
_API = {
    "Job": "batch/v1",
    "Node": "v1",
    "Pod": "v1",
    "Namespace": "v1",
    "LimitRange": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}
_KUEUE = "kueue.x-k8s.io/v1beta2"


def refusal_event(refused: ObjectRefused, at: Millis) -> dict[str, Any]:
    """The Event for one refusal; the same refusal gives the same name, so that it is told once."""
    message = "; ".join(
        f"{one.field}: {one.message}" + (f" (write {one.instead})" if one.instead else "") for one in refused.problems
    )
    namespace = refused.namespace or "default"
    digest = hashlib.sha256(f"{refused.uid}/{message}".encode()).hexdigest()[:16]
    time = format_timestamp(at)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{refused.name}.{digest}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": _API.get(refused.kind, _KUEUE),
            "kind": refused.kind,
            "namespace": refused.namespace,
            "name": refused.name,
            "uid": refused.uid,
        },
        "type": "Warning",
        "reason": REASON,
        "message": message,
        "source": {"component": "kuelog"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
