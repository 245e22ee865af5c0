"""Whether a Cohort is valid (docs/rules/objects.md#validation)."""

from events.json_object import JsonMapping, object_at
from services.validation.fields.fair_sharing import fair_sharing_problems
from services.validation.fields.resource_groups import resource_group_problems
from services.validation.problem import Problem, invalid


def validate(value: JsonMapping) -> list[Problem]:
    """The problems of a Cohort, new or changed. It may lend more than its own quota: unused quota of members counts, too."""
    spec = object_at(value, "spec")
    return [
        *resource_group_problems(
            spec.get("resourceGroups"),
            parent="parent",
            has_parent=bool(spec.get("parentName")),
            lending_within_nominal=False,
        ),
        *fair_sharing_problems(spec.get("fairSharing")),
    ]


def own_parent_problems(value: JsonMapping) -> list[Problem]:
    """A cohort that is its own parent: a cycle, which disables all its members."""
    name = object_at(value, "metadata").get("name")
    if not name or object_at(value, "spec").get("parentName") != name:
        return []
    return [invalid("spec.parentName", name, f"cohort {name} is its own parent", "another cohort, or no parentName")]
