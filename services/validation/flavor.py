"""Whether a ResourceFlavor is valid (docs/rules/objects.md#validation)."""

from events.json_object import JsonMapping, object_at
from services.validation.names import labels_problems
from services.validation.problem import Problem, immutable, required
from services.validation.selectors import taint_problems, toleration_problems


def validate(value: JsonMapping) -> list[Problem]:
    """The problems of a ResourceFlavor, new or changed."""
    spec = object_at(value, "spec")
    return [
        *labels_problems(spec.get("nodeLabels"), "spec.nodeLabels"),
        *taint_problems(spec.get("nodeTaints"), "spec.nodeTaints"),
        *toleration_problems(spec.get("tolerations"), "spec.tolerations"),
    ]


def topology_problems(value: JsonMapping) -> list[Problem]:
    """A flavor with a topology has to say which nodes it means."""
    spec = object_at(value, "spec")
    if spec.get("topologyName") and not spec.get("nodeLabels"):
        return [required("spec.nodeLabels", "a flavor with a topology needs a node label", "the label of its nodes")]
    return []


def topology_update_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """A flavor keeps its topology, and with it its labels, taints and tolerations."""
    before = object_at(old, "spec")
    spec = object_at(new, "spec")
    if not before.get("topologyName"):
        return []
    names = ("topologyName", "nodeLabels", "nodeTaints", "tolerations")
    return [immutable(f"spec.{name}", spec.get(name)) for name in names if spec.get(name) != before.get(name)]
