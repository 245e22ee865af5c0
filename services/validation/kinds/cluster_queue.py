"""Whether a ClusterQueue is valid, new or changed (docs/rules/objects.md#validation)."""

from collections.abc import Mapping

from events.json_object import JsonMapping, array_at, object_at, objects_at
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from services.validation.fields.fair_sharing import fair_sharing_problems
from services.validation.fields.resource_groups import resource_group_problems
from services.validation.fields.selectors import selector_problems
from services.validation.problem import Problem, forbidden, immutable, invalid, not_supported

FLAVORS_AT_MOST = 16
"""Flavors of a queue with a concurrent admission policy."""


def validate(value: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems of a new ClusterQueue."""
    spec = object_at(value, "spec")
    return [*_spec_problems(spec, settings), *_check_problems(spec, {})]


def validate_update(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems of a changed ClusterQueue; invalid checks that were so before and are unchanged are accepted."""
    before = object_at(old, "spec")
    spec = object_at(new, "spec")
    excused: dict[str, set[str]] = {}
    if not enabled(settings, "RejectUpdatesToCQWithInvalidOnFlavors") and set(flavor_names(before)) == set(
        flavor_names(spec)
    ):
        excused = {str(check.get("name")): set(array_at(check, "onFlavors")) for check in _checks(before)}
    found = [*_spec_problems(spec, settings), *_check_problems(spec, excused)]
    policy = spec.get("concurrentAdmissionPolicy")
    if policy != before.get("concurrentAdmissionPolicy"):
        found.append(immutable("spec.concurrentAdmissionPolicy", policy))
    return found


def flavor_names(spec: JsonMapping) -> list[str]:
    """All flavors of all groups, in order."""
    return [
        str(flavor.get("name"))
        for group in objects_at(spec, "resourceGroups")
        for flavor in objects_at(group, "flavors")
    ]


def _spec_problems(spec: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    found = resource_group_problems(
        spec.get("resourceGroups"),
        parent="cohort",
        has_parent=bool(spec.get("cohortName")),
        lending_within_nominal=True,
    )
    found.extend(selector_problems(spec.get("namespaceSelector"), "spec.namespaceSelector"))
    found.extend(_preemption_problems(object_at(spec, "preemption")))
    found.extend(_fungibility_problems(object_at(spec, "flavorFungibility")))
    found.extend(fair_sharing_problems(spec.get("fairSharing")))
    if enabled(settings, "ConcurrentAdmission"):
        found.extend(_concurrent_problems(spec))
    return found


def _preemption_problems(preemption: JsonMapping) -> list[Problem]:
    borrowing: JsonMapping | None = preemption.get("borrowWithinCohort")
    if (
        preemption.get("reclaimWithinCohort") == "Never"
        and borrowing is not None
        and borrowing.get("policy", "") != "Never"
    ):
        return [
            invalid(
                "spec.preemption",
                borrowing.get("policy"),
                "borrowWithinCohort while reclaimWithinCohort is Never: who may not reclaim may not preempt to borrow",
                "reclaimWithinCohort: LowerPriority or Any, or no borrowWithinCohort",
            )
        ]
    return []


def _fungibility_problems(fungibility: JsonMapping) -> list[Problem]:
    preference = fungibility.get("preference")
    if preference is None:
        return []
    if fungibility.get("whenCanBorrow") == fungibility.get("whenCanPreempt") == "TryNextFlavor":
        return []
    return [
        invalid(
            "spec.flavorFungibility.preference",
            preference,
            "a preference only decides when all flavors are tried",
            "whenCanBorrow and whenCanPreempt: TryNextFlavor, or no preference",
        )
    ]


def _checks(spec: JsonMapping) -> list[JsonMapping]:
    return objects_at(spec, "admissionChecksStrategy", "admissionChecks")


def _check_problems(spec: JsonMapping, excused: Mapping[str, set[str]]) -> list[Problem]:
    known = flavor_names(spec)
    found: list[Problem] = []
    for i, check in enumerate(_checks(spec)):
        flavors = array_at(check, "onFlavors")
        if excused.get(str(check.get("name"))) == set(flavors):
            continue
        found.extend(
            not_supported(f"spec.admissionChecksStrategy.admissionChecks[{i}].onFlavors[{j}]", flavor, known)
            for j, flavor in enumerate(flavors)
            if flavor not in known
        )
    return found


def _concurrent_problems(spec: JsonMapping) -> list[Problem]:
    policy: JsonMapping | None = spec.get("concurrentAdmissionPolicy")
    if policy is None:
        return []
    field = "spec.concurrentAdmissionPolicy.migration.constraints"
    groups = objects_at(spec, "resourceGroups")
    found: list[Problem] = []
    if len(groups) != 1:
        found.append(
            invalid(
                "spec.resourceGroups",
                len(groups),
                "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
            )
        )
    flavors = flavor_names(spec)
    if len(groups) == 1 and len(flavors) > FLAVORS_AT_MOST:
        found.append(
            invalid(
                "spec.resourceGroups[0].flavors",
                len(flavors),
                f"cannot have more than {FLAVORS_AT_MOST} resource flavors in the ResourceGroup "
                "when ConcurrentAdmissionPolicy is defined",
            )
        )
    if spec.get("queueingStrategy") == "StrictFIFO":
        found.append(
            invalid(
                "spec.queueingStrategy",
                "StrictFIFO",
                "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
            )
        )
    migration = object_at(policy, "migration")
    constraints: JsonMapping | None = migration.get("constraints")
    if constraints is None:
        return found
    mode = migration.get("mode") or ""
    if mode not in ("", "TryPreferredFlavors"):
        found.append(forbidden(field, f'may only be set when migration.mode is "TryPreferredFlavors" (got "{mode}")'))
    last = constraints.get("lastAcceptableFlavorName")
    if last and last not in flavors:
        found.append(
            invalid(
                f"{field}.lastAcceptableFlavorName",
                last,
                f"must be one of the flavors defined in the ClusterQueue: [{' '.join(flavors)}]",
            )
        )
    return found
