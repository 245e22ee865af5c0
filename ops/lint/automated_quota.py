"""Quota that is to follow other clusters, and does not: by the configuration among the files, or by the queue itself.

Rule: docs/rules/multikueue.md#quota
"""

from events.api.check_controllers import MULTIKUEUE
from events.json_object import JsonMapping, JsonObject, is_object, object_at, objects_at
from ops.files.reading import Unreadable, yaml_of
from ops.production.configuration.configuration_file import in_config_map
from projections.checks.quota_automation import GATE
from services.validation.crosscheck import Objects
from services.validation.problem import Problem, warning


def quota_problems(value: JsonObject, objects: Objects) -> list[Problem]:
    """A MultiKueueConfig whose field has no effect, or a ClusterQueue that can't follow."""
    match value.get("kind"):
        case "MultiKueueConfig" if _is_automated(value) and not _has_gate(objects):
            return [
                warning(
                    "spec.quotaManagement",
                    "QuotaAutomationOff",
                    f"Automated, and no configuration among these files has the feature gate {GATE}",
                    "without that gate it has no effect: quota here stays as it is written",
                    f"featureGates: {{{GATE}: true}} in the configuration, or quotaManagement: Manual",
                )
            ]
        case "ClusterQueue" if _follows(value, objects) and not _has_one_flavor(value):
            return [
                warning(
                    "spec.resourceGroups",
                    "QuotaCannotFollow",
                    "its quota is to follow other clusters, and it has not exactly one flavor",
                    "its quota stays as it is written",
                    "one group with one flavor, or another MultiKueueConfig with quotaManagement: Manual",
                )
            ]
        case _:
            return []


def _is_automated(config: JsonMapping | None) -> bool:
    return object_at(config, "spec").get("quotaManagement") == "Automated"


def _follows(queue: JsonObject, objects: Objects) -> bool:
    if not _has_gate(objects):
        return False
    for rule in objects_at(queue, "spec", "admissionChecksStrategy", "admissionChecks"):
        spec = object_at(objects.find("AdmissionCheck", str(rule.get("name"))), "spec")
        if spec.get("controllerName") == MULTIKUEUE:
            return _is_automated(objects.find("MultiKueueConfig", str(object_at(spec, "parameters").get("name"))))
    return False


def _has_one_flavor(queue: JsonObject) -> bool:
    groups = objects_at(queue, "spec", "resourceGroups")
    return len(groups) == 1 and len(objects_at(groups[0], "flavors")) == 1


def _has_gate(objects: Objects) -> bool:
    found = [*objects.all("Configuration").values(), *map(_inner, objects.all("ConfigMap").values())]
    return any(object_at(one, "featureGates").get(GATE) is True for one in found)


def _inner(config_map: JsonObject) -> JsonObject:
    text = in_config_map(config_map)
    try:
        found: object = yaml_of(text) if text is not None else None
    except Unreadable:
        return {}
    return found if is_object(found) else {}
