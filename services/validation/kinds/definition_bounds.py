"""The bounds that Kueue's definitions have for single fields, beside those that the structs in `events/api` say.

Those are for what must be so where the object is read; these are asked of what is new in an object, so that one that was stored before
goes on meaning what it says (docs/rules/objects.md#validation).
"""

from collections.abc import Mapping

from services.validation.fields.bounds import Bounds, Form

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL = Form(f"^{_LABEL}$", "lower case letters, digits and '-', such as workers-2")

BOUNDS: Mapping[str, Mapping[str, Bounds]] = {
    "ResourceFlavor": {
        "spec.nodeLabels": Bounds(most=8),
    },
    "Workload": {
        "spec.podSets": Bounds(least=1),
        "spec.podSets[].name": Bounds(most=63, form=DNS_LABEL),
    },
}
"""By kind and path."""
