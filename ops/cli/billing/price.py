"""`kuelog price`: price lists entered and shown."""

import asyncio
from pathlib import Path

from rich.console import Console

from events.billing import PriceListSet
from events.subjects import CONTROL
from events.timestamp import format_timestamp
from ops.cli.billing.bill import BillOptions, read_ledger
from ops.cli.failures import known_failures
from ops.cli.log_reading import archive_of, bus_of
from ops.production.archive.history import read_everything
from ops.production.process.clock import ScaledClock
from ops.queries.billing.card_sums import plain_prices
from ops.queries.billing.entering import check_prices, enter
from ops.queries.billing.price_file import read_price_file
from ops.queries.billing.reading import ledger_of, seen
from ops.queries.billing.tables import show_prices
from ops.terminal.form import AnswerForm, print_answer


def run_set(file: Path, asked: BillOptions, *, author: str, reason: str, console: Console) -> int:
    """Enter the price list of a file."""
    with known_failures() as outcome:

        async def enter_list() -> tuple[PriceListSet, int]:
            async with bus_of(asked.source) as bus:
                entries = await read_everything(bus, await archive_of(asked.source, bus))
                ledger, _ = ledger_of(entries)
                now = max(ScaledClock().now(), ledger.at)
                event = read_price_file(file, author=author, reason=reason, now=now, first=seen(entries)[0])
                check_prices(ledger, event, now)
                return event, await enter(bus, event, now, entries[CONTROL])

        event, sequence = asyncio.run(enter_list())
        console.print(
            f"{CONTROL}/{sequence}: price list {event.name} with {len(event.prices)} prices in {event.currency} is in "
            f"force from {format_timestamp(event.starts)}",
            highlight=False,
        )
        outcome.code = 0
    return outcome.code


def run_list(asked: BillOptions, *, output: AnswerForm, console: Console) -> int:
    """Show all price lists; 1 when there is none."""
    with known_failures() as outcome:
        ledger, _, _ = read_ledger(asked)
        if output is not AnswerForm.TEXT:
            print_answer(plain_prices(ledger), output)
        elif ledger.prices.lists:
            show_prices(ledger, console)
        else:
            console.print("no price list was entered: `kuelog price set -f FILE` enters one")
        outcome.code = 0 if ledger.prices.lists else 1
    return outcome.code
