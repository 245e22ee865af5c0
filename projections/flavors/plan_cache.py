"""A cache of flavor plans beside the state, never a part of it: a plan made again would be the same."""

from typing import Any

_MOST = 20_000


class PlanCache:
    """Plans of flavor searches, by cluster queue and class of workloads."""

    __slots__ = ("plans",)

    def __init__(self) -> None:
        self.plans: dict[tuple[str, str], Any] = {}

    def keep(self, key: tuple[str, str], plan: object) -> None:
        """Keep a plan; when there are too many, begin anew."""
        if len(self.plans) >= _MOST:
            self.plans.clear()
        self.plans[key] = plan

    def clear(self) -> None:
        """Something that plans are made from has changed."""
        self.plans.clear()
