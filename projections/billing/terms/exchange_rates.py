"""Rates of exchange on record, by the currency of the prices and that of the bill.

Rule: docs/rules/billing.md#currencies
"""

import msgspec

from events.billing import ExchangeRateSet
from events.event import Millis
from projections.billing.terms.in_force import InForce
from projections.billing.terms.money import UNIT, parse_money
from projections.log_position import LogPosition


class ExchangeRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate, from when it really counts, and where it stands on the log."""

    event: ExchangeRateSet
    starts: Millis
    place: str

    @property
    def units(self) -> int:
        """The rate in units of 10^-10."""
        return parse_money(self.event.rate)


class ExchangeRates:
    """All rates that were entered."""

    def __init__(self) -> None:
        self.rates: dict[tuple[str, str], InForce[ExchangeRate]] = {}
        """By currency of the prices and of the bill."""

    def set(self, event: ExchangeRateSet, position: LogPosition) -> None:
        """A rate is entered: it counts from its time on, or from now where another is in force by then."""
        known = self.rates.setdefault((event.currency, event.billed_in), InForce[ExchangeRate]())
        place = f"{position.partition}/{position.sequence}"
        known.put(ExchangeRate(event=event, starts=known.start_of(event.starts, position.at), place=place))

    def rate(self, currency: str, billed_in: str, at: Millis) -> int | None:
        """So many units of 10^-10 of the bill's currency for one of the prices'; None where no rate is on record."""
        if not billed_in or billed_in == currency:
            return UNIT
        known = self.rates.get((currency, billed_in))
        found = known.at(at) if known is not None else None
        return found.units if found is not None else None

    def cuts(self, since: Millis, until: Millis) -> list[Millis]:
        """When rates change between two times."""
        return [at for known in self.rates.values() for at in known.cuts(since, until)]
