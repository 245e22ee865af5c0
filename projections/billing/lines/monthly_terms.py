"""What a price list agrees on for whole months: discounts, commitments and minimum charges.

Rule: docs/rules/billing.md#monthly
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import TypeVar

from events.billing import Commitment, Discount, LineKind, MinimumCharge
from events.event import Millis
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import Amount, DueKey
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import UNIT, decimal, parse_money, times
from projections.billing.terms.prices import PriceList
from projections.calendar import month_after, month_of

_PER_CENT = 100
_ENDLESS = 10**30


def monthly_terms(
    ledger: Ledger, due: Mapping[DueKey, int], window: Window, mapped: Collection[DueKey]
) -> Iterator[Amount]:
    """What each account's months come to besides, of those that lie in the window as a whole.

    `due` is what they come to without; rules name the accounts that are `mapped`.
    """
    for month in _months(ledger, window):
        prices = ledger.prices.at(month_after(month) - 1)
        if prices is None or not has_terms(prices):
            continue
        totals = {account: total for (account, of), total in due.items() if of == month}
        named = {one.account for one in (*prices.event.commitments, *prices.event.minimums) if one.account}
        for account in sorted(totals.keys() | named):
            by_rule = (account, month) in mapped or (account not in totals and account not in ledger.tenants)
            yield from _of_account(prices, Payer(account, mapped=by_rule), totals.get(account, 0), month)


def _months(ledger: Ledger, window: Window) -> Iterator[Millis]:
    """The months that lie in the window, from the first with prices to the last that the log has reached."""
    if not ledger.prices.lists:
        return
    month = month_of(max(ledger.prices.lists[0].starts, window.since))
    while month < min(window.until, ledger.at + 1):
        if window.since <= month and month_after(month) <= window.until:
            yield month
        month = month_after(month)


def has_terms(prices: PriceList) -> bool:
    """Whether it agrees on anything for whole months."""
    event = prices.event
    return bool(event.discounts or event.commitments or event.minimums)


def _of_account(prices: PriceList, payer: Payer, total: int, month: Millis) -> Iterator[Amount]:
    for kind, cost, text, commitment in _terms(prices, payer.account, total):
        if cost:
            yield Amount(
                kind=kind,
                payer=payer,
                tenant=payer.tenant,
                cost=cost,
                currency=prices.currency,
                booked=month,
                about=month,
                text=text,
                place=prices.place,
                commitment=commitment,
            )


def _terms(prices: PriceList, account: str, total: int) -> Iterator[tuple[LineKind, int, str, Commitment | None]]:
    event = prices.event
    left = total
    for discount, part in _discounted(_own(event.discounts, account), total):
        taken = -times(parse_money(discount.percent), part, _PER_CENT * UNIT)
        left += taken
        yield LineKind.DISCOUNT, taken, f"{discount.name}: {discount.percent} % of {decimal(part, least=2)}", None
    for one in (one for one in event.commitments if one.account == account):
        covered = -min(max(left, 0), parse_money(one.covers))
        yield LineKind.COMMITMENT, parse_money(one.price), f"{one.name}: covers {one.covers} of this month", one
        yield LineKind.COVERED, covered, f"{one.name}: covered", one
        left += covered
    paid = left + sum(parse_money(one.price) for one in event.commitments if one.account == account)
    for least in _own(event.minimums, account)[:1]:
        yield (
            LineKind.MINIMUM,
            max(parse_money(least.amount) - paid, 0),
            f"The least for a month is {least.amount}",
            None,
        )


T = TypeVar("T", Discount, MinimumCharge)


def _own(found: tuple[T, ...], account: str) -> tuple[T, ...]:
    own = tuple(one for one in found if one.account == account)
    return own or tuple(one for one in found if not one.account)


def _discounted(found: tuple[Discount, ...], total: int) -> Iterator[tuple[Discount, int]]:
    """Each discount, and the part of the total that it is of: from where it begins to where the next one does."""
    steps = sorted(found, key=lambda one: parse_money(one.above))
    ends = [*(parse_money(one.above) for one in steps), _ENDLESS]
    for one, (begin, end) in zip(steps, pairwise(ends), strict=True):
        if total > begin:
            yield one, min(total, end) - begin
