"""What HAMi's webhook makes of a container that asks for cards (docs/rules/devices.md#webhook).

kuelog applies the same effects before it reckons what a pod will hold, so that it asks for what HAMi will give.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from events.card import WHOLE_CARD
from projections.devices.annotations.terms import (
    BEST_EFFORT,
    BURST_SHARE,
    CLASS,
    FIXED_SHARE,
    OFFLINE,
    ONLINE,
    QUALITY,
    SOFT_SPLIT,
    SOFT_SPLIT_POD,
)
from projections.devices.card_config import CHART_DEFAULTS, DEFAULT_CORE_POLICY, NvidiaDefaults
from projections.devices.vendors.table import ENFLAME_SLICE, METAX_SLICE, NEURON, NVIDIA_FAMILY
from projections.devices.vendors.vendor import Vendor

Amount = int | Fraction


class ContainerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a container asks for, and the environment that is added to it."""

    limits: Mapping[str, Amount] = {}
    requests: Mapping[str, Amount] = {}
    env: tuple[tuple[str, str], ...] = ()
    runtime_class: str = ""
    """The class that the pod is to run under, if it names none itself."""


class Mutated(msgspec.Struct, frozen=True, kw_only=True):
    """The container afterwards, and whether it asks for the vendor's cards; or why it is refused."""

    asked: ContainerRequest
    found: bool = False
    refused: str = ""
    annotations: Mapping[str, str] = {}
    """What is added to the pod."""


def mutate(
    vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str], defaults: NvidiaDefaults = CHART_DEFAULTS
) -> Mutated:
    """The effect of one vendor on one container."""
    if vendor.family == NVIDIA_FAMILY:
        return _nvidia(vendor, asked, defaults)
    if vendor.allocatable or vendor.templates:
        return _templated(vendor, asked, annotations)
    special = _SPECIAL.get(vendor.word, _SPECIAL.get(vendor.family))
    if special is not None:
        return special(vendor, asked, annotations)
    names = vendor.resources
    if not vendor.rules.compute_units:
        return Mutated(asked=asked, found=names.count in asked.limits)
    cores = asked.limits.get(names.cores)
    if cores is not None and not 0 < cores <= WHOLE_CARD:
        return Mutated(asked=asked, refused=f"{names.cores} is {cores}; it must lie between 1 and {WHOLE_CARD}")
    return Mutated(asked=asked, found=any(name in asked.limits for name in names.names()))


def _nvidia(vendor: Vendor, asked: ContainerRequest, defaults: NvidiaDefaults) -> Mutated:
    names = vendor.resources
    percent = asked.limits.get(names.percent)
    if percent is not None and not 0 <= percent <= WHOLE_CARD:
        return Mutated(asked=asked, refused=f"{names.percent} is {percent}; it must lie between 0 and {WHOLE_CARD}")
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
    if found and names.cores not in limits and (percent == WHOLE_CARD or not shares):
        limits[names.cores] = WHOLE_CARD
    if not found and defaults.overwrite_env:
        env.append(("NVIDIA_VISIBLE_DEVICES", "none"))
    changed = replace(
        asked, limits=limits, env=tuple(env), runtime_class=defaults.runtime_class if found else asked.runtime_class
    )
    return Mutated(asked=changed, found=found)


def _templated(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Ascend: memory is rounded up to a template, several cards are given whole only.

    Rule: docs/rules/devices.md#templates
    """
    names = vendor.resources
    limits, requests = dict(asked.limits), dict(asked.requests)
    if names.count not in limits:
        return Mutated(asked=asked)
    soft = annotations.get(SOFT_SPLIT_POD) == SOFT_SPLIT
    if not soft and limits.get(names.cores, 0) > 0:
        return Mutated(asked=asked, refused=f"{names.cores} needs the annotation {SOFT_SPLIT_POD}: {SOFT_SPLIT}")
    memory = rounded(vendor, limits[names.memory]) if names.memory in limits else vendor.allocatable
    count = limits[names.count]
    if vendor.super_pod and vendor.rules.pairs:
        if count == 1:
            limits[names.count] = _PAIR
            requests |= {names.count: _PAIR} if names.count in requests else {}
        elif count % _PAIR:
            return Mutated(asked=asked, refused=f"{names.count} is {count}; cards of this model come in pairs")
    if soft:
        return Mutated(asked=replace(asked, limits=limits, requests=requests), found=True)
    if memory is None:
        problem = f"{names.memory} is {limits[names.memory]}; a card has {vendor.allocatable} MiB"
        return Mutated(asked=asked, refused=problem)
    if count > 1 and memory != vendor.allocatable:
        return Mutated(asked=asked, refused=f"{names.count} is {count}; only whole cards go together")
    limits[names.memory] = requests[names.memory] = memory
    return Mutated(asked=replace(asked, limits=limits, requests=requests), found=True)


def rounded(vendor: Vendor, memory: Amount) -> int | None:
    """The MiB of the smallest template that holds so much, or of the whole card; None if even that does not."""
    for template in sorted(vendor.templates, key=lambda template: template.memory):
        if memory <= template.memory:
            return template.memory
    return vendor.allocatable if memory <= vendor.capacity else None


def _metax_slice(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Quality of service defaults to the lowest; a workload with a class takes one card."""
    count, kind = asked.limits.get(vendor.resources.count), annotations.get(CLASS)
    if count is None:
        return Mutated(asked=asked)
    if kind is not None and kind not in (ONLINE, OFFLINE):
        return Mutated(asked=asked, found=True, refused=f"{CLASS} is {kind!r}; write {ONLINE} or {OFFLINE}")
    if kind is not None and count != 1:
        return Mutated(asked=asked, found=True, refused=f"{vendor.resources.count} is {count}; {CLASS} goes with 1")
    quality = annotations.get(QUALITY)
    if kind == ONLINE or quality in _QUALITIES:
        return Mutated(asked=asked, found=True)
    if quality is not None:
        problem = f"{QUALITY} is {quality!r}; write one of {', '.join(_QUALITIES)}"
        return Mutated(asked=asked, found=True, refused=problem)
    return Mutated(asked=asked, found=True, annotations={QUALITY: BEST_EFFORT})


def _mthreads(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Several cards are given whole; a part of one is of a size that a card can be cut into."""
    del annotations
    names = vendor.resources
    count = asked.limits.get(names.count, asked.requests.get(names.count))
    if count is None:
        return Mutated(asked=asked)
    if count <= 0:
        return Mutated(asked=asked, refused=f"{names.count} is {count}; at least 1")
    memory = asked.limits.get(names.memory)
    if count == 1 and memory is not None:
        wrong = f"{names.memory} is {memory}; one of {', '.join(map(str, _MTHREADS_SIZES))}"
        return Mutated(asked=asked, found=True, refused="" if memory in _MTHREADS_SIZES else wrong)
    limits = {**asked.limits, names.cores: count * _MTHREADS_CORES, names.memory: count * _MTHREADS_SIZES[-1]}
    several = {"mthreads.com/request-gpu-num": str(count)} if count > 1 else {}
    return Mutated(asked=replace(asked, limits=limits), found=True, annotations=several)


def _sized(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Memory is rounded up to a size that a card can be cut into."""
    del annotations
    names = vendor.resources
    if names.count not in asked.limits:
        return Mutated(asked=asked)
    if names.memory not in asked.limits:
        return Mutated(asked=asked, found=True)
    size = size_of(vendor, asked.limits[names.memory])
    limits, requests = {**asked.limits, names.memory: size}, {**asked.requests, names.memory: size}
    return Mutated(asked=replace(asked, limits=limits, requests=requests), found=True)


def size_of(vendor: Vendor, memory: Amount) -> int:
    """The smallest size that holds so much; the whole card where none does."""
    return next((size for size in vendor.sizes if memory <= size), vendor.sizes[-1])


def _enflame_slice(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """A slice by its number, or by what it must have; requests are made equal to limits."""
    del annotations
    names = vendor.resources
    named = {name: asked.limits[name] for name in names.names() if name in asked.limits}
    if not named:
        return Mutated(asked=asked)
    amount, cores = names.count if names.count in named else names.memory, named.get(names.cores, 0)
    if named.get(amount, 1) <= 0:
        return Mutated(asked=asked, refused=f"{amount} is {named[amount]}; at least 1")
    if amount != names.count and not 0 <= cores <= WHOLE_CARD:
        return Mutated(asked=asked, refused=f"{names.cores} is {cores}; it must lie between 0 and {WHOLE_CARD}")
    return Mutated(asked=replace(asked, requests={**asked.requests, **named}), found=True)


def _neuron(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Devices, or cores that fill devices."""
    del annotations
    stated = {**asked.requests, **asked.limits}
    names = vendor.resources
    resource = next((name for name in (names.count, names.cores) if name in stated), "")
    if not resource:
        return Mutated(asked=asked)
    if neuron_cards(vendor, stated) is None:
        return Mutated(asked=asked, refused=f"{resource} is {stated[resource]}; 1, or a multiple of what a device has")
    return Mutated(asked=asked, found=True)


class NeuronCards(msgspec.Struct, frozen=True):
    """Devices of a vendor that counts by cores."""

    cards: int
    cores: int
    """Of each."""


def neuron_cards(vendor: Vendor, stated: Mapping[str, Amount]) -> NeuronCards | None:
    """How many devices, and how many cores of each; None where nothing is asked for, or nothing that there can be."""
    names, each = vendor.resources, vendor.unit.slots if vendor.unit is not None else 1
    amount = stated.get(names.count)
    in_cores = amount is None
    if amount is None:
        amount = stated.get(names.cores, 0)
    whole = Fraction(amount)
    if whole.denominator != 1 or not 0 < whole <= (_INT32 * each if in_cores else _INT32):
        return None
    number = int(whole)
    if not in_cores:
        return NeuronCards(number, each)
    if number <= each:
        return NeuronCards(1, number)
    return NeuronCards(number // each, each) if number % each == 0 else None


def _iluvatar(vendor: Vendor, asked: ContainerRequest, annotations: Mapping[str, str]) -> Mutated:
    """Iluvatar gives several cards only whole: who asks for more than one gets all cores of each."""
    del annotations
    names, count = vendor.resources, asked.limits.get(vendor.resources.count)
    if count is None:
        return Mutated(asked=asked)
    limits = {**asked.limits, names.cores: count * WHOLE_CARD} if count > 1 else asked.limits
    return Mutated(asked=replace(asked, limits=limits), found=True)


_PAIR = 2
"""The chips of one board of a super pod; who asks for one, or a part of one, gets as much of both."""
_QUALITIES = (BEST_EFFORT, FIXED_SHARE, BURST_SHARE)
_MTHREADS_SIZES, _MTHREADS_CORES = (2, 4, 8, 16, 32, 64, 96), 16
"""In units of 512 MiB; the largest is a whole card."""
_INT32 = 2**31 - 1
_SPECIAL: Mapping[str, Callable[[Vendor, ContainerRequest, Mapping[str, str]], Mutated]] = {
    METAX_SLICE: _metax_slice,
    "Mthreads": _mthreads,
    "XPU": _sized,
    ENFLAME_SLICE: _enflame_slice,
    NEURON: _neuron,
    "iluvatar": _iluvatar,
}
"""By vendor word, or by family."""
