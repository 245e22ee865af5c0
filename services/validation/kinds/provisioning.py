"""Whether a ProvisioningRequestConfig is valid (docs/rules/objects.md#provisioning-config)."""

from events.json_object import JsonMapping, array_at, object_at
from services.validation.fields.names import label_key_problems, why_no_subdomain
from services.validation.problem import Problem, invalid

_NUMBERS = ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds")


def validate(value: JsonMapping) -> list[Problem]:
    """The problems of a configuration, whose shape was checked before."""
    spec = object_at(value, "spec")
    name = str(spec.get("provisioningClassName", ""))
    found = [
        invalid("spec.provisioningClassName", name, f"{name!r}: {reason}", "e.g. check-capacity.autoscaling.x-k8s.io")
        for reason in why_no_subdomain(name)
    ]
    retry = object_at(spec, "retryStrategy")
    found.extend(
        invalid(f"spec.retryStrategy.{field}", retry[field], f"{retry[field]} is negative", "a number of at least 0")
        for field in _NUMBERS
        if (retry.get(field) or 0) < 0
    )
    updates = object_at(spec, "podSetUpdates")
    for index, one in enumerate(array_at(updates, "nodeSelector")):
        found.extend(label_key_problems(str(one.get("key", "")), f"spec.podSetUpdates.nodeSelector[{index}].key"))
    return found
