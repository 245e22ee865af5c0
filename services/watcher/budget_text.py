"""A budget as people write it on a ClusterQueue or a Namespace: `nvidia.com/gpu=500h, cpu=20000h per month`."""

import re

from events.quantity import BadQuantity, to_units
from events.quota import Budget, BudgetPeriod

BUDGET_EXAMPLE = '"nvidia.com/gpu=500h per month": a number of unit-hours per resource, per day, week or month'

_FORM = re.compile(r"^\s*(.+?)\s+per\s+(day|week|month)\s*$")
_LIMIT = re.compile(r"^\s*([A-Za-z0-9./_-]+)\s*=\s*(\d+)h\s*$")


def budget(text: str) -> Budget:
    """A budget from its text. Raises ValueError."""
    found = _FORM.match(text)
    if found is None:
        raise ValueError(text)
    limits: dict[str, int] = {}
    for part in found.group(1).split(","):
        limit = _LIMIT.match(part)
        if limit is None or limit.group(1) in limits:
            raise ValueError(text)
        try:
            limits[limit.group(1)] = to_units(limit.group(1), limit.group(2))
        except BadQuantity as bad:
            raise ValueError(text) from bad
    return Budget(period=BudgetPeriod(found.group(2)), limits=dict(sorted(limits.items())))
