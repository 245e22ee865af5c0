"""What HAMi's webhook makes of a container that asks for cards (hami-semantics §4).

kuelog applies the same effects before it reckons what a pod will hold, so that it asks for what HAMi will give.
"""

from collections.abc import Mapping
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from projections.devices.terms import SOFT_SPLIT, SOFT_SPLIT_POD
from projections.devices.vendor import Vendor
from projections.devices.vendors import NVIDIA_FAMILY

Amount = int | Fraction
WHOLE = 100
DEFAULT_CORE_POLICY = "default"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a container asks for, and the environment that is added to it."""

    limits: Mapping[str, Amount] = {}
    requests: Mapping[str, Amount] = {}
    env: tuple[tuple[str, str], ...] = ()
    runtime_class: str = ""
    """The class that the pod is to run under, if it names none itself."""


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """HAMi's configuration for NVIDIA cards, with the chart's values (hami-semantics §3)."""

    count: int = 1
    memory: int = 0
    cores: int = 0
    core_policy: str = DEFAULT_CORE_POLICY
    overwrite_env: bool = False
    priority: str = "nvidia.com/priority"
    runtime_class: str = ""


CHART = Defaults()


class Mutated(msgspec.Struct, frozen=True, kw_only=True):
    """The container afterwards, and whether it asks for the vendor's cards; or why it is refused."""

    asked: Asked
    found: bool = False
    refused: str = ""


def mutate(vendor: Vendor, asked: Asked, annotations: Mapping[str, str], defaults: Defaults = CHART) -> Mutated:
    """The effect of one vendor on one container."""
    if vendor.family == NVIDIA_FAMILY:
        return _nvidia(vendor, asked, defaults)
    if vendor.allocatable or vendor.templates:
        return _templated(vendor, asked, annotations)
    names = vendor.resources
    if not vendor.rules.compute_units:
        return Mutated(asked=asked, found=names.count in asked.limits)
    cores = asked.limits.get(names.cores)
    if cores is not None and not 0 < cores <= WHOLE:
        return Mutated(asked=asked, refused=f"{names.cores} is {cores}; it must lie between 1 and {WHOLE}")
    return Mutated(asked=asked, found=any(name in asked.limits for name in names.names()))


def _nvidia(vendor: Vendor, asked: Asked, defaults: Defaults) -> Mutated:
    names = vendor.resources
    percent = asked.limits.get(names.percent)
    if percent is not None and not 0 <= percent <= WHOLE:
        return Mutated(asked=asked, refused=f"{names.percent} is {percent}; it must lie between 0 and {WHOLE}")
    env = list(asked.env)
    if defaults.priority in asked.limits:
        env.append(("CUDA_TASK_PRIORITY", str(asked.limits[defaults.priority])))
    if defaults.core_policy not in ("", DEFAULT_CORE_POLICY):
        env.append(("GPU_CORE_UTILIZATION_POLICY", defaults.core_policy))
    limits = dict(asked.limits)
    shares = [name for name in (names.memory, names.percent, names.cores) if name and name in limits]
    if names.count not in limits and shares and defaults.count > 0:
        limits[names.count] = defaults.count
    found = names.count in limits
    if found and names.cores not in limits and (percent == WHOLE or not shares):
        limits[names.cores] = WHOLE
    if not found and defaults.overwrite_env:
        env.append(("NVIDIA_VISIBLE_DEVICES", "none"))
    changed = replace(
        asked, limits=limits, env=tuple(env), runtime_class=defaults.runtime_class if found else asked.runtime_class
    )
    return Mutated(asked=changed, found=found)


def _templated(vendor: Vendor, asked: Asked, annotations: Mapping[str, str]) -> Mutated:
    """Ascend: memory is rounded up to a template, several cards are given whole only (hami-semantics §4.1)."""
    names = vendor.resources
    limits, requests = dict(asked.limits), dict(asked.requests)
    if names.count not in limits:
        return Mutated(asked=asked)
    soft = annotations.get(SOFT_SPLIT_POD) == SOFT_SPLIT
    if not soft and limits.get(names.cores, 0) > 0:
        return Mutated(asked=asked, refused=f"{names.cores} needs the annotation {SOFT_SPLIT_POD}: {SOFT_SPLIT}")
    memory = rounded(vendor, limits[names.memory]) if names.memory in limits else vendor.allocatable
    if vendor.super_pod and (soft or memory == vendor.allocatable):
        if limits[names.count] == 1:
            limits[names.count] = requests[names.count] = 2
        elif limits[names.count] % 2:
            problem = f"{names.count} is {limits[names.count]}; cards of this model come in pairs"
            return Mutated(asked=asked, refused=problem)
    if soft:
        return Mutated(asked=replace(asked, limits=limits, requests=requests), found=True)
    if memory is None:
        problem = f"{names.memory} is {limits[names.memory]}; a card has {vendor.allocatable} MiB"
        return Mutated(asked=asked, refused=problem)
    if limits[names.count] > 1 and memory != vendor.allocatable:
        return Mutated(asked=asked, refused=f"{names.count} is {limits[names.count]}; only whole cards go together")
    limits[names.memory] = requests[names.memory] = memory
    return Mutated(asked=replace(asked, limits=limits, requests=requests), found=True)


def rounded(vendor: Vendor, memory: Amount) -> int | None:
    """The MiB of the smallest template that holds so much, or of the whole card; None if even that does not."""
    for template in sorted(vendor.templates, key=lambda template: template.memory):
        if memory <= template.memory:
            return template.memory
    return vendor.allocatable if memory <= vendor.capacity else None
