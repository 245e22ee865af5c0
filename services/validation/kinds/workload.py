"""Whether a Workload is valid: the rules of Kueue's webhook (docs/rules/objects.md#validation)."""

import re
from collections.abc import Mapping

from events.api.labels import ADMISSION_GATED_BY, ELASTIC_JOB, PRIORITY_BOOST
from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, to_units
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from services.validation.fields.admission_gates import gate_problems
from services.validation.fields.conditions import condition_problems, is_true
from services.validation.fields.names import annotations_problems, labels_problems
from services.validation.fields.pod_sets import pod_set_problems
from services.validation.fields.selectors import toleration_problems
from services.validation.problem import Problem, invalid, not_found, not_supported, required

_INT32 = range(-(2**31), 2**31)


def validate(value: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems of a new Workload."""
    found = standing_problems(value, settings)
    if holds_quota(value) and admission_of(value) is None:
        found.append(_no_admission())
    if enabled(settings, "AdmissionGatedBy"):
        found.extend(gate_problems(annotations_of(value).get(ADMISSION_GATED_BY, "")))
    return [*found, *reclaimable_problems(value, {})]


def standing_problems(value: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems that count for a new and for a changed Workload."""
    sets = pod_sets_of(value)
    found: list[Problem] = []
    for index, one in enumerate(sets):
        found.extend(pod_set_problems(one, f"spec.podSets[{index}]", settings))
    variable = sum(1 for one in sets if one.get("minCount") is not None)
    if variable > 1:
        found.append(invalid("spec.podSets", variable, f"{variable} pod sets have a minCount", "at most one"))
    if variable and is_elastic(value, settings):
        found.append(
            invalid(
                "spec.podSets",
                variable,
                "partial admission and elastic job cannot be used together",
                f"no minCount, or no annotation {ELASTIC_JOB}",
            )
        )
    found.extend(boost_problems(value, settings))
    admission = admission_of(value)
    if admission is not None and holds_quota(value):
        found.extend(_admission_problems(admission, {str(one.get("name", "main")) for one in sets}))
    status = object_at(value, "status")
    found.extend(condition_problems(status.get("conditions")))
    return [*found, *pod_set_update_problems(value)]


def pod_sets_of(value: JsonMapping) -> list[JsonMapping]:
    """The pod sets of a Workload object; none where it has none."""
    return objects_at(value, "spec", "podSets")


def counts_of(value: JsonMapping) -> dict[str, int]:
    """How many pods of each pod set a Workload asks for."""
    return {str(one.get("name", "main")): int(one.get("count", 1)) for one in pod_sets_of(value)}


def annotations_of(value: JsonMapping) -> Mapping[str, str]:
    """The annotations of an object; empty where it has none."""
    return object_at(value, "metadata", "annotations")


def admission_of(value: JsonMapping) -> JsonMapping | None:
    """Where a Workload was admitted, if it was."""
    return object_at(value, "status").get("admission")


def holds_quota(value: JsonMapping) -> bool:
    """Whether quota is reserved for a Workload."""
    return is_true(object_at(value, "status").get("conditions"), "QuotaReserved")


def is_elastic(value: JsonMapping, settings: SettingsObserved) -> bool:
    """Whether a Workload is a slice of a job that grows and shrinks."""
    return enabled(settings, "ElasticJobsViaWorkloadSlices") and annotations_of(value).get(ELASTIC_JOB) == "true"


def reclaimable_problems(value: JsonMapping, before: Mapping[str, int]) -> list[Problem]:
    """The problems of `reclaimablePods`; counts that are as they were `before` are accepted."""
    counts = counts_of(value)
    found: list[Problem] = []
    for name, count in reclaimable_of(value).items():
        field = f"status.reclaimablePods[{name}]"
        if name not in counts:
            found.append(not_supported(f"{field}.name", name, list(counts)))
        elif count > counts[name] and before.get(name) != count:
            found.append(invalid(f"{field}.count", count, f"{count} of {counts[name]} pods", f"at most {counts[name]}"))
    return found


def reclaimable_of(value: JsonMapping) -> dict[str, int]:
    """The counts of `reclaimablePods`, by pod set."""
    status = object_at(value, "status")
    return {str(one.get("name")): int(one.get("count", 0)) for one in objects_at(status, "reclaimablePods")}


def _no_admission() -> Problem:
    return required(
        "status.admission",
        "quota is reserved, but it does not say where",
        "the admission that belongs to the condition QuotaReserved",
    )


def no_admission_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """QuotaReserved without an admission: refused when it is new; accepted when it was so before, so that it can be removed."""

    def broken(value: JsonMapping) -> bool:
        return holds_quota(value) and admission_of(value) is None

    return [_no_admission()] if broken(new) and not broken(old) else []


def boost_problems(value: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the boost of a Workload's priority, where there are boosts."""
    text = annotations_of(value).get(PRIORITY_BOOST)
    if text is None or not enabled(settings, "PriorityBoost"):
        return []
    if re.fullmatch(r"[+-]?\d+", text) is not None and int(text) in _INT32:
        return []
    return [
        invalid(
            f"metadata.annotations[{PRIORITY_BOOST}]",
            text,
            f"{text!r} is no whole number of 32 bits",
            'e.g. "0" or "-5"',
        )
    ]


def _admission_problems(admission: JsonMapping, names: set[str]) -> list[Problem]:
    found: list[Problem] = []
    for index, one in enumerate(objects_at(admission, "podSetAssignments")):
        field = f"status.admission.podSetAssignments[{index}]"
        name, count = str(one.get("name", "main")), int(one.get("count") or 0)
        if name not in names:
            found.append(not_found(f"{field}.name", f"pod set {name}", f"one of {', '.join(sorted(names))}"))
        for resource, usage in sorted(object_at(one, "resourceUsage").items()):
            try:
                amount = to_units(resource, usage)
            except BadQuantity as bad:
                found.append(invalid(f"{field}.resourceUsage[{resource}]", usage, str(bad)))
                continue
            if count > 0 and amount % count:
                found.append(
                    invalid(
                        f"{field}.resourceUsage[{resource}]",
                        usage,
                        f"{usage} is not a multiple of {count}: each of {count} pods uses the same",
                        f"the usage of one pod times {count}",
                    )
                )
    return found


def pod_set_update_problems(value: JsonMapping) -> list[Problem]:
    """The problems of the `podSetUpdates` of admission checks."""
    names = [str(one.get("name", "main")) for one in pod_sets_of(value)]
    status = object_at(value, "status")
    found: list[Problem] = []
    for i, check in enumerate(objects_at(status, "admissionChecks")):
        for j, one in enumerate(objects_at(check, "podSetUpdates")):
            field = f"status.admissionChecks[{i}].podSetUpdates[{j}]"
            if one.get("name") not in names:
                found.append(not_supported(f"{field}.name", one.get("name"), sorted(names)))
            found.extend(toleration_problems(one.get("tolerations"), f"{field}.tolerations"))
            found.extend(annotations_problems(one.get("annotations"), f"{field}.annotations"))
            found.extend(labels_problems(one.get("nodeSelector"), f"{field}.nodeSelector"))
            found.extend(labels_problems(one.get("labels"), f"{field}.labels"))
    return found
