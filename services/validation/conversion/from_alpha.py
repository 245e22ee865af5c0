"""Objects of v1alpha1 and v1alpha2 with the fields of v1beta2 (docs/rules/objects.md#alpha)."""

import re
from typing import Any

from events.json_object import JsonMapping, JsonObject, array_at, is_object, object_at, objects_at
from events.quantity import BadQuantity, from_units, to_units
from services.validation.conversion.from_beta1 import CLASS_OF_PODS
from services.validation.problem import ObjectWithProblems, Problem, Severity, invalid


def from_alpha(value: JsonObject) -> ObjectWithProblems:
    """The object with the newer fields, and what its meaning turns out to be."""
    problems: list[Problem] = []
    match value.get("kind"):
        case "ResourceFlavor":
            return ObjectWithProblems(_flavor(value), problems)
        case "ClusterQueue":
            return ObjectWithProblems(_cluster_queue(value, problems), problems)
        case "Workload":
            return ObjectWithProblems(_workload(value), problems)
        case _:
            return ObjectWithProblems(value, problems)


def alpha_field(value: JsonObject, field: str) -> str:
    """Where a field of spec.resourceGroups stands in an object that was written with spec.resources."""
    found = re.match(r"spec\.resourceGroups\[(\d+)\](?:\.flavors\[(\d+)\])?(?:\.resources\[(\d+)\])?", field)
    resources = objects_at(value, "spec", "resources")
    if found is None or not resources:
        return field
    group, flavor, member = found.groups()
    members = list(_grouped(resources).values())[int(group) : int(group) + 1]
    if not members:
        return field
    at = f"spec.resources[{resources.index(members[0][int(member or 0)])}]"
    if flavor is None:
        return at
    name = ".name" if field.endswith(f"flavors[{flavor}].name") else ""
    return f"{at}.flavors[{flavor}]{name or ('.quota' if member else '')}"


def _flavor(value: JsonObject) -> JsonObject:
    labels = value.get("nodeSelector") or object_at(value, "metadata", "labels")
    spec: JsonObject = {**object_at(value, "spec"), "nodeLabels": labels}
    if value.get("taints"):
        spec["nodeTaints"] = value["taints"]
    kept = {name: field for name, field in value.items() if name not in ("nodeSelector", "taints")}
    return {**kept, "spec": spec}


def _workload(value: JsonObject) -> JsonObject:
    spec = dict(object_at(value, "spec"))
    status = dict(object_at(value, "status"))
    admission = spec.pop("admission", None)
    if is_object(admission):
        status["admission"] = admission
    sets: list[Any] = []
    for one in array_at(spec, "podSets"):
        if is_object(one) and "spec" in one:
            sets.append(
                {**{name: part for name, part in one.items() if name != "spec"}, "template": {"spec": one["spec"]}}
            )
        else:
            sets.append(one)
    if sets:
        spec["podSets"] = sets
    if spec.get("priorityClassName"):
        spec.setdefault("priorityClassSource", CLASS_OF_PODS)  # There was no other kind of class yet.
    return {**value, "spec": spec, **({"status": status} if status else {})}


def _cluster_queue(value: JsonObject, problems: list[Problem]) -> JsonObject:
    spec = dict(object_at(value, "spec"))
    resources = objects_at(spec, "resources")
    if not resources or not all(_is_resource(one) for one in resources):
        return value
    del spec["resources"]
    groups: list[JsonObject] = []
    seen: list[str] = []
    in_cohort = bool(spec.get("cohort"))
    for names, members in _grouped(resources).items():
        for name in names:
            if name in seen:
                problems.append(_in_two_groups(name))
        seen.extend(names)
        flavors = [
            {
                "name": name,
                "resources": [_quota(one, resources, index, problems, in_cohort=in_cohort) for one in members],
            }
            for index, name in enumerate(names)
        ]
        groups.append({"coveredResources": [one["name"] for one in members], "flavors": flavors})
    return {**value, "spec": {**spec, "resourceGroups": groups}}


def _is_resource(one: JsonMapping) -> bool:
    return all(isinstance(each.get("name"), str) for each in (one, *objects_at(one, "flavors")))


def _grouped(resources: list[JsonMapping]) -> dict[tuple[str, ...], list[JsonMapping]]:
    """Resources with the same flavors in the same order, together."""
    found: dict[tuple[str, ...], list[JsonMapping]] = {}
    for one in resources:
        names = tuple(str(flavor["name"]) for flavor in objects_at(one, "flavors"))
        found.setdefault(names, []).append(one)
    return found


def _in_two_groups(flavor: str) -> Problem:
    return Problem(
        field="spec.resources",
        code="FlavorInTwoGroups",
        what=f"flavor {flavor} is listed for resources whose lists of flavors differ",
        consequence="newer versions give all resources of a group one flavor, so there is no form for this",
        instead="the same flavors in the same order for both resources, or a flavor for each",
    )


def _quota(
    resource: JsonMapping, resources: list[JsonMapping], index: int, problems: list[Problem], *, in_cohort: bool
) -> JsonObject:
    name, quota = resource["name"], object_at(resource["flavors"][index], "quota")
    found: JsonObject = {"name": name, "nominalQuota": quota.get("min", 0)}
    if "max" not in quota:
        return found
    field = f"spec.resources[{resources.index(resource)}].flavors[{index}].quota.max"
    if in_cohort:
        found["borrowingLimit"] = _between(name, quota.get("min", 0), quota["max"], field, problems)
        return found
    problems.append(
        Problem(
            field=field,
            code="LimitWithoutCohort",
            what=f"max {quota['max']} without a cohort has no effect",
            consequence=f"the usable quota is min, which is {quota.get('min', 0)}",
            instead=f"nominalQuota: {quota['max']} if so much is really owned",
            severity=Severity.WARNING,
        )
    )
    return found


def _between(name: str, least: Any, most: Any, field: str, problems: list[Problem]) -> str:
    try:
        room = to_units(name, most) - to_units(name, least)
    except BadQuantity as bad:
        problems.append(invalid(field, most, str(bad), "a quantity"))
        return "0"
    if room < 0:
        problems.append(invalid(field, most, f"max {most} is less than min {least}", f"at least {least}"))
    return from_units(name, max(room, 0))
