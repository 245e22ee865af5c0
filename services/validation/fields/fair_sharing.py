"""The weight of a queue or cohort: 0, or more than a billionth (below that, shares collapse)."""

from fractions import Fraction

from events.json_object import JsonMapping
from events.quantity import BadQuantity, parse_quantity
from services.validation.problem import Problem, invalid

LEAST = Fraction(1, 10**9)


def fair_sharing_problems(fair: JsonMapping | None) -> list[Problem]:
    """The problems of the fair sharing weight, if one is given."""
    weight = (fair or {}).get("weight")
    if weight is None:
        return []
    try:
        exact = parse_quantity(weight)
    except BadQuantity as bad:
        return [invalid("spec.fairSharing", weight, str(bad), "a number of at least 0")]
    if exact < 0:
        return [invalid("spec.fairSharing", weight, f"weight {weight} is negative", "a number of at least 0")]
    if 0 < exact <= LEAST:
        return [invalid("spec.fairSharing", weight, f"weight {weight} is too small to divide by", "0, or more than 1n")]
    return []
