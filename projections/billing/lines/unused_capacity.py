"""What idle and stranded card memory costs, and who pays for it.

Rule: docs/rules/billing.md#unused
"""

from collections.abc import Iterator

import msgspec

from events.amount import in_proportion
from events.billing import LineKind, Meter, Price, Spread
from events.event import Millis
from projections.billing.cards.unused_time import FreeMemoryKey, UnusedTime
from projections.billing.entries.entry import Holder, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import Amount
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import PLACES, UNIT, parse_money, quotient, times
from projections.billing.terms.prices import PriceList, unused_price
from projections.billing.terms.resource_unit import GIB

HOUR: Millis = 3_600_000
_KINDS = {Meter.IDLE: LineKind.IDLE, Meter.STRANDED: LineKind.STRANDED}


class UnusedCost(msgspec.Struct, frozen=True, kw_only=True):
    """What the free memory of cards of one kind costs in a stretch of time, and who pays for it."""

    kind: LineKind
    key: FreeMemoryKey
    until: Millis
    free: int
    """MiB·ms."""
    cost: int
    currency: str
    spread: Spread
    place: str
    shares: tuple[tuple[str, Payer, int], ...]
    """By namespace and payer; what is left of the cost is nobody's."""


class _Parts:
    """Who held how much of which cards in each stretch, and who could have had quota; found once for all of a bill."""

    def __init__(self, ledger: Ledger, unused: UnusedTime) -> None:
        self._ledger, self.unused = ledger, unused
        self._held: dict[tuple[Millis, str], dict[tuple[str, str, Payer], int]] = {}
        """By stretch and model: MiB·ms by flavor, namespace and payer."""
        book = ledger.prices.accounts
        for entry in ledger.entries:
            held, holder = entry.slice, entry.holder
            for begin, length in unused.cuts.stretches(unused.window, entry.since, entry.until):
                parts = self._held.setdefault((begin, held.card.model), {})
                key = (held.flavor, holder.tenant, book.payer_of(holder, begin))
                parts[key] = parts.get(key, 0) + held.memory * length

    def of_use(self, key: FreeMemoryKey) -> dict[tuple[str, Payer], int]:
        found: dict[tuple[str, Payer], int] = {}
        for (flavor, tenant, payer), amount in self._held.get((key.begin, key.model), {}).items():
            if key.flavor in {"", flavor} and amount:
                found[tenant, payer] = found.get((tenant, payer), 0) + amount
        return found

    def of_quota(self, key: FreeMemoryKey, until: Millis, resource: str, cost: int) -> dict[tuple[str, Payer], int]:
        """The cost itself, divided among queues and then among their namespaces."""
        times_of, within = self._ledger.quota.times, Window(key.begin, until)
        found: dict[tuple[str, Payer], int] = {}
        for queue, part in in_proportion(cost, times_of.nominal((key.flavor, resource), within)).items():
            for tenant, share in in_proportion(part, times_of.namespaces(queue, within)).items():
                holder = Holder(tenant=tenant, workload="", cluster_queue=queue)
                who = (tenant, self._ledger.prices.accounts.payer_of(holder, key.begin))
                found[who] = found.get(who, 0) + share
        return found


def unused_costs(ledger: Ledger, window: Window) -> Iterator[UnusedCost]:
    """What unused card memory costs in a window, by kind of cards and stretch of time in which no price changes."""
    unused = ledger.unused
    if unused is None:
        return
    parts: _Parts | None = None
    for kind, sums in ((Meter.IDLE, unused.idle), (Meter.STRANDED, unused.stranded)):
        for key, free in sorted(sums.items()):
            prices = ledger.prices.at(key.begin)
            price = unused_price(prices, kind, key.flavor, key.model) if prices is not None else None
            exchange = ledger.prices.rate(prices, key.begin) if prices is not None else None
            if prices is None or price is None or exchange is None or key.begin not in window:
                continue
            parts = parts or _Parts(ledger, unused)
            yield _cost(parts, prices, price, key, free, exchange)


def unused_amounts(ledger: Ledger, window: Window) -> Iterator[Amount]:
    """The shares of what unused card memory costs, as lines."""
    for one in unused_costs(ledger, window):
        hours = quotient(one.free, GIB * HOUR, PLACES)
        what = f"{one.kind} card memory of {one.key.flavor or one.key.model}, {hours} GiB-hours"
        for tenant, payer, cost in one.shares:
            if cost:
                yield Amount(
                    kind=one.kind,
                    payer=payer,
                    tenant=tenant,
                    cost=cost,
                    currency=one.currency,
                    booked=one.key.begin,
                    about=one.key.begin,
                    text=f"Share of {what}, by {one.spread}",
                    place=one.place,
                )


def _cost(parts: _Parts, prices: PriceList, price: Price, key: FreeMemoryKey, free: int, exchange: int) -> UnusedCost:
    until = parts.unused.cuts.end_of(parts.unused.window, key.begin)
    cost = times(parse_money(price.unit_price) * exchange, free, GIB * HOUR * UNIT)
    match price.spread:
        case Spread.USE:
            shares = _divided(cost, parts.of_use(key))
        case Spread.QUOTA:
            shares = parts.of_quota(key, until, price.resource, cost)
        case Spread.NONE:
            shares = {}
    return UnusedCost(
        kind=_KINDS[price.meter],
        key=key,
        until=until,
        free=free,
        cost=cost,
        currency=prices.currency,
        spread=price.spread,
        place=prices.place,
        shares=tuple((tenant, payer, share) for (tenant, payer), share in sorted(shares.items(), key=_order)),
    )


def _divided(cost: int, parts: dict[tuple[str, Payer], int]) -> dict[tuple[str, Payer], int]:
    """In proportion; what is left over goes to the largest remainders, of equals by name."""
    names = {"\n".join((tenant, *_words(payer))): (tenant, payer) for tenant, payer in parts}
    shares = in_proportion(cost, {name: parts[who] for name, who in names.items()})
    return {names[name]: share for name, share in shares.items()}


def _words(payer: Payer) -> tuple[str, ...]:
    return (payer.account, payer.cost_center, str(payer.mapped))


def _order(one: tuple[tuple[str, Payer], int]) -> tuple[str, ...]:
    (tenant, payer), _ = one
    return (tenant, *_words(payer))
