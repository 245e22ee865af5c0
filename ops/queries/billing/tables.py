"""A bill as people read it: lines, where the time of the cards went, whose quota was used, what was for nothing."""

from collections.abc import Sequence
from fractions import Fraction

from rich.console import Console

from events.billing import PriceListSet
from events.event import Millis
from events.timestamp import format_timestamp
from ops.queries.billing.card_sums import by_flavor, money
from ops.queries.billing.window_rows import DAYS
from ops.terminal.legible import legible
from ops.terminal.table import FittingTable, TableColumn, number
from projections.billing.cards.card_book import Part
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import HOUR
from projections.billing.lines.lent_quota import lent_costs
from projections.billing.lines.totals import Bill, Totals, sum_up
from projections.billing.lines.unused_capacity import unused_costs
from projections.billing.terms.money import quotient, to_minor
from projections.billing.terms.prices import UNUSED, PriceList
from projections.billing.terms.resource_unit import unit_of

_GIB = 1024
_PERCENT = 100


def show_bill(ledger: Ledger, bill: Bill, console: Console) -> None:
    """All of it."""
    show_head(bill, console)
    show_lines(bill, console)
    show_besides(ledger, console)


def show_head(bill: Bill, console: Console) -> None:
    """Of which period it is."""
    console.print(
        f"[bold]Bill[/bold] from {moment(bill.window.since)} until {moment(bill.window.until)} (UTC, end excluded)",
        highlight=False,
        soft_wrap=True,
    )


def show_besides(ledger: Ledger, console: Console) -> None:
    """What is said beside the lines: where the time of the cards went, quota that was lent, and what was for nothing."""
    show_cards(ledger, console)
    show_unused(ledger, console)
    show_borrowed(ledger, console)
    show_claimed(ledger, console)
    show_waste(ledger, console)


def show_lines(bill: Bill, console: Console, title: str = "") -> None:
    """A line per group and kind, and the total."""
    cost = f"cost {'/'.join(bill.total)}".strip()
    numbers = ("GiB-h", "cores-h", "share-h", "held-h", "whole-h", cost)
    table = _table(title, (*bill.group_by, "what"), numbers)
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
    costs = lent_costs(ledger)
    worth = ("worth",) if costs else ()
    table = _table("Borrowed quota", ("queue", "of", "flavor", "resource"), ("time", *worth))
    for key, amount in sorted(ledger.quota.borrowed.items()):
        unit = unit_of(key.resource)
        lender = key.lender or "nobody (quota was lowered)"
        time = f"{_hours(amount, unit.size)} {_SHORT[unit.name]}"
        values = (_shown(costs[key]) if key in costs else "no price",) if costs else ()
        table.add(key.borrower, lender, key.flavor, key.resource, time, *values)
    console.print(table)


def show_claimed(ledger: Ledger, console: Console) -> None:
    """How many device-hours claims held, by namespace, queue, class and what that counts as."""
    sums: dict[tuple[str, str, str, str], int] = {}
    for key, length in ledger.holds.claimed.sums.items():
        of = (key.tenant, key.cluster_queue, key.device_class, key.resource)
        sums[of] = sums.get(of, 0) + length
    if not sums:
        return
    table = _table("Devices that claims held", ("tenant", "queue", "device class", "counted as"), ("device-h",))
    for (tenant, queue, device_class, resource), length in sorted(sums.items()):
        words = (queue or "none", device_class or "?", resource or "nothing")
        table.add(tenant, *words, _hours(length))
    console.print(table)


def show_unused(ledger: Ledger, console: Console) -> None:
    """What unused card memory costs, and how much of that is paid for by whom."""
    sums: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for one in unused_costs(ledger, ledger.window):
        key = (one.kind, one.key.flavor or one.key.model, one.spread, one.currency)
        free, cost, shared = sums.get(key, (0, 0, 0))
        paid = sum(share for _, _, share in one.shares)
        sums[key] = (free + one.free, cost + one.cost, shared + paid)
    if not sums:
        return
    table = _table("What unused card memory costs", ("what", "flavor", "shared by"), ("GiB-h", "cost", "charged"))
    for (kind, flavor, spread, currency), (free, cost, shared) in sorted(sums.items()):
        table.add(
            kind, flavor, spread, _hours(free, _GIB), f"{_shown(cost)} {currency}", f"{_shown(shared)} {currency}"
        )
    console.print(table)


def _shown(cost: int) -> str:
    return money(to_minor(cost, 4), 2)


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


_WORDS_OF_SOME = {
    "class": "priority_class",
    "resource": "resource",
    "device class": "device_class",
    "flavor label": "flavor_label",
    "window": "window",
}
"""Words by which few lists price: their column is there only where one does."""


def show_prices(ledger: Ledger, console: Console) -> None:
    """All price lists."""
    for one in ledger.prices.lists:
        event = one.event
        console.print(
            f"[bold]{legible(event.name)}[/bold] from {moment(one.starts)}, {_currencies(one)}, entered at {one.place} by "
            f"{legible(event.author) or 'nobody named'}; charges {', '.join(event.charges)}; "
            f"gives back after {legible(', '.join(event.credits)) or 'nothing'}",
            highlight=False,
        )
        more = {
            title: word for title, word in _WORDS_OF_SOME.items() if any(getattr(price, word) for price in event.prices)
        }
        unused = ("paid by",) if any(price.meter in UNUSED for price in event.prices) else ()
        table = _table("", ("meter", "flavor", "model", "tenant", *more, *unused), ("price an hour",))
        for price in event.prices:
            words = [str(getattr(price, word)) for word in more.values()]
            words += [price.spread if price.meter in UNUSED else ""] if unused else []
            table.add(price.meter, price.flavor, price.model, price.tenant, *words, price.unit_price)
        console.print(table)
        _show_windows(event, console)
        show_terms(one, console)


def _show_windows(event: PriceListSet, console: Console) -> None:
    for one in event.windows:
        days = "every day" if len(one.days) == len(DAYS) else ", ".join(DAYS[day] for day in one.days)
        hours = f"{_of_day(one.begin)} to {_of_day(one.end)}, {days}, by the clocks of {one.zone}"
        console.print(f"{legible(one.name)}: {hours}", highlight=False)
    if event.tags:
        console.print(f"tags: {legible(', '.join(event.tags))}", highlight=False)


def _of_day(at: Millis) -> str:
    minutes = at // 60_000
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _currencies(one: PriceList) -> str:
    return f"{one.event.currency} billed in {one.currency}" if one.event.billed_in else one.currency


def show_rates(ledger: Ledger, console: Console) -> None:
    """All rates of exchange on record."""
    table = _table("", ("of", "in", "from", "source", "place"), ("rate",))
    for _, known in sorted(ledger.prices.exchange.rates.items()):
        for one in known.all:
            event = one.event
            table.add(event.currency, event.billed_in, moment(one.starts), event.source, one.place, event.rate)
    console.print(table)


def show_accounts(ledger: Ledger, console: Console) -> None:
    """All rules about who pays."""
    for one in ledger.prices.accounts.lists.all:
        author = legible(one.event.author) or "nobody named"
        console.print(f"[bold]from {moment(one.starts)}[/bold], entered at {one.place} by {author}", highlight=False)
        table = _table("", ("", "namespace", "cluster queue", "label", "account", "cost center"), ())
        for place, rule in enumerate(one.event.rules, 1):
            account = rule.account or (f"label {rule.account_label}" if rule.account_label else "")
            center = rule.cost_center or (f"label {rule.cost_center_label}" if rule.cost_center_label else "")
            table.add(str(place), rule.namespace, rule.cluster_queue, rule.label, account, center)
        console.print(table)


def show_terms(one: PriceList, console: Console) -> None:
    """What a price list agrees on for whole months."""
    event, currency = one.event, one.currency
    rows = [
        (
            discount.account,
            "discount",
            discount.name,
            f"{discount.percent} % of what exceeds {discount.above} {currency}",
        )
        for discount in event.discounts
    ]
    rows += [
        (each.account, "commitment", each.name, f"{each.price} {currency} a month for {each.covers} {currency}")
        for each in event.commitments
    ]
    rows += [(least.account, "minimum", "", f"{least.amount} {currency} a month") for least in event.minimums]
    table = _table("", ("account", "what", "name", "terms"), ())
    for account, *words in rows:
        table.add(account or "every other", *words)
    if rows:
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
