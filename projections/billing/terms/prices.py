"""Which prices are in force when, who pays, and what people have corrected."""

from collections.abc import Iterator, Sequence

import msgspec

from events.billing import (
    AccountsSet,
    CorrectionEntered,
    ExchangeRateSet,
    Meter,
    Price,
    PriceListSet,
)
from events.event import Millis
from projections.billing.entries.entry import AnyEntry, CardEntry, DeviceEntry, QuotaEntry
from projections.billing.terms.accounts import AccountBook
from projections.billing.terms.exchange_rates import ExchangeRates
from projections.billing.terms.in_force import InForce
from projections.billing.terms.money import UNIT, parse_money
from projections.log_position import LogPosition

OF_CARDS: tuple[Meter, ...] = (
    Meter.MEMORY,
    Meter.CORES,
    Meter.DOMINANT,
    Meter.CARD,
    Meter.EXCLUSIVE,
    Meter.SLOTS,
    Meter.NODE,
)
"""Meters of what is held of cards, in the order of their lines."""
UNUSED: tuple[Meter, ...] = (Meter.IDLE, Meter.STRANDED)


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
    """Rates that were looked up already, by what an entry is of, whose it is, and what else says which apply."""

    @property
    def of_quota(self) -> bool:
        """Whether it prices any resource of quota: what is held of others then lacks a price."""
        return any(price.meter is Meter.QUOTA for price in self.event.prices)

    @property
    def of_devices(self) -> bool:
        """Whether it prices any device that claims hold: what is held of other classes then lacks a price."""
        return any(price.meter is Meter.DEVICE for price in self.event.prices)

    @property
    def currency(self) -> str:
        """The currency of the bill."""
        return self.event.billed_in or self.event.currency

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
    """All price lists, rates of exchange, accounts and corrections, as they were entered."""

    def __init__(self) -> None:
        self._lists = InForce[PriceList]()
        self.accounts = AccountBook()
        self.exchange = ExchangeRates()
        self.corrections: list[Correction] = []

    @property
    def lists(self) -> Sequence[PriceList]:
        """Price lists, ordered by the time from which they are in force."""
        return self._lists.all

    def enter(
        self, event: PriceListSet | ExchangeRateSet | AccountsSet | CorrectionEntered, position: LogPosition
    ) -> None:
        """Take what an operator has entered, with its place on the log."""
        place = f"{position.partition}/{position.sequence}"
        match event:
            case PriceListSet():
                starts = self._lists.start_of(event.starts, position.at)
                self._lists.put(PriceList(event=event, starts=starts, place=place, rates={}))
            case ExchangeRateSet():
                self.exchange.set(event, position)
            case AccountsSet():
                self.accounts.set(event, position)
            case CorrectionEntered():
                self.corrections.append(Correction(event=event, at=position.at, place=place))

    def at(self, at: Millis) -> PriceList | None:
        """The price list in force at a time; None before the first."""
        return self._lists.at(at)

    def rate(self, prices: PriceList, at: Millis) -> int | None:
        """How much is billed for one unit of a list's currency, in units of 10^-10; None where no rate is on record."""
        return self.exchange.rate(prices.event.currency, prices.event.billed_in, at)

    def cuts(self, since: Millis, until: Millis) -> list[Millis]:
        """When prices, rates of exchange or accounts change between two times."""
        found = self._lists.cuts(since, until)
        if self.exchange.rates:
            found += self.exchange.cuts(since, until)
        return found + self.accounts.lists.cuts(since, until)


class PriceTerms(msgspec.Struct, frozen=True):
    """What else than the entry says which price applies to a time."""

    windows: tuple[str, ...] = ()
    """Of the price list: those that are open."""
    labels: tuple[str, ...] = ()
    """Those of its flavor that the price list names."""
    exchange: int | None = UNIT
    """How much is billed for one unit of the price list's currency, in units of 10^-10; None where no rate is on record."""


NO_TERMS = PriceTerms()


def rates_of(prices: PriceList, entry: AnyEntry, terms: PriceTerms) -> tuple[Rate, ...]:
    """The meters that run for an entry; none when nothing is priced for it."""
    holder = entry.holder
    flavor, model, resource, device_class, alone = "", "", "", "", None
    match entry:
        case QuotaEntry():
            flavor, resource = entry.flavor, entry.resource
        case DeviceEntry():
            device_class = entry.device_class
        case CardEntry():
            held = entry.slice
            flavor, model = held.flavor, held.card.model
            alone = Meter.NODE if held.node_cards else Meter.EXCLUSIVE if held.exclusive else None
    key = (holder.tenant, flavor, model, resource, device_class, holder.priority_class)
    looked_up = (*key, alone, terms.windows, terms.labels)
    found = prices.rates.get(looked_up)
    if found is None:
        found = prices.rates[looked_up] = tuple(_running(prices.event, terms, alone, *key))
    return found


def _running(
    event: PriceListSet,
    terms: PriceTerms,
    alone: Meter | None,
    tenant: str,
    flavor: str,
    model: str,
    resource: str,
    device_class: str,
    priority: str,
) -> Iterator[Rate]:
    """The rates that apply; one of a whole card or node alone, where there is one, and none of them elsewhere."""
    meters = (Meter.QUOTA,) if resource else (Meter.DEVICE,) if device_class else OF_CARDS
    rates = [_rate(event, meter, terms, tenant, flavor, model, priority, resource, device_class) for meter in meters]
    found = {rate.meter: rate for rate in rates if rate is not None}
    for meter in (Meter.NODE, Meter.EXCLUSIVE):
        rate = found.pop(meter, None)
        # Who holds a whole node holds whole cards as well.
        if rate is not None and alone is not None and (meter is alone or meter is Meter.EXCLUSIVE):
            yield rate
            return
    yield from found.values()


def unused_price(prices: PriceList, meter: Meter, flavor: str, model: str) -> Price | None:
    """What a GiB-hour of card memory costs that nobody used; None where the list has no price for it."""
    fitting = [
        price
        for price in prices.event.prices
        if price.meter is meter and price.flavor in {"", flavor} and price.model in {"", model}
    ]
    return max(fitting, key=_particular, default=None)


def lent_price(prices: PriceList, flavor: str, resource: str) -> int | None:
    """What a unit of quota costs in which a queue has it of another; None where the list has no price for it."""
    fitting = [
        price
        for price in prices.event.prices
        if price.meter is Meter.LENT and price.resource == resource and price.flavor in {"", flavor}
    ]
    return parse_money(max(fitting, key=_particular).unit_price) if fitting else None


def _rate(
    event: PriceListSet,
    meter: Meter,
    terms: PriceTerms,
    tenant: str,
    flavor: str,
    model: str,
    priority: str,
    resource: str,
    device_class: str,
) -> Rate | None:
    fitting = [
        price
        for price in event.prices
        if price.meter is meter
        and price.resource == resource
        and price.device_class in {"", device_class}
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
        sku="/".join(
            filter(
                None,
                (listed.flavor or listed.model or listed.device_class or "any", listed.priority_class, *when, of_what),
            )
        ),
    )


def _particular(price: Price) -> tuple[bool, ...]:
    return tuple(
        bool(word)
        for word in (
            *(price.priority_class, price.flavor, price.model, price.device_class, price.flavor_label, price.window),
        )
    )
