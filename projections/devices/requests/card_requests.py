"""What a container asks of cards, after what HAMi's webhook will make of it (docs/rules/devices.md#requests).

All values are per card. A container that asks for cards, but neither for memory nor for cores of them, gets whole
cards for itself alone. What HAMi cannot read makes it treat the container as asking for nothing; so does kuelog here,
and its validation tells the user beforehand. What HAMi's webhook refuses asks for nothing either, where it does not see
the pod; else the pod is not let in at all (`projections.devices.requests.refused_pods`).
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from events.card import WHOLE_CARD, CardRequest
from events.pod_set import ContainerShape, PodSet, PodShape
from projections.devices.card_config import CHART_DEFAULTS, HAMI, CardConfig, NvidiaDefaults
from projections.devices.fit.slices import BY_AMOUNT
from projections.devices.requests.mutation import Amount, ContainerRequest, mutate, neuron_cards, size_of
from projections.devices.vendors.table import BY_WORD, NVIDIA, NVIDIA_FAMILY
from projections.devices.vendors.vendor import Reading, Vendor

GPU, GPU_MEMORY, GPU_PERCENT, GPU_CORES = BY_WORD[NVIDIA].resources.names()

_INT32 = 2**31 - 1
_ABSENT = 0
_THOUSAND, _IN_BYTES = 1000, 1 << 21


class _Unreadable(Exception):
    """An amount that HAMi cannot take: no whole number, negative, or beyond 32 bits."""


def read_request(
    vendor: Vendor,
    limits: Mapping[str, Amount],
    requests: Mapping[str, Amount],
    defaults: NvidiaDefaults = CHART_DEFAULTS,
) -> CardRequest | None:
    """The request of one container for the cards of one vendor, as it stands; None when it asks for none."""
    names = vendor.resources
    stated = limits if vendor.limits_only else {**requests, **limits}
    try:
        if vendor.reading is Reading.NEURON:
            return _neuron(vendor, stated)
        if vendor.reading is Reading.PROFILES:
            return _slices(vendor, stated)
        count = _whole(stated, names.count)
        if not count:
            return None
        memory = _memory(vendor, stated)
        cores = _whole(stated, names.cores)
    except _Unreadable:
        return None
    percent = _percent(stated.get(names.percent, _ABSENT)) if names.percent else None
    if vendor.family == NVIDIA_FAMILY and not memory and percent is None:
        memory = defaults.memory
    if vendor.reading is Reading.TOGETHER:
        memory, cores = memory // count, None if cores is None else cores // count
    if vendor.reading is Reading.SIZES:
        return _sized(vendor, count, memory)
    fallback = defaults.cores if vendor.family == NVIDIA_FAMILY else vendor.default_cores
    return CardRequest(
        vendor=vendor.word,
        count=count,
        memory=memory or vendor.default_memory,
        percent=percent if percent is not None or memory else vendor.whole_percent,
        cores=fallback if cores is None else cores,
    )


def _memory(vendor: Vendor, stated: Mapping[str, Amount]) -> int:
    names = vendor.resources
    if vendor.reading is not Reading.GIBIBYTES:
        return _whole(stated, names.memory, names.factor) or 0
    amount = Fraction(stated.get(names.memory, _ABSENT))
    if amount >= 0 and is_in_bytes(amount):
        return _counted(Fraction(int(amount) >> 20))
    return _whole(stated, names.memory, names.factor) or 0


def is_in_bytes(amount: Fraction) -> bool:
    """Whether memory of MetaX is bytes, for it was written with a suffix: HAMi sees that by the text.

    No card has so many GiB, and so few as a suffix of thousands makes are none.
    """
    return amount.denominator == 1 and (amount % _THOUSAND == 0 or amount >= _IN_BYTES)


def _sized(vendor: Vendor, count: int, memory: int) -> CardRequest:
    """Memory is rounded up to a size; cores are the same part of a card."""
    whole = vendor.sizes[-1]
    if not memory:
        return CardRequest(vendor=vendor.word, count=count, memory=whole, percent=WHOLE_CARD, cores=WHOLE_CARD)
    size = size_of(vendor, memory)
    return CardRequest(vendor=vendor.word, count=count, memory=size, cores=size * WHOLE_CARD // whole)


def _slices(vendor: Vendor, stated: Mapping[str, Amount]) -> CardRequest | None:
    names = vendor.resources
    slices = _whole(stated, names.count)
    if slices:
        return CardRequest(vendor=vendor.word, count=1, memory=slices)
    memory, cores = _whole(stated, names.memory) or 0, _whole(stated, names.cores) or 0
    if slices is not None or not (memory or cores):
        return None
    return CardRequest(vendor=vendor.word, count=1, memory=memory, percent=BY_AMOUNT, cores=cores)


def _neuron(vendor: Vendor, stated: Mapping[str, Amount]) -> CardRequest | None:
    found = neuron_cards(vendor, stated)
    return None if found is None else CardRequest(vendor=vendor.word, count=found.cards, cores=found.cores)


def _whole(stated: Mapping[str, Amount], name: str, factor: int = 1) -> int | None:
    if not name or name not in stated:
        return None
    return _counted(Fraction(stated[name]), factor)


def _counted(value: Fraction, factor: int = 1) -> int:
    if value.denominator != 1 or not 0 <= value * factor <= _INT32:
        raise _Unreadable
    return int(value) * factor


def _percent(amount: Amount) -> int | None:
    """A percentage of memory: more than all is all, nothing is no percentage."""
    value = Fraction(amount)
    if value.denominator != 1 or value <= 0:
        return None
    return min(int(value), WHOLE_CARD)


def container_card_requests(
    container: ContainerShape, annotations: Mapping[str, str], config: CardConfig = HAMI
) -> tuple[CardRequest, ...]:
    """All requests of one container, by vendor word, after the webhook's effects."""
    if config.names.isdisjoint(container.limits) and config.names.isdisjoint(container.requests):
        return ()
    found: list[CardRequest] = []
    for vendor in config.vendors:
        if not any(name in container.limits or name in container.requests for name in vendor.resources.names()):
            continue
        # A request without a limit is not seen by the webhook, but Kubernetes wants both alike for cards.
        limits: Mapping[str, Amount] = {**container.requests, **container.limits}
        mutated = mutate(vendor, ContainerRequest(limits=limits), annotations, config.defaults)
        request = None if mutated.refused else read_request(vendor, mutated.asked.limits, {}, config.defaults)
        if request is not None:
            found.append(request)
    return tuple(sorted(found, key=lambda request: request.vendor))


class PodCardRequests(msgspec.Struct, frozen=True):
    """What the containers of a pod ask for."""

    containers: tuple[tuple[CardRequest, ...], ...]
    """The requests of each container, init containers first."""
    init: int
    """How many of them are init containers."""
    sidecars: tuple[int, ...] = ()
    """Which of these run on beside the others, by their places."""


def pod_card_requests(shape: PodShape, config: CardConfig = HAMI) -> PodCardRequests:
    """The requests of all containers of a pod."""
    annotations = shape.device_annotations
    init = tuple(container_card_requests(container, annotations, config) for container in shape.init_containers)
    others = tuple(container_card_requests(container, annotations, config) for container in shape.containers)
    return PodCardRequests((*init, *others), len(init), shape.sidecars)


def any_asks_for_cards(pod_sets: Iterable[PodSet], config: CardConfig) -> bool:
    """Whether pods of any of these sets need cards."""
    return any(asks_for_cards(one.shape, config) for one in pod_sets)


def asks_for_cards(shape: PodShape, config: CardConfig = HAMI) -> bool:
    """Whether any container of the pod needs a card."""
    return any(pod_card_requests(shape, config).containers)
