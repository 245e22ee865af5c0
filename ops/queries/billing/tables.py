"""A bill as people read it: lines, where the time of the cards went, whose quota was used, what was for nothing."""

from collections.abc import Sequence
from fractions import Fraction

from rich.console import Console

from events.event import Millis
from events.timestamp import format_timestamp
from ops.queries.billing.card_sums import by_flavor, money
from ops.terminal.table import FittingTable, TableColumn, number
from projections.billing.card_book import Part
from projections.billing.charge import HOUR
from projections.billing.ledger import Ledger
from projections.billing.money import quotient, to_minor
from projections.billing.resource_unit import unit_of
from projections.billing.totals import Bill, Totals, sum_up

_GIB = 1024
_PERCENT = 100


def show_bill(ledger: Ledger, bill: Bill, console: Console) -> None:
    """All of it."""
    console.print(
        f"[bold]Bill[/bold] from {moment(bill.window.since)} until {moment(bill.window.until)} (UTC, end excluded)",
        highlight=False,
        soft_wrap=True,
    )
    show_lines(bill, console)
    show_cards(ledger, console)
    show_borrowed(ledger, console)
    show_waste(ledger, console)


def show_lines(bill: Bill, console: Console) -> None:
    """A line per group and kind, and the total."""
    cost = f"cost {'/'.join(bill.total)}".strip()
    numbers = ("GiB-h", "cores-h", "share-h", "held-h", "whole-h", cost)
    table = _table("", (*bill.group_by, "what"), numbers)
    decimals = _decimals(bill)
    for row in bill.rows:
        table.add(*row.group, row.kind, *_figures(row.totals, decimals))
    if bill.rows:
        total = sum_up(bill.rows)
        table.end_section()
        table.add(*("total", *("" for _ in bill.group_by)), *_figures(total, decimals), style="bold")
    console.print(table if bill.rows else "\nnothing was held in this period")
    legend = "hours of GiB of card memory; of cards by cores, by the largest share, held in part or whole, held whole"
    console.print(legend, style="dim")


def show_cards(ledger: Ledger, console: Console) -> None:
    """Where the time of the cards went, in memory: every MiB·ms of it."""
    found = by_flavor(ledger)
    if not found:
        return
    parts = [part for part in Part if part < Part.CORDONED or any(row.sums.memory[part] for row in found)]
    names = ("capacity", *(part.name.lower() for part in parts))
    table = _table("Where the time of the cards went (GiB-h of card memory)", ("flavor", "cards"), names)
    for row in found:
        amounts = (row.sums.capacity[0], *(row.sums.memory[part] for part in parts))
        table.add(row.flavor or row.model, str(row.cards), *(_hours(amount, _GIB) for amount in amounts))
    console.print(table)


def show_borrowed(ledger: Ledger, console: Console) -> None:
    """How much quota each queue used of which other queue."""
    if not ledger.quota.borrowed:
        return
    table = _table("Borrowed quota", ("queue", "of", "flavor", "resource"), ("time",))
    for key, amount in sorted(ledger.quota.borrowed.items()):
        unit = unit_of(key.resource)
        lender = key.lender or "nobody (quota was lowered)"
        table.add(key.borrower, lender, key.flavor, key.resource, f"{_hours(amount, unit.size)} {_SHORT[unit.name]}")
    console.print(table)


def show_waste(ledger: Ledger, console: Console) -> None:
    """What was held for nothing."""
    if not ledger.wastes:
        return
    table = _table("Cut short", ("workload", "queue", "why", "for", "of queue"), ("held-h", "GiB-h"))
    for waste in ledger.wastes:
        length = sum(entry.until - entry.since for entry in waste.entries)
        memory = sum((entry.until - entry.since) * entry.slice.memory for entry in waste.entries)
        names = (waste.holder.job, waste.holder.cluster_queue, waste.reason, waste.preemptor)
        table.add(*names, waste.preemptor_queue, _hours(length), _hours(memory, _GIB))
    console.print(table)


_WORDS_OF_SOME = {"class": "priority_class", "resource": "resource", "flavor label": "flavor_label", "window": "window"}
"""Words by which few lists price: their column is there only where one does."""


def show_prices(ledger: Ledger, console: Console) -> None:
    """All price lists."""
    for one in ledger.prices.lists:
        event = one.event
        console.print(
            f"[bold]{event.name}[/bold] from {moment(one.starts)}, {event.currency}, entered at {one.place} by "
            f"{event.author or 'nobody named'}; charges {', '.join(event.charges)}; "
            f"gives back after {', '.join(event.credits) or 'nothing'}",
            highlight=False,
        )
        more = {
            title: word for title, word in _WORDS_OF_SOME.items() if any(getattr(price, word) for price in event.prices)
        }
        table = _table("", ("meter", "flavor", "model", "tenant", *more), ("price an hour",))
        for price in event.prices:
            words = (str(getattr(price, word)) for word in more.values())
            table.add(price.meter, price.flavor, price.model, price.tenant, *words, price.unit_price)
        console.print(table)


def moment(at: Millis) -> str:
    """A time to the millisecond where it is not a whole second."""
    text = format_timestamp(at)
    return text if at % 1000 == 0 else f"{text[:-1]}.{at % 1000:03d}Z"


def _figures(sums: Totals, decimals: int) -> tuple[str, ...]:
    share = sums.dominant_share
    cost = "" if sums.cost is None else money(to_minor(sums.cost, min(decimals + 4, 10)), decimals)
    if sums.unpriced:
        cost = f"{cost} + ?" if cost else "no price"
    # Cores are summed up in percent; cards that count otherwise are priced by their own unit.
    return (
        _hours(sums.memory, _GIB),
        _hours(sums.cores, _PERCENT),
        _hours(share),
        _hours(sums.cards),
        _hours(sums.exclusive),
        cost,
    )


def _hours(amount: int | Fraction, size: int = 1) -> str:
    exact = Fraction(amount) / (size * HOUR)
    return quotient(exact.numerator, exact.denominator, 4)


_SHORT = {
    "Core-Hours": "core-h",
    "GiB-Hours": "GiB-h",
    "Unit-Hours": "unit-h",
    "Slot-Hours": "slot-h",
    "GPU-Hours": "GPU-h",
}


def _decimals(bill: Bill) -> int:
    return 2 if bill.total else 0


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> FittingTable:
    columns = [TableColumn(name, _RANKS.get(name, 0)) for name in left]
    columns += [number(name, _RANKS.get(name, 0)) for name in right]
    return FittingTable(columns, f"\n{title}" if title else "")


_RANKS = {
    "whole-h": 5,
    "share-h": 4,
    "cores-h": 3,
    "held-h": 2,
    "what": 1,
    "of queue": 6,
    "flavor": 1,
    "resource": 1,
    "tenant": 1,
    "cards": 2,
    "unhealthy": 4,
    "cordoned": 3,
    "lost": 2,
}
"""Which columns are left out first where there is no room."""
