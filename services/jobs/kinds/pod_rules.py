"""What may not become of the group of a pod, in Kueue's words.

Rule: docs/rules/objects.md#pods
"""

from events.api.labels import POD_GROUP_NAME, RETRIABLE_IN_GROUP
from events.json_object import JsonObject
from services.jobs.kinds.pods import annotations_of, has_parent, is_gated, is_over, labels_of
from services.validation.problem import Problem, forbidden, immutable

_NAME_AT = f"metadata.labels[{POD_GROUP_NAME}]"
_NO_MORE = "false"


def is_named_now(old: JsonObject, new: JsonObject) -> bool:
    """Whether a pod of what serves is let through by this change, which gives it its queue and its group."""
    return has_parent(old) and is_gated(old) and not is_gated(new)


def pod_waits(pod: JsonObject) -> bool:
    """Whether nothing of a pod runs: it waits at the gate, or has ended."""
    return is_gated(pod) or is_over(pod)


def pod_change_problems(old: JsonObject, new: JsonObject) -> list[Problem]:
    """What is wrong with a pod that names another group than before, or is to be replaced where its group was to fail for good."""
    found: list[Problem] = []
    before, after = _group_named(old), _group_named(new)
    if before and before != after:
        found.append(immutable(_NAME_AT, after))
    retriable = annotations_of(new).get(RETRIABLE_IN_GROUP)
    if after and annotations_of(old).get(RETRIABLE_IN_GROUP) == _NO_MORE != retriable:
        what = "unretriable pod group can't be converted to retriable"
        found.append(forbidden(f"metadata.annotations[{RETRIABLE_IN_GROUP}]", what, f'"{_NO_MORE}", as it was'))
    return found


def _group_named(pod: JsonObject) -> str:
    return str(labels_of(pod).get(POD_GROUP_NAME) or annotations_of(pod).get(POD_GROUP_NAME) or "")
