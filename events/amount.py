"""Quantities of resources as exact integers, with one sentinel for "without bound".

CPU is counted in milli-units, device memory in MiB, device cores in percent of a card, all else in whole units
(docs/rules/quota.md#amounts). Arithmetic saturates at `UNLIMITED`; an unlimited amount stays unlimited.
"""

from collections.abc import Mapping

UNLIMITED = 2**63 - 1

Requests = dict[str, int]


def add(left: int, right: int) -> int:
    """Saturating sum."""
    if left == UNLIMITED or right == UNLIMITED:
        return UNLIMITED
    return min(left + right, UNLIMITED)


def subtract(left: int, right: int) -> int:
    """Difference; unlimited less anything stays unlimited. May be negative."""
    return UNLIMITED if left == UNLIMITED else left - right


def multiply(amount: int, times: int) -> int:
    """Saturating product."""
    if amount == UNLIMITED and times > 0:
        return UNLIMITED
    return min(amount * times, UNLIMITED)


def add_requests(left: Mapping[str, int], right: Mapping[str, int]) -> Requests:
    """Sum per resource, over the resources of both."""
    total = dict(left)
    for resource, amount in right.items():
        total[resource] = add(total.get(resource, 0), amount)
    return total


def scale_requests(requests: Mapping[str, int], times: int) -> Requests:
    """Each amount `times` over."""
    return {resource: multiply(amount, times) for resource, amount in requests.items()}


def in_proportion(amount: int, parts: Mapping[str, int]) -> dict[str, int]:
    """An amount divided in proportion to the parts, in whole units; what is left over goes to the largest remainders, of equals by name."""
    whole = sum(parts.values())
    if not whole:
        return {}
    exact = {name: divmod(amount * part, whole) for name, part in parts.items()}
    given = {name: units for name, (units, _) in exact.items()}
    rest = amount - sum(given.values())
    if rest:
        for name in sorted(parts, key=lambda name: (-exact[name][1], name))[:rest]:
            given[name] += 1
    return given
