"""Which prices are in force when, and what people have corrected.

A price list stays in force until the next one starts. The first may start in the past; a later one that would change
prices that were already in force counts from when it was entered: what was charged is changed by corrections alone.
"""

from bisect import bisect_right

import msgspec

from events.billing import CorrectionEntered, Meter, Price, PriceListSet
from events.event import Millis
from projections.billing.entry import AnyEntry, Holder, QuotaEntry
from projections.billing.money import parse_money
from projections.log_position import LogPosition


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What a unit of a meter costs: the list price, and the price agreed with one tenant."""

    meter: Meter
    list_price: int
    contracted: int
    sku: str
    """Which price it is, without the one who pays: flavor or model, priority class where it has one, meter or resource."""


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """A list, from when it really counts, and where it stands on the log."""

    event: PriceListSet
    starts: Millis
    place: str
    rates: dict[tuple[object, ...], tuple[Rate, ...]] = {}
    """Rates that were looked up already, by tenant, flavor, model, priority class, resource, open windows and labels."""

    @property
    def of_quota(self) -> bool:
        """Whether it prices any resource of quota: what is held of others then lacks a price."""
        return any(price.meter is Meter.QUOTA for price in self.event.prices)

    @property
    def flavor_labels(self) -> tuple[str, ...]:
        """The labels of flavors that any of its prices names."""
        return tuple(dict.fromkeys(price.flavor_label for price in self.event.prices if price.flavor_label))


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What a person entered, when, and where it stands on the log."""

    event: CorrectionEntered
    at: Millis
    place: str


class PriceBook:
    """All price lists and corrections, in the order in which they were entered."""

    def __init__(self) -> None:
        self.lists: list[PriceList] = []
        """Price lists, ordered by the time from which they are in force."""
        self.corrections: list[Correction] = []

    def set(self, event: PriceListSet, position: LogPosition) -> None:
        """A list is entered; one that was to start at the same time is superseded."""
        in_force = self.at(event.starts) is not None
        starts = max(event.starts, position.at) if in_force else event.starts
        self.lists = [one for one in self.lists if one.starts != starts]
        self.lists.append(
            PriceList(event=event, starts=starts, place=f"{position.partition}/{position.sequence}", rates={})
        )
        self.lists.sort(key=lambda one: one.starts)

    def correct(self, event: CorrectionEntered, position: LogPosition) -> None:
        """Keep a correction with its place on the log."""
        self.corrections.append(
            Correction(event=event, at=position.at, place=f"{position.partition}/{position.sequence}")
        )

    def at(self, at: Millis) -> PriceList | None:
        """The price list in force at a time; None before the first."""
        found = bisect_right(self.lists, at, key=lambda one: one.starts)
        return self.lists[found - 1] if found else None

    def cuts(self, since: Millis, until: Millis) -> list[Millis]:
        """When prices change between two times."""
        return [one.starts for one in self.lists if since < one.starts < until]


class PriceTerms(msgspec.Struct, frozen=True):
    """What else than the entry says which price applies to a time."""

    windows: tuple[str, ...] = ()
    """Of the price list: those that are open."""
    labels: tuple[str, ...] = ()
    """Those of its flavor that the price list names."""


NO_TERMS = PriceTerms()


def rates_of(prices: PriceList, entry: AnyEntry, terms: PriceTerms = NO_TERMS) -> tuple[Rate, ...]:
    """The meters that run for an entry; none when nothing is priced for it."""
    if isinstance(entry, QuotaEntry):
        return _rates(prices, entry.holder, entry.flavor, "", entry.resource, terms)
    found = _rates(prices, entry.holder, entry.slice.flavor, entry.slice.card.model, "", terms)
    exclusive = tuple(rate for rate in found if rate.meter is Meter.EXCLUSIVE)
    if exclusive and entry.slice.exclusive:
        return exclusive
    return tuple(rate for rate in found if rate.meter is not Meter.EXCLUSIVE)


def _rates(
    prices: PriceList, holder: Holder, flavor: str, model: str, resource: str, terms: PriceTerms
) -> tuple[Rate, ...]:
    key = (holder.tenant, flavor, model, holder.priority_class, resource)
    looked_up = (*key, terms.windows, terms.labels)
    found = prices.rates.get(looked_up)
    if found is None:
        found = prices.rates[looked_up] = tuple(
            rate
            for meter in Meter
            if (meter is Meter.QUOTA) is bool(resource)
            for rate in (_rate(prices.event, meter, terms, *key),)
            if rate is not None
        )
    return found


def _rate(
    event: PriceListSet,
    meter: Meter,
    terms: PriceTerms,
    tenant: str,
    flavor: str,
    model: str,
    priority: str,
    resource: str,
) -> Rate | None:
    fitting = [
        price
        for price in event.prices
        if price.meter is meter
        and price.resource == resource
        and price.flavor in {"", flavor}
        and price.model in {"", model}
        and price.tenant in {"", tenant}
        and price.priority_class in {"", priority}
        and price.window in {"", *terms.windows}
        and price.flavor_label in {"", *terms.labels}
    ]
    public = [price for price in fitting if not price.tenant]
    agreed = [price for price in fitting if price.tenant]
    if not fitting:
        return None
    listed = max(public or agreed, key=_particular)
    contracted = max(agreed or public, key=_particular)
    of_what = listed.resource or meter
    when = (listed.flavor_label, listed.window)
    return Rate(
        meter=meter,
        list_price=parse_money(listed.unit_price),
        contracted=parse_money(contracted.unit_price),
        sku="/".join(filter(None, (listed.flavor or listed.model or "any", listed.priority_class, *when, of_what))),
    )


def _particular(price: Price) -> tuple[bool, ...]:
    return tuple(
        bool(word) for word in (price.priority_class, price.flavor, price.model, price.flavor_label, price.window)
    )
