"""How much of a device that many share a request gets: what it asks for, rounded by the policy of the device.

Rule: docs/rules/claims.md#capacity
"""

from fractions import Fraction

from events.api.claims import CapacityRange, DeviceCapacity
from events.api.meta import Quantity
from events.quantity import ceil_fraction, parse_quantity


def granted(capacity: DeviceCapacity, asked: Quantity | None) -> Fraction | None:
    """How much a request gets of one dimension; None where the device can't serve it. Raises `BadQuantity`."""
    policy = capacity.request_policy
    if policy is None:
        return parse_quantity(capacity.value if asked is None else asked)
    base = parse_quantity(next(one for one in (asked, policy.default, capacity.value) if one is not None))
    if policy.valid_values:
        return next((value for value in map(parse_quantity, policy.valid_values) if value >= base), None)
    return base if policy.valid_range is None else _in_range(ceil_fraction(base), policy.valid_range)


def _in_range(amount: int, bounds: CapacityRange) -> Fraction | None:
    if bounds.min is not None:
        least = _whole(bounds.min)
        amount = max(amount, least)
        step = 0 if bounds.step is None else _whole(bounds.step)
        if step > 0:
            amount = least + -((least - amount) // step) * step
    return None if bounds.max is not None and amount > _whole(bounds.max) else Fraction(amount)


def _whole(text: Quantity) -> int:
    return ceil_fraction(parse_quantity(text))
