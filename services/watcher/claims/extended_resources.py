"""Which extended resources a pod asks for: names of a domain that is not Kubernetes' own."""

import msgspec

from events.amount import add
from events.pod_set import ContainerShape, PodShape


class ExtendedRequest(msgspec.Struct, frozen=True):
    """How much of an extended resource one pod asks for."""

    count: int
    """The sum over its containers, or what the greatest of its init containers asks for if that is more."""
    at: str
    """The first container that asks for it, below the pod's specification."""


def extended_requests(shape: PodShape) -> dict[str, ExtendedRequest]:
    """What one pod asks for, by name."""
    places: dict[str, str] = {}
    greatest: dict[str, int] = {}
    together: dict[str, int] = {}
    for index, container in enumerate(shape.init_containers):
        for name, amount in _asked(container).items():
            places.setdefault(name, f"initContainers[{index}]")
            greatest[name] = max(greatest.get(name, 0), amount)
    for index, container in enumerate(shape.containers):
        for name, amount in _asked(container).items():
            places.setdefault(name, f"containers[{index}]")
            together[name] = add(together.get(name, 0), amount)
    return {
        name: ExtendedRequest(max(greatest.get(name, 0), together.get(name, 0)), place)
        for name, place in places.items()
    }


def _asked(container: ContainerShape) -> dict[str, int]:
    both = {**container.limits, **container.requests}
    return {name: amount for name, amount in both.items() if amount > 0 and _is_extended(name)}


def _is_extended(name: str) -> bool:
    """Whether a resource is a vendor's own, such as `nvidia.com/gpu`."""
    domain, slash, _ = name.partition("/")
    kubernetes = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return bool(slash) and not kubernetes and not name.startswith("requests.")
