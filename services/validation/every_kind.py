"""The one entry point to all checks of a single object: its shape, its CRD's rules, its webhook's rules."""

from events.json_object import JsonMapping, is_object, object_at
from events.settings import SettingsObserved
from services.validation.fields.pod_sets import container_problems, pod_set_problems
from services.validation.fields.shape import shape_problems
from services.validation.kinds import cluster_queue, cohort, flavor, provisioning, workload, workload_update
from services.validation.kinds.definition_rules import definition_problems, new_definition_problems
from services.validation.kinds.flavor import topology_update_problems
from services.validation.kinds.schema_rules import schema_rule_problems
from services.validation.kinds.workload_status import status_problems
from services.validation.problem import Problem, immutable


def validate(value: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with a new object of v1beta2; rules are only asked of objects of the right shape."""
    misshapen = shape_problems(value)
    if misshapen:
        return misshapen
    found = definition_problems(value)
    value = with_defaults(value)
    found.extend(schema_rule_problems(value))
    match value.get("kind"):
        case "ClusterQueue":
            found.extend(cluster_queue.validate(value, settings))
        case "Cohort":
            found.extend(cohort.validate(value))
        case "ResourceFlavor":
            found.extend(flavor.validate(value))
        case "Workload":
            found.extend(workload.validate(value, settings))
        case "ProvisioningRequestConfig":
            found.extend(provisioning.validate(value))
        case "Job":
            found.extend(pod_set_problems(object_at(value, "spec"), "spec", settings))
        case "Pod":
            found.extend(container_problems(object_at(value, "spec"), "spec"))
        case _:
            pass
    return found


def validate_update(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with a changed object of v1beta2."""
    misshapen = shape_problems(new)
    if misshapen:
        return misshapen
    found = new_definition_problems(old, new)
    new = with_defaults(new)
    found.extend(schema_rule_problems(new))
    match new.get("kind"):
        case "ClusterQueue":
            found.extend(cluster_queue.validate_update(with_defaults(old), new, settings))
        case "Cohort":
            found.extend(cohort.validate(new))
        case "ResourceFlavor":
            found.extend([*flavor.validate(new), *topology_update_problems(old, new)])
        case "Workload":
            found.extend(workload_update.validate_update(old, new, settings))
            found.extend(workload_update.fixed_field_problems(old, new))
        case "ProvisioningRequestConfig":
            found.extend(provisioning.validate(new))
        case "LocalQueue":
            found.extend(_fixed(old, new, "clusterQueue"))
        case "AdmissionCheck":
            found.extend(_fixed(old, new, "controllerName"))
        case _:
            pass
    return found


def validate_notes(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with a changed object of which only the metadata changes: with what decides something there."""
    return workload_update.note_problems(old, new, settings) if new.get("kind") == "Workload" else []


def validate_status(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """What a written status of an object of v1beta2 has wrong that it had not before: what stood there holds nobody up.

    Rule: docs/rules/objects.md#written-status
    """
    found = _status_problems(old, new, settings)
    stood = _status_problems(old, old, settings) if found else []
    return [one for one in found if one not in stood]


def _status_problems(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    found = [one for one in validate_update(old, new, settings) if one.field.startswith("status.")]
    return found if shape_problems(new) else [*found, *status_problems(new)]


def with_defaults(value: JsonMapping) -> JsonMapping:
    """The object with the defaults that decide about its rules."""
    spec = value.get("spec")
    if value.get("kind") != "ClusterQueue" or not is_object(spec):
        return value
    filled = dict(spec)
    for name, defaults in _DEFAULTS.items():
        if is_object(filled.get(name)):
            filled[name] = {**defaults, **filled[name]}
    preemption = object_at(filled, "preemption")
    if is_object(preemption.get("borrowWithinCohort")):
        borrowing = {"policy": "Never", **preemption["borrowWithinCohort"]}
        filled["preemption"] = {**preemption, "borrowWithinCohort": borrowing}
    return {**value, "spec": filled}


def _fixed(old: JsonMapping, new: JsonMapping, name: str) -> list[Problem]:
    before, after = object_at(old, "spec").get(name), object_at(new, "spec").get(name)
    return [] if before == after else [immutable(f"spec.{name}", after)]


_DEFAULTS: dict[str, dict[str, str]] = {
    "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
}
