"""When a deleted object is gone: pods that run are given time, and what holds an object keeps it."""

from ops.cluster.kinds import Kind
from ops.cluster.store import Object

ENDED = ("Succeeded", "Failed")


def grace_of(kind: Kind, found: Object, options: Object) -> int:
    """How many seconds it is given: a pod that runs on a node some, everything else goes at once."""
    if kind.key != "pods" or not found.get("spec", {}).get("nodeName"):
        return 0
    if found.get("status", {}).get("phase") in ENDED:
        return 0
    asked = options.get("gracePeriodSeconds")
    return int(found["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked)


def is_let_go(kind: Kind, value: Object) -> bool:
    """Whether nothing holds a deleted object any more; a pod that still runs is held by its node."""
    meta = value["metadata"]
    runs = kind.key == "pods" and meta.get("deletionGracePeriodSeconds") and value["spec"].get("nodeName")
    held = meta.get("finalizers") or (runs and (value.get("status") or {}).get("phase") not in ENDED)
    return bool(meta.get("deletionTimestamp")) and not held
