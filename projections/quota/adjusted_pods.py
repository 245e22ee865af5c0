"""What pods ask for once the cluster has filled in what they leave out (docs/rules/quota.md#filled-in).

The cluster applies the limit ranges of the namespace and the overhead of the runtime class when it creates a pod; quota is
reckoned for that pod, before there is one.
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.amount import Requests
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quantity import from_units
from events.quota import LimitRangeItem, LimitRangeObserved, RuntimeClassObserved
from projections.quota.effective_requests import pod_requests


class LimitRangeBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limit ranges of a namespace for containers, or for pods, as one: the narrowest bounds, the first defaults."""

    minimum: Requests
    maximum: Requests
    default: Requests
    default_request: Requests


def adjusted_shape(
    limit_ranges: Mapping[str, LimitRangeObserved],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    shape: PodShape,
) -> PodShape:
    """The shape with defaults, with limits where requests are missing, and with its runtime class's overhead."""
    bounds = bounds_of(limit_ranges, namespace, "Container")
    overhead = shape.overhead
    if not overhead and shape.runtime_class and shape.runtime_class in runtime_classes:
        overhead = runtime_classes[shape.runtime_class].overhead
    return msgspec.structs.replace(
        shape,
        containers=tuple(_filled(one, bounds) for one in shape.containers),
        init_containers=tuple(_filled(one, bounds) for one in shape.init_containers),
        pod_requests={**shape.pod_limits, **shape.pod_requests},
        overhead=overhead,
    )


def adjusted(
    limit_ranges: Mapping[str, LimitRangeObserved],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    pod_set: PodSet,
) -> PodSet:
    """The pod set with its shape adjusted."""
    return msgspec.structs.replace(
        pod_set, shape=adjusted_shape(limit_ranges, runtime_classes, namespace, pod_set.shape)
    )


def misfit(
    limit_ranges: Mapping[str, LimitRangeObserved],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    pod_sets: Iterable[PodSet],
) -> str:
    """Why the API server would reject these pods, whatever the quota; empty when it would accept them."""
    for pod_set in pod_sets:
        problem = _of_shape(
            limit_ranges,
            namespace,
            adjusted_shape(limit_ranges, runtime_classes, namespace, pod_set.shape),
        )
        if problem:
            return f"pod set {pod_set.name}: {problem}"
    return ""


def bounds_of(limit_ranges: Mapping[str, LimitRangeObserved], namespace: str, kind: str) -> LimitRangeBounds:
    """The bounds and defaults of all limit ranges of a namespace together, for `kind` Container or Pod."""
    bounds = LimitRangeBounds(minimum={}, maximum={}, default={}, default_request={})
    for item in _items(limit_ranges, namespace, kind):
        for resource, amount in item.minimum.items():
            bounds.minimum[resource] = max(amount, bounds.minimum.get(resource, amount))
        for resource, amount in item.maximum.items():
            bounds.maximum[resource] = min(amount, bounds.maximum.get(resource, amount))
        for table, defaults in ((bounds.default, item.default), (bounds.default_request, item.default_request)):
            for resource, amount in defaults.items():
                table.setdefault(resource, amount)
    return bounds


def _items(limit_ranges: Mapping[str, LimitRangeObserved], namespace: str, kind: str) -> Iterable[LimitRangeItem]:
    for key in sorted(limit_ranges):
        limits = limit_ranges[key]
        if limits.namespace == namespace:
            yield from (item for item in limits.items if item.kind == kind)


def _filled(container: ContainerShape, bounds: LimitRangeBounds) -> ContainerShape:
    limits = {**bounds.default, **container.limits}
    requests = {**bounds.default, **bounds.default_request, **container.limits, **container.requests}
    return msgspec.structs.replace(container, limits=limits, requests=requests)


def _of_shape(limit_ranges: Mapping[str, LimitRangeObserved], namespace: str, shape: PodShape) -> str:
    bounds = bounds_of(limit_ranges, namespace, "Container")
    for container in (*shape.init_containers, *shape.containers):
        for resource, limit in container.limits.items():
            asked = container.requests.get(resource, 0)
            if asked > limit:
                amounts = f"{from_units(resource, asked)} above its limit of {from_units(resource, limit)}"
                return f"container {container.name} asks for {resource} {amounts}"
        problem = _outside({**container.requests, **container.limits}, container.requests, bounds)
        if problem:
            return f"container {container.name}: {problem}"
    total = pod_requests(shape)
    problem = _outside(total, total, bounds_of(limit_ranges, namespace, "Pod"))
    return f"the pod: {problem}" if problem else ""


def _outside(most: Mapping[str, int], least: Mapping[str, int], bounds: LimitRangeBounds) -> str:
    for resource, amount in most.items():
        if amount > bounds.maximum.get(resource, amount):
            allowed = from_units(resource, bounds.maximum[resource])
            return f"{resource} {from_units(resource, amount)} is above the namespace's limit range of {allowed}"
    for resource, amount in least.items():
        if amount < bounds.minimum.get(resource, amount):
            allowed = from_units(resource, bounds.minimum[resource])
            return f"{resource} {from_units(resource, amount)} is below the namespace's limit range of {allowed}"
    return ""
