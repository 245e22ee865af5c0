"""The bounds that Kueue's definitions have for single fields, beside those that the structs in `events/api` say.

Those are for what must be so where the object is read; these are asked of what is new in an object, so that one that was stored before
goes on meaning what it says (docs/rules/objects.md#validation).
"""

from collections.abc import Mapping

from services.validation.fields.bounds import Bounds, Form

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
DNS_LABEL = Form(f"^{_LABEL}$", "lower case letters, digits and '-', such as workers-2")
DNS_SUBDOMAIN = Form(f"^{_SUBDOMAIN}$", "lower case letters, digits, '-' and '.', such as example.com")
NAME = Bounds(least=1, most=253, form=DNS_SUBDOMAIN)
CHECK_NAME = Bounds(least=1, most=316)
POD_SETS_AT_MOST = 18
PRIORITY_CLASSES = {"kueue.x-k8s.io": "WorkloadPriorityClass", "scheduling.k8s.io": "PriorityClass"}
"""By group, the kind of class that a Workload may be in."""

BOUNDS: Mapping[str, Mapping[str, Bounds]] = {
    "ResourceFlavor": {
        "spec.nodeLabels": Bounds(most=8),
    },
    "Workload": {
        "spec.podSets": Bounds(least=1),
        "spec.podSets[].name": Bounds(most=63, form=DNS_LABEL),
        "spec.preemptionGates[].name": Bounds(least=1, most=63),
        "spec.priorityClassRef": Bounds(needs=("group", "kind", "name")),
        "spec.priorityClassRef.group": Bounds(options=tuple(PRIORITY_CLASSES)),
        "spec.priorityClassRef.kind": Bounds(options=tuple(sorted(PRIORITY_CLASSES.values()))),
        "spec.priorityClassRef.name": NAME,
    },
}
"""By kind and path."""
