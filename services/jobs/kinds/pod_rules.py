"""What a pod may not say of its group, and what may not become of that, in Kueue's words.

Rule: docs/rules/objects.md#pods
"""

from events.api.labels import (
    MANAGED,
    POD_GROUP_NAME,
    POD_GROUP_TOTAL_COUNT,
    PREBUILT_WORKLOAD_NAME,
    RETRIABLE_IN_GROUP,
)
from events.json_object import JsonObject
from events.whole_number import whole_number
from services.jobs.kinds.pods import annotations_of, has_parent, is_gated, is_over, labels_of
from services.validation.fields.names import why_no_subdomain
from services.validation.problem import Problem, forbidden, immutable, invalid, required

_NAME_AT = f"metadata.labels[{POD_GROUP_NAME}]"
_TOTAL_AT = f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}]"
_BOTH = f"both the '{POD_GROUP_TOTAL_COUNT}' annotation and the '{POD_GROUP_NAME}' label should be set"
_NO_MORE, _HELD = "false", "true"


def pod_problems(pod: JsonObject) -> list[Problem]:
    """What is wrong with a pod that says only half of its group, or what cannot be.

    Pods of what serves are known by that: templates of before may say a number of theirs.
    """
    found: list[Problem] = []
    if labels_of(pod).get(MANAGED, _HELD) != _HELD:
        what = f"managed label value can only be '{_HELD}'"
        found.append(forbidden(f"metadata.labels[{MANAGED}]", what, "leave it out"))
    if has_parent(pod):
        return found
    group, total = _group_named(pod), annotations_of(pod).get(POD_GROUP_TOTAL_COUNT)
    workload = str(labels_of(pod).get(PREBUILT_WORKLOAD_NAME) or "")
    if group and workload and workload != group:
        what = "prebuilt workload and pod group should be equal"
        found.append(invalid(f"metadata.labels[{PREBUILT_WORKLOAD_NAME}]", workload, what, group))
    if not group:
        return found if total is None else [*found, required(_NAME_AT, _BOTH, "how the group is called")]
    if reasons := why_no_subdomain(group):
        what = f"{group!r} can be no name of an object: {', '.join(reasons)}"
        found.append(invalid(_NAME_AT, group, what, "the name of its Workload"))
    if total is None:
        found.append(required(_TOTAL_AT, _BOTH, "how many pods the group has"))
    elif not whole_number(total):
        found.append(
            invalid(_TOTAL_AT, total, "should be a whole number greater than 0", "how many pods the group has")
        )
    return found


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
