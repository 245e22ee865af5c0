"""What pods ask for once the cluster has filled in what they leave out (docs/rules/quota.md#filled-in).

The cluster applies the limit ranges of the namespace and the overhead of the runtime class when it creates a pod; quota is
reckoned for that pod, before there is one.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.amount import Requests
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import RuntimeClassObserved
from projections.limit_ranges import LimitRangeBounds, NamespaceLimits, bounds_of
from projections.quota.effective_requests import pod_requests


def adjusted_shape(
    limits: Mapping[str, NamespaceLimits],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    shape: PodShape,
) -> PodShape:
    """The shape with defaults, with limits where requests are missing, and with its runtime class's overhead."""
    bounds = bounds_of(limits, namespace, "Container")
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
    limits: Mapping[str, NamespaceLimits],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    pod_set: PodSet,
) -> PodSet:
    """The pod set with its shape adjusted."""
    return msgspec.structs.replace(pod_set, shape=adjusted_shape(limits, runtime_classes, namespace, pod_set.shape))


def misfit(
    limits: Mapping[str, NamespaceLimits],
    runtime_classes: Mapping[str, RuntimeClassObserved],
    namespace: str,
    pod_sets: Iterable[PodSet],
) -> str:
    """Why the API server would reject these pods, whatever the quota, in Kueue's words; empty when it would accept them."""
    shapes = [adjusted_shape(limits, runtime_classes, namespace, one.shape) for one in pod_sets]
    paths = [f"spec.podSets[{index}].template.spec" for index in range(len(shapes))]
    if above := [one for path, shape in zip(paths, shapes, strict=True) for one in _above_limits(shape, path)]:
        return f"resources validation failed: {_all_of(above)}"
    containers, pods = (bounds_of(limits, namespace, kind) for kind in ("Container", "Pod"))
    outside = [
        one for path, shape in zip(paths, shapes, strict=True) for one in _out_of_bounds(shape, path, containers, pods)
    ]
    return f"resources didn't satisfy LimitRange constraints: {_all_of(outside)}" if outside else ""


def _filled(container: ContainerShape, bounds: LimitRangeBounds) -> ContainerShape:
    limits = {**bounds.default, **container.limits}
    requests = {**bounds.default, **bounds.default_request, **container.limits, **container.requests}
    return msgspec.structs.replace(container, limits=limits, requests=requests)


def _containers(shape: PodShape, path: str) -> Iterable[tuple[str, ContainerShape]]:
    """The containers with their paths."""
    for field, containers in (("initContainers", shape.init_containers), ("containers", shape.containers)):
        for index, container in enumerate(containers):
            yield f"{path}.{field}[{index}]", container


def _above_limits(shape: PodShape, path: str) -> Iterable[str]:
    for place, container in _containers(shape, path):
        yield from _told(place, _greater(container.requests, container.limits), "requests must not exceed its limits")


def _out_of_bounds(shape: PodShape, path: str, containers: LimitRangeBounds, pods: LimitRangeBounds) -> Iterable[str]:
    for place, container in _containers(shape, path):
        yield from _outside(place, {**container.requests, **container.limits}, container.requests, containers)
    total = pod_requests(shape)
    yield from _outside(path, total, total, pods)


def _outside(place: str, most: Requests, least: Requests, bounds: LimitRangeBounds) -> Iterable[str]:
    yield from _told(place, _greater(most, bounds.maximum), "requests must not be above the limitRange max")
    yield from _told(place, _greater(bounds.minimum, least), "requests must not be below the limitRange min")


def _greater(amounts: Mapping[str, int], others: Mapping[str, int]) -> list[str]:
    """The resources of both of which the first has more."""
    return sorted(resource for resource, amount in amounts.items() if amount > others.get(resource, amount))


def _told(place: str, resources: Sequence[str], rule: str) -> Iterable[str]:
    if resources:
        names = ",".join(f'"{one}"' for one in resources)
        yield f"{place}: Invalid value: [{names}]: {rule}"


def _all_of(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
