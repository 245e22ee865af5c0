"""The annotation that keeps a Workload out of the queue (docs/rules/objects.md#admission-gates)."""

from services.validation.fields.names import domain_path_problems
from services.validation.problem import Problem, forbidden, invalid, too_long

FIELD = "metadata.annotations[kueue.x-k8s.io/admission-gated-by]"
GATE_AT_MOST = 63


def gate_problems(text: str) -> list[Problem]:
    """The problems of the annotation: each gate has to be a domain-prefixed path, and named once."""
    if not text:
        return []
    found: list[Problem] = []
    seen: list[str] = []
    for gate in gates_of(text):
        if not gate:
            found.append(invalid(FIELD, text, "an empty name between the commas", "e.g. example.com/budget"))
        elif gate in seen:
            found.append(invalid(FIELD, text, f"gate {gate} stands twice", "each gate once"))
        else:
            seen.append(gate)
            found.extend(domain_path_problems(gate, FIELD))
            if len(gate) > GATE_AT_MOST:
                found.append(too_long(FIELD, gate, GATE_AT_MOST))
    return found


def gate_update_problems(old: str, new: str) -> list[Problem]:
    """A problem when an update adds a gate: gates may be removed, but not added."""
    found: list[Problem] = []
    if new and not old:
        found.append(
            forbidden(FIELD, "a gate may not be added to a workload that is there", "gates from the beginning")
        )
    elif new and not set(gates_of(new)) <= set(gates_of(old)):
        found.append(forbidden(FIELD, "gates may be removed, not added", f"some of {old}"))
    return [*found, *gate_problems(new)]


def gates_of(text: str) -> list[str]:
    """The gate names in the annotation, which are separated by commas."""
    return [gate.strip() for gate in text.split(",")]
