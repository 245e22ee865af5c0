"""A bill as plain values: what `kuelog bill -o json` prints, and what the console serves."""

from collections.abc import Callable, Mapping, Sequence

from events.event import Millis
from ops.queries.billing import flat
from ops.queries.billing.card_sums import (
    money,
    plain_cards,
    plain_claimed,
    plain_prices,
    plain_quota,
    plain_unused,
    plain_waste,
)
from ops.queries.billing.closed_months import month_ledger
from ops.queries.billing.period import period
from ops.queries.billing.problems import BillRefused, NothingToBill
from ops.queries.billing.reading import LogRead, seen
from ops.queries.time_travel import span
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.totals import GROUPS, Bill
from services.runtime.log_port import Entry

DEFAULT_GROUPS = ("tenant", "queue")


def period_ledger(
    entries: Mapping[str, Sequence[Entry]],
    since: str,
    until: str,
    *,
    end: Millis | None = None,
    grain: Millis | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[Ledger, LogRead, Window]:
    """The ledger of a period as people write it, how far the log was read for it, and the period. Raises `BillRefused`.

    `end` is where the period ends when `until` is empty; without it, as far as the log goes.
    """
    window = asked_window(entries, since, until, end)
    return (*month_ledger(entries, window, grain=grain, on_progress=on_progress), window)


def asked_window(entries: Mapping[str, Sequence[Entry]], since: str, until: str, end: Millis | None = None) -> Window:
    """A period as people write it. Raises `BillRefused`."""
    first, last = seen(entries)
    if not last:
        raise NothingToBill
    # What was entered after the last sight of the cluster belongs to a bill without an end; time of cards does not.
    return period(since, until, first, end if end is not None else max(last, span(entries)[1] + 1))


def groups_of(names: Sequence[str]) -> tuple[str, ...]:
    """By what a bill is summed up, from names that may be joined by commas. Raises `BillRefused`."""
    found = tuple(dict.fromkeys(part.strip() for name in names for part in name.split(","))) or DEFAULT_GROUPS
    for name in found:
        if name not in GROUPS:
            raise BillRefused(f"--group-by {name} is unknown: choose from {', '.join(GROUPS)}")
    return found


def bill_answer(ledger: Ledger, found: Bill, read: LogRead) -> dict[str, object]:
    """A bill with its lines, the time of the cards, the quota, what preemptions and evictions wasted, and the prices."""
    names = flat.columns(found)
    return {
        "since": found.window.since,
        "until": found.window.until,
        "as_of": read.upto,
        "late_messages": read.late,
        "total": {currency: money(amount) for currency, amount in found.total.items()},
        "lines": [
            {name: text or None for name, text in zip(names[2:], line[2:], strict=True)} for line in flat.lines(found)
        ],
        "unpriced": [
            {"flavor": flavor, "model": model, "card_ms": length} for (flavor, model), length in found.unpriced.items()
        ]
        + [
            {"flavor": flavor, "resource": resource, "unit_ms": amount}
            for (flavor, resource), amount in found.unpriced_quota.items()
        ]
        + [
            {"device_class": device_class, "resource": resource, "device_ms": length}
            for (device_class, resource), length in found.unpriced_devices.items()
        ],
        "cards": plain_cards(ledger),
        "unused": plain_unused(ledger),
        "quota": plain_quota(ledger),
        "claimed": plain_claimed(ledger),
        "cut_short": plain_waste(ledger),
        "price_lists": plain_prices(ledger),
    }
