"""Lines of a bill that are an amount of money alone."""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from events.billing import Commitment, LineKind
from events.event import Millis
from projections.billing.entries.entry import Holder, Window
from projections.billing.ledger import Ledger
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import parse_money, to_minor
from projections.calendar import month_after, month_of

DueKey = tuple[str, Millis]
"""An account, and a month."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """Money without a quantity, in units of 10^-10 of the bill's currency."""

    kind: LineKind
    payer: Payer
    tenant: str
    """The namespace that it is about; empty for what is about an account that others pay from, too."""
    cost: int
    currency: str
    booked: Millis
    about: Millis
    text: str = ""
    place: str = ""
    commitment: Commitment | None = None
    """Which one is paid for, or has paid for something."""

    @property
    def due(self) -> DueKey:
        """To whose total of which month it belongs."""
        return (self.payer.account, month_of(self.booked))


def entered_amounts(ledger: Ledger, window: Window) -> Iterator[Amount]:
    """What people have entered as an amount of money within a window, each as a line."""
    for correction in ledger.prices.corrections:
        # Of an amount from before the first list begins that list says in which currency it is.
        event, prices = correction.event, ledger.prices.at(correction.at) or next(iter(ledger.prices.lists), None)
        if event.amount and correction.at in window:
            yield Amount(
                kind=LineKind.CORRECTION,
                payer=ledger.prices.accounts.payer_of(Holder(tenant=event.tenant, workload=""), correction.at),
                tenant=event.tenant,
                cost=parse_money(event.amount),
                currency=prices.currency if prices is not None else "",
                booked=correction.at,
                about=event.about if event.about is not None else correction.at,
                text=event.reason,
                place=correction.place,
            )


def roundings(
    due: Mapping[DueKey, int], ledger: Ledger, window: Window, mapped: Collection[DueKey]
) -> Iterator[Amount]:
    """What each account's total of a month lacks to whole minor units, as lines of their own. Rules name those that are `mapped`.

    Rule: docs/rules/billing.md#money
    """
    for (account, month), total in sorted(due.items()):
        if not _has_all(window, ledger, month):
            continue
        prices = ledger.prices.at(month_after(month) - 1) or ledger.prices.at(ledger.at)
        if prices is None:
            continue
        difference = to_minor(total, prices.event.decimals) - total
        if difference:
            payer = Payer(account, mapped=(account, month) in mapped)
            yield Amount(
                kind=LineKind.ROUNDING,
                payer=payer,
                tenant=payer.tenant,
                cost=difference,
                currency=prices.currency,
                booked=month,
                about=month,
                text=f"Rounded to {prices.event.decimals} places",
            )


def _has_all(window: Window, ledger: Ledger, month: Millis) -> bool:
    """Whether a window has all of a month that the log has: the sum of a part of it is nothing that anybody pays."""
    return window.since <= max(month, ledger.began) and window.until >= min(month_after(month), ledger.at)
