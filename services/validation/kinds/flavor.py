"""Whether a ResourceFlavor is valid (docs/rules/objects.md#validation)."""

from events.json_object import JsonMapping, object_at
from services.validation.fields.names import labels_problems
from services.validation.fields.selectors import effect_problems, taint_problems, toleration_problems
from services.validation.problem import Problem, invalid, required


def validate(value: JsonMapping) -> list[Problem]:
    """The problems of a ResourceFlavor, new or changed."""
    spec = object_at(value, "spec")
    return [
        *labels_problems(spec.get("nodeLabels"), "spec.nodeLabels"),
        *taint_problems(spec.get("nodeTaints")),
    ]


def definition_problems(value: JsonMapping) -> list[Problem]:
    """What no pod could be started with, or no node have."""
    spec = object_at(value, "spec")
    return [
        *effect_problems(spec.get("nodeTaints")),
        *toleration_problems(spec.get("tolerations"), "spec.tolerations"),
    ]


def topology_problems(value: JsonMapping) -> list[Problem]:
    """A flavor with a topology has to say which nodes it means."""
    spec = object_at(value, "spec")
    if spec.get("topologyName") and not spec.get("nodeLabels"):
        what = "at least one nodeLabel is required when topology is set"
        return [required("spec.nodeLabels", what, "the label of its nodes")]
    return []


def topology_update_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """A flavor keeps its topology: what it holds of nodes was counted by that."""
    before, after = (object_at(one, "spec").get("topologyName") for one in (old, new))
    if not before or before == after:
        return []
    what = "topologyName is immutable when topologyName is set"
    return [invalid("spec.topologyName", after, what, f"{before}, or a flavor of another name")]
