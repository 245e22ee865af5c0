"""What definitions refuse in what is new of an object; of what stands there already nothing is said again, as by the API server.

Rule: docs/rules/objects.md#validation
"""

from collections.abc import Callable

from events.json_object import JsonMapping
from services.validation.fields.bounds import bound_problems
from services.validation.fields.shape import shape_problems
from services.validation.kinds import flavor
from services.validation.kinds.definition_bounds import BOUNDS
from services.validation.problem import Problem


def definition_problems(value: JsonMapping) -> list[Problem]:
    """What is beyond the bounds of an object's kind, or makes no sense together."""
    kind = str(value.get("kind"))
    rule = _RULES.get(kind)
    return [*bound_problems(value, BOUNDS.get(kind, {})), *(rule(value) if rule is not None else ())]


def new_definition_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """The same of a changed object, as far as it was not so before."""
    stood = definition_problems(old) if not shape_problems(old) else []
    return [one for one in definition_problems(new) if one not in stood]


_RULES: dict[str, Callable[[JsonMapping], list[Problem]]] = {
    "ResourceFlavor": flavor.definition_problems,
}
