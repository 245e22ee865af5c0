"""What the limit ranges of a namespace say together: found by namespace, and put together once after each change."""

from collections.abc import Mapping

import msgspec

from events.amount import Requests
from events.quota import LimitRangeObserved
from projections.trail import Trail


class LimitRangeBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limit ranges of a namespace for containers, or for pods, as one: the narrowest bounds, the first defaults."""

    minimum: Requests
    maximum: Requests
    default: Requests
    default_request: Requests


class NamespaceLimits:
    """The limit ranges of one namespace, beside what they say together: that is asked for each pod set that is tried."""

    __slots__ = ("_together", "ranges")

    def __init__(self) -> None:
        self.ranges: dict[str, LimitRangeObserved] = {}
        self._together: dict[str, LimitRangeBounds] = {}

    def bounds(self, kind: str) -> LimitRangeBounds:
        """Their bounds and defaults for `kind` Container or Pod."""
        known = self._together.get(kind)
        if known is None:
            known = self._together[kind] = _together(self.ranges, kind)
        return known

    def forget(self) -> None:
        """One of them has changed."""
        self._together.clear()


_NOTHING = LimitRangeBounds(minimum={}, maximum={}, default={}, default_request={})


def bounds_of(limits: Mapping[str, NamespaceLimits], namespace: str, kind: str) -> LimitRangeBounds:
    """The bounds and defaults of all limit ranges of a namespace together, for `kind` Container or Pod."""
    found = limits.get(namespace)
    return _NOTHING if found is None else found.bounds(kind)


def put_limit_range(
    limits: dict[str, NamespaceLimits], trail: Trail, namespace: str, name: str, found: LimitRangeObserved | None
) -> None:
    """A limit range is as it was observed, or gone."""
    if namespace not in limits:
        trail.put(limits, namespace, NamespaceLimits())
    known = limits[namespace]
    if found is None:
        trail.drop(known.ranges, name)
    else:
        trail.put(known.ranges, name, found)
    known.forget()
    trail.note(known.forget)
    if not known.ranges:
        trail.drop(limits, namespace)


def _together(ranges: Mapping[str, LimitRangeObserved], kind: str) -> LimitRangeBounds:
    bounds = LimitRangeBounds(minimum={}, maximum={}, default={}, default_request={})
    for item in (item for name in sorted(ranges) for item in ranges[name].items if item.kind == kind):
        for resource, amount in item.minimum.items():
            bounds.minimum[resource] = max(amount, bounds.minimum.get(resource, amount))
        for resource, amount in item.maximum.items():
            bounds.maximum[resource] = min(amount, bounds.maximum.get(resource, amount))
        for table, defaults in ((bounds.default, item.default), (bounds.default_request, item.default_request)):
            for resource, amount in defaults.items():
                table.setdefault(resource, amount)
    return bounds
