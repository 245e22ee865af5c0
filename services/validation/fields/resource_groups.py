"""Resource groups of a ClusterQueue or Cohort: names, order, quantities, limits and sizes.

Rule: docs/rules/objects.md#validation
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from events.json_object import JsonMapping, array_at, objects_at
from events.quantity import BadQuantity, parse_quantity
from services.validation.fields.names import why_not_qualified
from services.validation.problem import Problem, duplicate, invalid

TOTAL_AT_MOST = 256
"""Flavors, and covered resources, over all groups."""
PAIRS_AT_MOST = 512
"""Pairs of flavor and resource in one group."""


def resource_group_problems(
    groups: Sequence[JsonMapping] | None, *, parent: str, has_parent: bool, lending_within_nominal: bool
) -> list[Problem]:
    """All groups. `parent` is what an owner of quota hangs on: a cohort has a parent, a queue has a cohort."""
    found: list[Problem] = []
    resources: list[str] = []
    flavors: list[str] = []
    for i, group in enumerate(groups or ()):
        field = f"spec.resourceGroups[{i}]"
        covered = [str(name) for name in array_at(group, "coveredResources")]
        for j, name in enumerate(covered):
            at = f"{field}.coveredResources[{j}]"
            found.extend(invalid(at, name, f"{name!r} is no resource: {reason}") for reason in why_not_qualified(name))
            if name in resources:
                found.append(duplicate(at, name, "each resource in one group only"))
            resources.append(name)
        for j, flavor in enumerate(objects_at(group, "flavors")):
            at = f"{field}.flavors[{j}]"
            found.extend(_flavor(flavor, covered, at, parent if not has_parent else "", lending_within_nominal))
            if flavor.get("name") in flavors:
                found.append(duplicate(f"{at}.name", flavor.get("name"), "each flavor in one group only"))
            flavors.append(str(flavor.get("name")))
    return [*found, *_sizes(groups or (), len(flavors), len(resources))]


def _flavor(
    flavor: JsonMapping, covered: Sequence[str], field: str, missing: str, lending_within_nominal: bool
) -> list[Problem]:  # noqa: FBT001
    found: list[Problem] = []
    for k, (quota, name) in enumerate(zip(objects_at(flavor, "resources"), covered, strict=False)):
        at = f"{field}.resources[{k}]"
        if quota.get("name") != name:
            found.append(
                invalid(
                    f"{at}.name",
                    quota.get("name"),
                    f"{quota.get('name')} stands where coveredResources has {name}",
                    f"the order of coveredResources: {', '.join(covered)}",
                )
            )
        found.extend(_quota(quota, at, missing, lending_within_nominal))
    return found


def _quota(quota: JsonMapping, field: str, missing: str, lending_within_nominal: bool) -> list[Problem]:  # noqa: FBT001
    found = _not_negative(quota.get("nominalQuota", 0), f"{field}.nominalQuota")
    for limit in ("borrowingLimit", "lendingLimit"):
        value, at = quota.get(limit), f"{field}.{limit}"
        if value is None:
            continue
        if missing:
            found.append(
                invalid(at, value, f"{limit} must be nil when {missing} is empty", f"a {missing}, or no {limit}")
            )
        found.extend(_not_negative(value, at))
    lending, nominal = _exact(quota.get("lendingLimit")), _exact(quota.get("nominalQuota", 0))
    if lending_within_nominal and lending is not None and nominal is not None and lending > nominal:
        found.append(
            invalid(
                f"{field}.lendingLimit",
                quota.get("lendingLimit"),
                f"{quota.get('lendingLimit')} is more than the nominalQuota {quota.get('nominalQuota', 0)}",
                "a lendingLimit of at most the nominalQuota",
            )
        )
    return found


def _exact(value: Any) -> Fraction | None:
    try:
        return None if value is None else parse_quantity(value)
    except BadQuantity:
        return None


def _not_negative(value: Any, field: str) -> list[Problem]:
    try:
        if parse_quantity(value) >= 0:
            return []
    except BadQuantity as bad:
        return [invalid(field, value, str(bad), "a quantity, such as 9, 500m or 36Gi")]
    return [invalid(field, value, f"{value} is negative", "a quantity of at least 0")]


def _sizes(groups: Sequence[JsonMapping], flavors: int, resources: int) -> list[Problem]:
    found: list[Problem] = []
    for count, what in ((flavors, "flavors"), (resources, "covered resources")):
        if count > TOTAL_AT_MOST:
            found.append(
                invalid("spec.resourceGroups", count, f"{count} {what} over all groups", f"at most {TOTAL_AT_MOST}")
            )
    for index, group in enumerate(groups):
        pairs = sum(len(objects_at(flavor, "resources")) for flavor in objects_at(group, "flavors"))
        if pairs > PAIRS_AT_MOST:
            found.append(
                invalid(
                    f"spec.resourceGroups[{index}]",
                    pairs,
                    f"{pairs} pairs of flavor and resource in one group",
                    f"at most {PAIRS_AT_MOST}",
                )
            )
    return found
