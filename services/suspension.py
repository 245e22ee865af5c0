"""What a mutating webhook does to a job that a queue is to manage: it is created suspended."""

from typing import Any

QUEUE = "kueue.x-k8s.io/queue-name"


def suspend_queued(operation: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """The job suspended, if it names a queue; any other object as it is."""
    if operation != "CREATE" or kind != "Job":
        return value
    meta = value.get("metadata") or {}
    named = (meta.get("labels") or {}).get(QUEUE) or (meta.get("annotations") or {}).get(QUEUE)
    if not named:
        return value
    return {**value, "spec": {**value["spec"], "suspend": True}}
