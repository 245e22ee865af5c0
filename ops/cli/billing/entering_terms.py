"""Price lists, rates of exchange and accounts: entered on the log, and shown."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from events.billing import AccountsSet, ExchangeRateSet, PriceListSet
from events.event import Millis
from events.subjects import CONTROL
from events.timestamp import format_timestamp
from ops.cli.billing.bill import BillOptions
from ops.cli.failures import known_failures
from ops.cli.log_reading import archive_of, bus_of, opened_log
from ops.production.archive.history import read_everything
from ops.production.process.clock import ScaledClock
from ops.queries.billing.accounts_file import read_accounts_file
from ops.queries.billing.answer import period_ledger
from ops.queries.billing.card_sums import plain_accounts, plain_prices, plain_rates
from ops.queries.billing.closed_months import closings
from ops.queries.billing.entered_rows import amount_of
from ops.queries.billing.entering import check_accounts, check_prices, check_rate, enter
from ops.queries.billing.period import time
from ops.queries.billing.price_file import currency_of, read_price_file
from ops.queries.billing.reading import ledger_of, seen
from ops.queries.billing.tables import show_accounts, show_prices, show_rates
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.legible import legible
from projections.billing.ledger import Ledger
from services.runtime.log_port import Entry

T = TypeVar("T", PriceListSet, ExchangeRateSet, AccountsSet)


def run_set_prices(file: Path, asked: BillOptions, *, author: str, reason: str, console: Console) -> int:
    """Enter the price list of a file."""
    with known_failures() as outcome:
        event, sequence = _entered(
            asked,
            lambda now, first: read_price_file(file, author=author, reason=reason, now=now, first=first),
            check_prices,
        )
        console.print(
            f"{CONTROL}/{sequence}: price list {legible(event.name)} with {len(event.prices)} prices in {event.currency} is in "
            f"force from {format_timestamp(event.starts)}",
            highlight=False,
        )
        outcome.code = 0
    return outcome.code


def run_set_rate(
    asked: BillOptions,
    *,
    currency: str,
    billed_in: str,
    rate: str,
    since: str,
    source: str,
    author: str,
    reason: str,
    console: Console,
) -> int:
    """Enter a rate of exchange."""
    with known_failures() as outcome:

        def read(now: Millis, first: Millis) -> ExchangeRateSet:
            return ExchangeRateSet(
                currency=currency_of("the command", "currency", currency),
                billed_in=currency_of("the command", "--billed-in", billed_in),
                rate=amount_of("the command", {"rate": rate}, "rate", least=1),
                starts=time(since, first) if since else now,
                source=source,
                author=author,
                reason=reason,
            )

        event, sequence = _entered(
            asked, read, lambda ledger, event, now, closed: check_rate(ledger, event, now, closed)
        )
        console.print(
            f"{CONTROL}/{sequence}: one {event.currency} is {event.rate} {event.billed_in} by {legible(event.source)}, in force from "
            f"{format_timestamp(event.starts)}",
            highlight=False,
        )
        outcome.code = 0
    return outcome.code


def run_set_accounts(file: Path, asked: BillOptions, *, author: str, reason: str, console: Console) -> int:
    """Enter the rules of a file about who pays."""
    with known_failures() as outcome:
        event, sequence = _entered(
            asked,
            lambda now, first: read_accounts_file(file, author=author, reason=reason, now=now, first=first),
            lambda ledger, event, now, closed: check_accounts(ledger, event, now, closed),
        )
        console.print(
            f"{CONTROL}/{sequence}: {len(event.rules)} rules say who pays from {format_timestamp(event.starts)}",
            highlight=False,
        )
        outcome.code = 0
    return outcome.code


def run_list(asked: BillOptions, what: str, *, output: AnswerForm, console: Console) -> int:
    """Show all price lists, rates or accounts."""
    plain, show, how = _LISTS[what]
    with known_failures() as outcome:
        with opened_log(asked.source) as entries:
            # Terms may be entered before there is anything to bill.
            ledger = period_ledger(entries, "", "")[0] if seen(entries)[1] else ledger_of(entries)[0]
        found = plain(ledger)
        if output is not AnswerForm.TEXT:
            print_answer(found, output)
        elif found:
            show(ledger, console)
        else:
            console.print(f"nothing was entered: `{how}` enters some", highlight=False)
        outcome.code = 0
    return outcome.code


_LISTS: Mapping[str, tuple[Callable[[Ledger], list[dict[str, object]]], Callable[[Ledger, Console], None], str]] = {
    "prices": (plain_prices, show_prices, "kuelog price set -f FILE"),
    "rates": (plain_rates, show_rates, "kuelog price rate USD 0.92 --billed-in EUR --source ..."),
    "accounts": (plain_accounts, show_accounts, "kuelog account set -f FILE"),
}


def _entered(
    asked: BillOptions, read: Callable[[Millis, Millis], T], check: Callable[[Ledger, T, Millis, Millis], None]
) -> tuple[T, int]:
    """What is read, checked against the ledger, and stored; and where."""

    async def enter_it() -> tuple[T, int]:
        async with bus_of(asked.source) as bus:
            entries = await read_everything(bus, await archive_of(asked.source, bus))
            ledger, _ = ledger_of(entries)
            now = max(ScaledClock().now(), ledger.at)
            event = read(now, seen(entries)[0])
            check(ledger, event, now, _closed_until(entries))
            return event, await enter(bus, event, now, entries[CONTROL])

    return asyncio.run(enter_it())


def _closed_until(entries: Mapping[str, Sequence[Entry]]) -> Millis:
    known = closings(entries)
    return known[-1].window.until if known else 0
