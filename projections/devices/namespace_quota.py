"""What a namespace may still take of cards, by its ResourceQuotas (docs/rules/devices.md#namespace-quota).

Counting cards is left to Kubernetes; memory is counted in MiB after the vendor's unit, cores in percent.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.card import CardRequest, CardShare
from projections.devices.vendors.vendor import VendorResources

_PREFIX = "limits."


class QuotaRoom(msgspec.Struct, frozen=True, kw_only=True):
    """MiB and percent of cores that are left; None where nothing is limited."""

    memory: int | None = None
    cores: int | None = None

    def holds(self, memory: int, cores: int) -> bool:
        """Whether so much in all still fits."""
        return (self.memory is None or memory <= self.memory) and (self.cores is None or cores <= self.cores)


NO_QUOTA = QuotaRoom()


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What a namespace uses of one resource, and its limit if it has one; a limit of 0 allows nothing."""

    used: int = 0
    limit: int | None = None


Names = Mapping[str, VendorResources]
"""By vendor word."""
Limits = dict[str, Limit]
"""By resource name."""
_NOTHING = Limit()


def room(limits: Mapping[str, Limit], resources: VendorResources) -> QuotaRoom:
    """What is left to a namespace of one vendor's memory and cores."""
    return QuotaRoom(
        memory=_left(limits.get(resources.memory, _NOTHING), resources.factor),
        cores=_left(limits.get(resources.cores, _NOTHING), 1),
    )


def _left(limit: Limit, factor: int) -> int | None:
    return None if limit.limit is None else limit.limit * max(factor, 1) - limit.used


class AskedAtOnce(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of one vendor at most at a time."""

    memory: int
    """MiB."""
    cores: int
    """As the vendor counts them."""


def asked_at_once(
    requests: Iterable[Iterable[CardRequest]], init: int, vendor: str, sidecars: Sequence[int] = ()
) -> AskedAtOnce:
    """What a pod asks of one vendor: the larger of its other containers' sum and any init container; sidecars count in both.

    A request that names only a percentage of memory counts no memory here: which card it will get is not known yet.
    """
    memory = cores = most_memory = most_cores = 0
    for place, asked in enumerate(requests):
        own = [request for request in asked if request.vendor == vendor]
        now_memory = memory + sum(request.memory * request.count for request in own)
        now_cores = cores + sum(request.cores * request.count for request in own)
        if place >= init or place in sidecars:
            memory, cores = now_memory, now_cores
        most_memory, most_cores = max(most_memory, now_memory), max(most_cores, now_cores)
    return AskedAtOnce(most_memory, most_cores)


def lets_in(
    limits: Mapping[str, Limit],
    requests: Sequence[Sequence[CardRequest]],
    init: int,
    names: Names,
    sidecars: Sequence[int],
) -> bool:
    """Whether a namespace's limits hold a pod, as HAMi's webhook reckons before any card is chosen."""
    words = {request.vendor for asked in requests for request in asked if request.vendor in names}
    return all(
        room(limits, names[word]).holds(asked.memory, asked.cores)
        for word in sorted(words)
        for asked in (asked_at_once(requests, init, word, sidecars),)
    )


def in_force(quotas: Iterable[Mapping[str, int]]) -> Limits:
    """The limits of a namespace by the hard values of all its ResourceQuotas: each has to hold, so the tightest counts.

    Rule: docs/rules/devices.md#namespace-quota
    """
    tightest: dict[str, int] = {}
    for hard in quotas:
        for key, limit in hard.items():
            if key.startswith(_PREFIX):
                name = key.removeprefix(_PREFIX)
                tightest[name] = min(limit, tightest.get(name, limit))
    return {name: Limit(limit=tightest[name]) for name in sorted(tightest)}


def charged(
    limits: Limits,
    shares: Mapping[str, tuple[tuple[CardShare, ...], ...]],
    vendors: Mapping[str, VendorResources],
    *,
    sign: int = 1,
) -> Limits:
    """What a namespace uses after a pod with these shares came (sign 1) or went (sign -1); never below nothing."""
    result = dict(limits)
    for word, containers in shares.items():
        resources = vendors.get(word)
        if resources is None:
            continue
        flat = [share for container in containers for share in container]
        _add(result, resources.memory, sign * sum(share.memory for share in flat))
        _add(result, resources.cores, sign * sum(share.cores for share in flat))
    return result


def _add(limits: Limits, name: str, amount: int) -> None:
    if not name:
        return
    known = limits.get(name, _NOTHING)
    limits[name] = Limit(used=max(0, known.used + amount), limit=known.limit)
