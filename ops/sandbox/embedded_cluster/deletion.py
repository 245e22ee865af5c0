"""When a deleted object is gone: pods that run are given time, and what holds an object keeps it."""

from ops.sandbox.embedded_cluster.failures import bad_request, whole
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Object

ENDED = ("Succeeded", "Failed")


def understood(options: Object) -> Object:
    """How somebody wants it to be deleted. Raises 400 with the field that can't be understood."""
    if not isinstance(options.get("preconditions") or {}, dict):
        raise bad_request("preconditions: an object with uid or resourceVersion is expected")
    if options.get("gracePeriodSeconds") is not None:
        options = {**options, "gracePeriodSeconds": whole(options["gracePeriodSeconds"], "gracePeriodSeconds")}
    return options


def grace_of(kind: ApiKind, found: Object, options: Object) -> int:
    """How many seconds it is given: a pod that runs on a node some, everything else goes at once."""
    if kind.key != "pods" or not found.get("spec", {}).get("nodeName"):
        return 0
    if found.get("status", {}).get("phase") in ENDED:
        return 0
    asked = options.get("gracePeriodSeconds")
    return int(found["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked)


def is_full(kind: ApiKind, value: Object) -> bool:
    """Whether it is a namespace that nobody has said to be empty."""
    return kind.key == "namespaces" and bool((value.get("spec") or {}).get("finalizers"))


def is_let_go(kind: ApiKind, value: Object) -> bool:
    """Whether nothing holds a deleted object any more; a pod that still runs is held by its node."""
    meta = value["metadata"]
    runs = kind.key == "pods" and meta.get("deletionGracePeriodSeconds") and value["spec"].get("nodeName")
    held = (
        meta.get("finalizers")
        or is_full(kind, value)
        or (runs and (value.get("status") or {}).get("phase") not in ENDED)
    )
    return bool(meta.get("deletionTimestamp")) and not held
