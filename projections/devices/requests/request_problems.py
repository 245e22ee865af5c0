"""What is wrong with how a container asks for cards, before HAMi drops it silently (docs/rules/devices.md#requests).

HAMi treats a container whose amounts it cannot read as asking for nothing, so the pod would start without a card.
"""

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from events.card import WHOLE_CARD
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.requests.card_requests import is_in_bytes, read_request
from projections.devices.requests.mutation import Amount, ContainerRequest, mutate
from projections.devices.vendors.vendor import Reading, Vendor

_INT32 = 2**31 - 1
_MIB = 1024 * 1024


class RequestProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: under which resource, and what to do about it."""

    resource: str
    message: str


def request_problems(
    limits: Mapping[str, Amount],
    requests: Mapping[str, Amount],
    annotations: Mapping[str, str],
    config: CardConfig = HAMI,
) -> tuple[RequestProblem, ...]:
    """All that is wrong with what one container asks of cards; empty if HAMi will read it as it is meant."""
    asked = {**requests, **limits}
    found: list[RequestProblem] = []
    for vendor in config.vendors:
        if not any(name in asked for name in vendor.resources.names()):
            continue
        problems = [
            problem
            for name in vendor.resources.names()
            if name in asked
            for problem in _amount_problems(vendor, name, Fraction(asked[name]))
        ]
        problems.extend(_beyond_a_card(vendor, asked))
        mutated = mutate(vendor, ContainerRequest(limits=asked), annotations, config.defaults)
        if mutated.refused and not problems:
            problems.append(RequestProblem(resource=vendor.resources.count, message=mutated.refused))
        elif not problems and (not mutated.found or _in_vain(vendor, asked, mutated.asked.limits, config)):
            count = "0" if vendor.resources.count in asked else "not set"
            message = f"is {count}, so no card is asked for; set {vendor.resources.count} to the number of cards"
            problems.append(RequestProblem(resource=vendor.resources.count, message=message))
        found.extend(problems)
    return tuple(found)


def _in_vain(vendor: Vendor, asked: Mapping[str, Amount], limits: Mapping[str, Amount], config: CardConfig) -> bool:
    """Whether memory or cores are asked for, and no card to have them on."""
    wanted = any(asked.get(name, 0) > 0 for name in vendor.resources.names())
    return wanted and read_request(vendor, limits, {}, config.defaults) is None


def _beyond_a_card(vendor: Vendor, asked: Mapping[str, Amount]) -> list[RequestProblem]:
    """Cores in percent of a card of which there are more: HAMi takes them for all, and after its release 2.10 for no request at all."""
    names = vendor.resources
    cores = asked.get(names.cores, 0)
    each = vendor.reading in (Reading.EACH, Reading.GIBIBYTES) and not vendor.rules.compute_units
    together = vendor.rules.cores_together and asked.get(names.count, 0) > 1
    if not each or together or not WHOLE_CARD < cores <= _INT32:
        return []
    return [RequestProblem(resource=names.cores, message=f"{cores} is more than the {WHOLE_CARD} % that a card has")]


def _amount_problems(vendor: Vendor, name: str, amount: Fraction) -> list[RequestProblem]:
    names = vendor.resources
    factor = names.factor if name == names.memory else 1
    if amount.denominator != 1:
        return [RequestProblem(resource=name, message=f"{amount} is no whole number; cards are counted whole")]
    if amount < 0:
        return [RequestProblem(resource=name, message=f"{amount} is negative")]
    if name == names.memory and vendor.reading is Reading.GIBIBYTES and is_in_bytes(amount):
        beyond = RequestProblem(resource=name, message=f"{amount} bytes are more than any card has")
        return [beyond] if int(amount) // _MIB > _INT32 else []
    if amount * factor <= _INT32:
        return []
    if name != names.memory:
        return [RequestProblem(resource=name, message=f"{amount} is beyond {_INT32}")]
    unit = "MiB" if factor == 1 else f"{factor} MiB"
    mib = amount / (_MIB * factor)
    hint = f"; for that many bytes write {int(mib)}" if mib >= 1 else ""
    return [RequestProblem(resource=name, message=f"{amount} is counted in {unit}, more than any card has{hint}")]
