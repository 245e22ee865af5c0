"""What the configuration file says of shares: of queues and cohorts, and of what local queues have used before.

Rule: docs/rules/fair-sharing.md#fair-strategies
"""

from decimal import Decimal, InvalidOperation

import msgspec

from events.settings import AdmissionFairSharing, FairStrategy
from ops.production.configuration.durations import duration
from ops.production.configuration.field_reading import at


class FairSharingPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `fairSharing`."""

    enable: bool = True
    """Whether queues and cohorts are compared by what they borrow, once `fairSharing` is there."""
    preemption_strategies: tuple[FairStrategy, ...] = ()
    """By which shares somebody may be preempted, in the order in which they are tried; empty: both."""


class AdmissionFairSharingPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `admissionFairSharing`."""

    usage_half_life_time: str = "0s"
    """After how long past usage counts half; a duration. Without it nothing is remembered."""
    usage_sampling_interval: str = "5m"
    """How often past usage is shown in the status of local queues; a duration."""
    resource_weights: dict[str, float | int | str] = {}
    """By resource: how much of it counts, at least 0; 1 where it is not named."""


def admission_fair_sharing(part: AdmissionFairSharingPart | None) -> AdmissionFairSharing | None:
    """The settings of past usage. Raises `ValueError` naming the field that is wrong."""
    if part is None:
        return None
    return AdmissionFairSharing(
        half_life=at("admissionFairSharing.usageHalfLifeTime", duration, part.usage_half_life_time),
        sampling=at("admissionFairSharing.usageSamplingInterval", duration, part.usage_sampling_interval),
        resource_weights={
            name: at(f"admissionFairSharing.resourceWeights[{name}]", _decimal, weight)
            for name, weight in sorted(part.resource_weights.items())
        },
    )


def _decimal(value: float | str) -> str:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise ValueError(f"{value!r} is not a number of at least 0, such as 1 or 0.5")
    return str(number)
