"""What the configuration file says of shares: of queues and cohorts, and of what local queues have used before.

Rule: docs/rules/fair-sharing.md#fair-strategies
"""

from decimal import Decimal, InvalidOperation

import msgspec

from events.settings import AdmissionFairSharing, FairStrategy, SettingsObserved
from ops.production.configuration.durations import duration
from ops.production.configuration.field_reading import at

_SAMPLING = 300_000


class FairSharingPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `fairSharing`."""

    enable: bool = True
    """Whether queues and cohorts are compared by what they borrow, once `fairSharing` is there."""
    preemption_strategies: tuple[FairStrategy, ...] = ()
    """By which shares somebody may be preempted: one, or both in this order; empty: both."""


class AdmissionFairSharingPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `admissionFairSharing`."""

    usage_half_life_time: str = "0s"
    """After how long past usage counts half; a duration. Without it nothing is remembered."""
    usage_sampling_interval: str = "5m"
    """How often past usage is shown in the status of local queues; a duration. 0 is the default."""
    resource_weights: dict[str, float | int | str] = {}
    """By resource: how much of it counts, at least 0; 1 where it is not named."""


def fair_strategies(part: FairSharingPart | None) -> tuple[FairStrategy, ...]:
    """By which shares somebody may be preempted; both where the file names none. Raises `ValueError` for what can't be."""
    both = SettingsObserved().fair_strategies
    if part is None or not part.enable or not part.preemption_strategies:
        return both
    found = part.preemption_strategies
    if len(found) > 1 and found != both:
        instead = f"write one of both, or [{', '.join(both)}]"
        raise ValueError(f"fairSharing.preemptionStrategies: Unsupported value: [{', '.join(found)}]: {instead}")
    return found


def admission_fair_sharing(part: AdmissionFairSharingPart | None) -> AdmissionFairSharing | None:
    """The settings of past usage. Raises `ValueError` naming the field that is wrong."""
    if part is None:
        return None
    return AdmissionFairSharing(
        half_life=at("admissionFairSharing.usageHalfLifeTime", duration, part.usage_half_life_time),
        sampling=at("admissionFairSharing.usageSamplingInterval", duration, part.usage_sampling_interval) or _SAMPLING,
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
