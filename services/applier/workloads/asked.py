"""What a Workload object asks for, told in brief: by that it is seen without a read whether it still asks for what its job does."""

from events.api.labels import ADMISSION_GATED_BY, POD_SETS
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.json_object import JsonObject, object_at
from projections.workloads.lifecycle import Workload
from projections.workloads.pod_sets_digest import pod_sets_digest
from services.applier.workloads.workload_manifest import gates_of, seconds_of


def rank_in(found: JsonObject) -> tuple[int, str]:
    """The priority of an object, and the name of the class that this comes from."""
    spec = object_at(found, "spec")
    return spec.get("priority", 0), object_at(spec, "priorityClassRef").get("name", "")


def rank_of(workload: Workload) -> tuple[int, str]:
    """The same as its workload has it by now."""
    asked = workload.spec
    return asked.priority, "" if asked.priority_class is None else asked.priority_class.name


def asked_in(found: JsonObject) -> str | None:
    """What else an object asks for: its queue, a digest of its pod sets, how long it may run, and what keeps it out of the queue.

    None of one that others have made, whose pod sets have no digest.
    """
    spec, annotations = object_at(found, "spec"), object_at(found, "metadata", "annotations")
    if POD_SETS not in annotations:
        return None
    gates = annotations.get(ADMISSION_GATED_BY, "")
    return _told(spec.get("queueName", ""), annotations[POD_SETS], spec.get(MAXIMUM_EXECUTION_TIME), gates)


def asked_of(workload: Workload) -> str:
    """The same as its workload has it by now."""
    asked = workload.spec
    return _told(asked.queue, pod_sets_digest(workload), seconds_of(asked.max_execution), gates_of(workload))


def _told(queue: str, pod_sets: str, seconds: int | None, gates: str) -> str:
    return f"{queue} {pod_sets} {seconds} {gates}"
