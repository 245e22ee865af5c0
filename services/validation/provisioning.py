"""Whether a ProvisioningRequestConfig is valid (docs/rules/objects.md#provisioning-config)."""

from events.json_object import JsonMapping
from services.validation.names import label_key_problems, why_no_subdomain
from services.validation.problem import Problem, invalid

_NUMBERS = ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds")


def validate(value: JsonMapping) -> list[Problem]:
    """The problems of a configuration, whose shape was checked before."""
    spec: JsonMapping = value.get("spec") or {}
    name = str(spec.get("provisioningClassName", ""))
    found = [
        invalid("spec.provisioningClassName", name, f"{name!r}: {reason}", "e.g. check-capacity.autoscaling.x-k8s.io")
        for reason in why_no_subdomain(name)
    ]
    retry: JsonMapping = spec.get("retryStrategy") or {}
    found.extend(
        invalid(f"spec.retryStrategy.{field}", retry[field], f"{retry[field]} is negative", "a number of at least 0")
        for field in _NUMBERS
        if (retry.get(field) or 0) < 0
    )
    updates: JsonMapping = spec.get("podSetUpdates") or {}
    for index, one in enumerate(updates.get("nodeSelector") or ()):
        found.extend(label_key_problems(str(one.get("key", "")), f"spec.podSetUpdates.nodeSelector[{index}].key"))
    return found
