"""What the pods of a workload ask for together, as it is charged to the quota (docs/rules/quota.md#pod-requests)."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from events.amount import Requests, add, add_requests, multiply, scale_requests
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quantity import ceil_fraction, parse_quantity, units_per_one
from events.quota import ClusterQueueObserved
from events.settings import SettingsObserved, Transformation, TransformationStrategy
from projections.devices.card_config import HAMI, CardConfig

PODS = "pods"
NOTHING_COUNTED: Mapping[str, Collection[str]] = {}


def has_quota_of_pods(queue: ClusterQueueObserved) -> bool:
    """Whether a queue counts pods as a resource."""
    return any(PODS in group.resources for group in queue.groups)


def container_requests(container: ContainerShape, *, device_totals: bool, config: CardConfig = HAMI) -> Requests:
    """What one container asks for: limits stand in for requests that are missing.

    With `device_totals` what HAMi means per card counts for as many cards as are asked for.
    """
    requests = {**container.limits, **container.requests}
    for count in [name for name in requests if name in config.per_card] if device_totals else ():
        for resource in config.per_card[count]:
            if resource in requests and requests[count] > 1:
                requests[resource] = multiply(requests[resource], requests[count])
    return requests


def pod_requests(shape: PodShape, *, device_totals: bool = False, config: CardConfig = HAMI) -> Requests:
    """The effective requests of one pod: containers and sidecars summed, or the peak of the init containers."""
    total: Requests = {}
    for container in shape.containers:
        total = add_requests(total, container_requests(container, device_totals=device_totals, config=config))
    sidecars: Requests = {}
    peak: Requests = {}
    for container in shape.init_containers:
        own = container_requests(container, device_totals=device_totals, config=config)
        if container.restartable:
            sidecars = add_requests(sidecars, own)
            own = sidecars
        else:
            own = add_requests(own, sidecars)
        peak = _larger(peak, own)
    total = _larger(add_requests(total, sidecars), peak)
    total.update(shape.pod_requests)
    return add_requests(total, shape.overhead)


def pod_set_requests(
    pod_set: PodSet, count: int, settings: SettingsObserved, *, covers_pods: bool, config: CardConfig = HAMI
) -> Requests:
    """What `count` pods of a set are charged: transformed, without excluded resources, with what they claim, never below zero."""
    single = pod_requests(pod_set.shape, device_totals=settings.device_totals, config=config)
    kept = {
        resource: amount
        for resource, amount in single.items()
        if not resource.startswith(settings.exclude_resource_prefixes or ("\0",))
    }
    if settings.transformations:
        kept = transform(kept, settings.transformations, config.per_card if settings.device_totals else {})
    if pod_set.claims is not None:
        kept = {name: amount for name, amount in kept.items() if name not in pod_set.claims.replaced}
        kept = add_requests(kept, pod_set.claims.charged)
    total = scale_requests({resource: max(amount, 0) for resource, amount in kept.items()}, max(count, 0))
    if covers_pods:
        total[PODS] = max(count, 0)
    return total


def transform(
    requests: Mapping[str, int],
    rules: Sequence[Transformation],
    counted: Mapping[str, Collection[str]],
) -> Requests:
    """Resources counted as others (docs/rules/quota.md#transformations); exact until the end, then rounded up.

    By count of cards, what is `counted` for each of them already is not multiplied by it again.
    """
    by_input = {rule.input: rule for rule in rules}
    kept: Requests = {}
    generated: dict[str, Fraction] = {}
    for resource, amount in requests.items():
        rule = by_input.get(resource)
        if rule is None:
            kept[resource] = add(kept.get(resource, 0), amount)
            continue
        value = Fraction(amount, units_per_one(resource))
        if rule.multiply_by in requests and resource not in counted.get(rule.multiply_by, ()):
            value *= Fraction(requests[rule.multiply_by], units_per_one(rule.multiply_by))
        for name, factor in rule.outputs.items():
            generated[name] = generated.get(name, Fraction(0)) + value * parse_quantity(factor)
        if rule.strategy is TransformationStrategy.RETAIN:
            kept[resource] = add(kept.get(resource, 0), amount)
    for name, value in generated.items():
        units = max(ceil_fraction(value * units_per_one(name)), 0)
        kept[name] = add(kept.get(name, 0), units)
    return kept


def _larger(left: Mapping[str, int], right: Mapping[str, int]) -> Requests:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in (*left, *(n for n in right if n not in left))}
