"""Price lists and corrections as operators enter them: checked against the ledger first, then stored for good."""

from collections.abc import Sequence
from typing import TypeAlias

from events.billing import AccountsSet, CorrectionEntered, ExchangeRateSet, MonthClosed, PriceListSet
from events.control import Quarantined
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL
from events.timestamp import format_timestamp
from ops.production.log.control import say_behind
from ops.queries.billing.problems import BillRefused
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import standings
from projections.billing.lines.charged_lines import BilledTo
from projections.billing.lines.standing import EntryStanding
from projections.billing.lines.totals import bill
from projections.billing.terms.money import BadAmount, decimal, entered_money
from projections.billing.terms.prices import Correction
from services.runtime.log_errors import LogMovedOn
from services.runtime.log_port import Bus, Entry

Entered: TypeAlias = PriceListSet | ExchangeRateSet | AccountsSet | CorrectionEntered | MonthClosed | Quarantined


async def enter(bus: Bus, event: Entered, at: Millis, entered: Sequence[Entry]) -> int:
    """Store an entry on CONTROL, if nothing came there since it was checked; its sequence. Raises `BillRefused`."""
    control = await bus.stream(CONTROL)
    base, prev_hash = (entered[-1].sequence, bytes_hash(entered[-1].data)) if entered else (0, GENESIS)
    try:
        return await say_behind(control, event, at, base=base, prev_hash=prev_hash)
    except LogMovedOn as moved:
        raise BillRefused("somebody else has entered something at the same time: look at it, and ask again") from moved


def check_prices(ledger: Ledger, event: PriceListSet, now: Millis, closed: Millis) -> None:
    """What was charged stays as it is: only the first list may start in the past, and none in a closed month, up to whose end it is `closed`.

    Raises `BillRefused`.
    """
    known = ledger.prices.at(event.starts)
    if event.starts < now and known is not None:
        raise BillRefused(
            f"the price list would start at {format_timestamp(event.starts)}, where {known.event.name!r} is in force: "
            "what was charged is never changed. Let it start now or later, and enter corrections for the time before"
        )
    if event.starts < closed:
        raise _in_closed_month("the price list", event.starts, closed)
    billed = event.billed_in or event.currency
    others = {one.currency for one in ledger.prices.lists} - {billed}
    if others:
        raise BillRefused(
            f"the price list is billed in {billed}, but what was charged so far is in {', '.join(sorted(others))}: one ledger "
            f"bills in one currency. Prices may be in another one: say billedIn: {min(others)}"
        )
    if ledger.prices.exchange.rate(event.currency, event.billed_in, event.starts) is None:
        raise BillRefused(
            f"there is no rate from {event.currency} to {billed} at {format_timestamp(event.starts)}: enter one with "
            f"`kuelog price rate {event.currency} RATE --billed-in {billed} --source ...` first"
        )


def check_rate(ledger: Ledger, event: ExchangeRateSet, now: Millis, closed: Millis) -> None:
    """By what was charged stays. `closed` is the end of the last closed month. Raises `BillRefused`."""
    if event.currency == event.billed_in:
        raise BillRefused(
            f"{event.currency} needs no rate to itself: name the currency of the prices, then that of the bill"
        )
    known = ledger.prices.exchange.rate(event.currency, event.billed_in, event.starts) is not None
    _check_start("the rate", event.starts, now, closed, known=known)


def check_accounts(ledger: Ledger, event: AccountsSet, now: Millis, closed: Millis) -> None:
    """Who has paid stays. `closed` is the end of the last closed month. Raises `BillRefused`."""
    known = ledger.prices.accounts.lists.at(event.starts) is not None
    _check_start("the rules about who pays", event.starts, now, closed, known=known)


def _check_start(what: str, starts: Millis, now: Millis, closed: Millis, *, known: bool) -> None:
    """Only the first may begin in the past, and none in a month that is closed. Raises `BillRefused`."""
    if starts < now and known:
        raise BillRefused(
            f"{what} would start at {format_timestamp(starts)}, where others are in force: what was charged is never "
            "changed. Let it start now or later, and enter corrections for the time before"
        )
    if starts < closed:
        raise _in_closed_month(what, starts, closed)


def _in_closed_month(what: str, starts: Millis, closed: Millis) -> BillRefused:
    return BillRefused(
        f"{what} would start at {format_timestamp(starts)}, and months are closed until {format_timestamp(closed)}: "
        "let it start then or later"
    )


def check_correction(ledger: Ledger, event: CorrectionEntered) -> CorrectionEntered:
    """The correction with the tenant of the entry that it names. Raises `BillRefused`."""
    if event.author in event.approved_by:
        raise BillRefused(f"{event.author} enters it: another person approves of it, or --approved-by is left away")
    if event.amount:
        return _check_amount(ledger, event)
    if not event.entry:
        raise BillRefused("nothing is corrected: name an entry with --entry, or give --tenant and --amount")
    entry = ledger.found(event.entry)
    if entry is None:
        raise BillRefused(f"the ledger has no entry {event.entry}: `kuelog bill entries` lists them with their ids")
    if entry.ended is None:
        raise BillRefused(f"entry {event.entry} still goes on: correct it when it has ended")
    if (event.since is None) is not (event.until is None):
        raise BillRefused("a replacement needs both --since and --until; without them the entry is only reversed")
    if event.since is not None and event.until is not None and event.until <= event.since:
        raise BillRefused("the replacement ends before it starts: --until has to be later than --since")
    _check_standing(standings(ledger).of(entry), event)
    of_tenant = CorrectionEntered(
        tenant=entry.holder.tenant,
        entry=event.entry,
        since=event.since,
        until=event.until,
        reason=event.reason,
        author=event.author,
        approved_by=event.approved_by,
        allow_negative=event.allow_negative,
    )
    _check_total(ledger, of_tenant)
    return of_tenant


def _check_total(ledger: Ledger, event: CorrectionEntered) -> None:
    """An amount may have given back already what an entry is now to give back. Raises `BillRefused`."""
    charged, corrections = _charged(ledger, event.tenant), ledger.prices.corrections
    corrections.append(Correction(event=event, at=ledger.at, place=""))
    would_be = _charged(ledger, event.tenant)
    corrections.pop()
    if would_be < min(charged, 0) and not event.allow_negative:
        raise BillRefused(
            f"{event.tenant} was charged {decimal(charged, least=2)} in all by now, and would come to {decimal(would_be, least=2)} "
            f"with entry {event.entry} corrected: it was given back as an amount before. If that is meant, say --allow-negative, "
            "and why in --reason"
        )


def _charged(ledger: Ledger, tenant: str) -> int:
    whole = bill(ledger, ALWAYS, ("tenant",), BilledTo(tenants=(tenant,)))
    return whole.total.get(ledger.prices.lists[-1].currency, 0) if ledger.prices.lists else 0


def _check_standing(standing: EntryStanding, event: CorrectionEntered) -> None:
    """What was given back once is not given back again. Raises `BillRefused`."""
    if event.allow_negative:
        return
    if standing.credit:
        raise BillRefused(
            f"entry {event.entry} was given back in whole by the credit at {standing.credit}: a correction would pay for it "
            "a second time. If that is meant, say --allow-negative, and why in --reason"
        )
    if not standing.entries and event.since is None:
        raise BillRefused(
            f"entry {event.entry} was reversed by the correction at {standing.corrected}: nothing is left to take back. "
            "With --since and --until it is entered again"
        )


def check_tenant(ledger: Ledger, tenant: str) -> None:
    """Whether the log has ever heard of it. Raises `BillRefused`."""
    if tenant not in ledger.tenants:
        raise BillRefused(f"the log knows no tenant {tenant}; it knows {_some(sorted(ledger.tenants))}")


def check_account(ledger: Ledger, account: str) -> None:
    """Whether anybody pays from it: a rule or a term of a price list names it, a job's label has, or it is a namespace.

    Asked when a bill was calculated: accounts of labels are known from then on. Raises `BillRefused`.
    """
    terms = (
        one.account
        for prices in ledger.prices.lists
        for one in (*prices.event.discounts, *prices.event.commitments, *prices.event.minimums)
    )
    known = {*ledger.prices.accounts.names(), *ledger.tenants, *filter(None, terms)}
    if account not in known:
        raise BillRefused(f"nobody pays from an account {account}; there are {_some(sorted(known))}")


def _check_amount(ledger: Ledger, event: CorrectionEntered) -> CorrectionEntered:
    if event.entry or event.since is not None:
        raise BillRefused("a correction is either of an entry or an amount, not both")
    try:
        amount = entered_money(event.amount)
    except BadAmount as bad:
        raise BillRefused(str(bad)) from bad
    if not amount:
        raise BillRefused("an amount of zero corrects nothing")
    if not ledger.prices.lists:
        raise BillRefused("no price list says in which currency the amount is: enter one with `kuelog price set`")
    check_tenant(ledger, event.tenant)
    charged = _charged(ledger, event.tenant)
    if amount < 0 and charged + amount < 0 and not event.allow_negative:
        raise BillRefused(
            f"{event.tenant} was charged {decimal(charged, least=2)} in all by now: {decimal(-amount, least=2)} is more than "
            "there is to give back. If that is meant, say --allow-negative, and why in --reason"
        )
    return event


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown or "none"  # noqa: PLR2004
