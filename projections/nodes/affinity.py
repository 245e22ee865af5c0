"""Whether pods may run on a flavor's nodes: taints, node selector, required affinity.

Rule: docs/rules/flavors.md#node-labels
"""

from collections.abc import Iterable, Mapping

from events.device import NodeObserved
from events.pod_set import PodShape
from events.quota import FlavorObserved
from events.selector import Effect, LabelSelector, NodeTerm, Operator, Requirement, Taint, Toleration
from events.whole_number import whole_number

_BEYOND = 2**63
_MOST_DIGITS = len(str(_BEYOND))


def untolerated(flavor: FlavorObserved, shape: PodShape) -> Taint | None:
    """The first taint of the flavor that neither the pods nor the flavor's own tolerations tolerate."""
    tolerations = (*shape.tolerations, *flavor.tolerations)
    return first_untolerated(flavor.node_taints, tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps pods off; PreferNoSchedule does not."""
    for taint in taints:
        if taint.effect is Effect.PREFER_NO_SCHEDULE:
            continue
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes' rule: effect, key and value match, or are left open; `Lt` and `Gt` compare whole numbers (since 1.35)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in ("Lt", "Gt"):
        below = toleration.operator == "Lt"
        return _is_below(taint.value, toleration.value) if below else _is_below(toleration.value, taint.value)
    return bool(toleration.key) and toleration.value == taint.value


def _is_below(left: str, right: str) -> bool:
    """Whether both are whole numbers as Kubernetes writes them, and the left one is smaller."""
    small, great = _as_written(left), _as_written(right)
    return small is not None and great is not None and small < great


def _as_written(text: str) -> int | None:
    """A number of 64 bits without leading zeros or a plus; None for any other text."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if str(number) == text and -_BEYOND <= number < _BEYOND else None


def matches_nodes(flavor: FlavorObserved, shape: PodShape, keys: frozenset[str]) -> bool:
    """Whether selector and required affinity suit the flavor's labels, looking only at labels that flavors define."""
    labels = flavor.node_labels
    if any(labels.get(key) != value for key, value in shape.node_selector.items() if key in keys):
        return False
    if not shape.node_terms:
        return True
    for term in shape.node_terms:
        known = tuple(requirement for requirement in term.expressions if requirement.key in keys)
        if not known or all(satisfies(labels, requirement) for requirement in known):
            return True
    return False


def has_labels(node: NodeObserved, labels: Mapping[str, str]) -> bool:
    """Whether a node has all of these labels."""
    return all(node.labels.get(key) == value for key, value in labels.items())


def meets(name: str, labels: Mapping[str, str], term: NodeTerm) -> bool:
    """Whether a node of this name and with these labels meets every requirement of a term."""
    named = {"metadata.name": name}
    return all(satisfies(labels, one) for one in term.expressions) and all(satisfies(named, one) for one in term.fields)


def satisfies(labels: Mapping[str, str], requirement: Requirement) -> bool:
    """Whether labels meet one requirement."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return value is not None and value in requirement.values
        case Operator.NOT_IN:
            return value is None or value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GT:
            return _number(value) is not None and _compare(value, requirement.values) > 0
        case Operator.LT:
            return _number(value) is not None and _compare(value, requirement.values) < 0


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; none at all matches nothing."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.labels.items()) and all(
        satisfies(labels, requirement) for requirement in selector.expressions
    )


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    number = whole_number(text.removeprefix("-"))
    return -number if number is not None and text.startswith("-") else number


def _compare(value: str | None, bounds: tuple[str, ...]) -> int:
    left, right = _number(value), _number(bounds[0] if bounds else None)
    return 0 if left is None or right is None else (left > right) - (left < right)
