"""Which changes of the label that names a WorkloadPriorityClass are refused, as under Kueue.

Rule: docs/rules/queues.md#class-changes
"""

from events.api.labels import PRIORITY_CLASS, QUEUE_NAME
from events.json_object import JsonObject
from services.jobs.kinds.pods import labels_of
from services.validation.problem import Problem, invalid


def class_problems(old: JsonObject, new: JsonObject, *, running: bool) -> list[Problem]:
    """The class of a job may become another at any time, is given to none that runs, and taken from none that stays in its queue."""
    before, after = str(labels_of(old).get(PRIORITY_CLASS) or ""), str(labels_of(new).get(PRIORITY_CLASS) or "")
    field = f"metadata.labels[{PRIORITY_CLASS}]"
    if running and not before and after:
        what = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        return [invalid(field, after, what, "no class, or stop the job first")]
    if before and not after and labels_of(new).get(QUEUE_NAME):
        return [invalid(field, after, "WorkloadPriorityClass cannot be removed from a workload", "another class")]
    return []
