"""Bills by group: exact sums of what was held and what it costs, over any of the words that a line bears."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import msgspec

from events.billing import LineKind
from projections.billing.entries.entry import BilledSlice, CardEntry, DeviceEntry, QuotaEntry, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import Amount
from projections.billing.lines.charge import ChargeStatus, Piece, covered, flavor_of
from projections.billing.lines.charged_lines import EVERYBODY, BilledTo, charged_lines

GROUPS: Mapping[str, Callable[[Piece], str]] = {
    "tenant": lambda piece: piece.entry.holder.tenant,
    "queue": lambda piece: piece.entry.holder.cluster_queue,
    "local-queue": lambda piece: piece.entry.holder.local_queue,
    "cohort": lambda piece: piece.entry.holder.cohort,
    "account": lambda piece: piece.payer.account,
    "cost-center": lambda piece: piece.payer.cost_center,
    "flavor": lambda piece: flavor_of(piece.entry),
    "model": lambda piece: _of_card(piece, lambda held: held.card.model),
    "node": lambda piece: _of_card(piece, lambda held: held.node),
    "card": lambda piece: _of_card(piece, lambda held: held.card.uuid),
    "resource": lambda piece: "" if isinstance(piece.entry, CardEntry) else piece.entry.resource,
    "workload": lambda piece: piece.entry.holder.workload,
    "uid": lambda piece: piece.entry.holder.uid,
    "job": lambda piece: piece.entry.holder.job,
}
"""By what lines can be summed up."""

CREDITED = frozenset({LineKind.CREDIT})


class Totals(msgspec.Struct):
    """Sums of one group and kind of line: MiB·ms, percent·ms of cores, card·ms, and money in units of 10^-10."""

    memory: int = 0
    cores: int = 0
    cards: int = 0
    exclusive: int = 0
    dominant: dict[int, int] = {}
    """Share·ms of cards, by the denominator of the share."""
    cost: int | None = None
    """None where nothing has a price."""
    list_cost: int | None = None
    unpriced: int = 0
    """Lines without a price."""
    unpriced_time: int = 0
    """Card·ms of them."""

    @property
    def dominant_share(self) -> Fraction:
        """Card·ms where each slice counts as the largest part that it has of its card: of slots, memory or cores."""
        return sum((Fraction(part, whole) for whole, part in sorted(self.dominant.items())), Fraction(0))


class BillRow(msgspec.Struct, frozen=True):
    """The sums of one kind of line (use, credit, correction) in one group, such as a tenant."""

    group: tuple[str, ...]
    kind: LineKind
    totals: Totals


class Bill(msgspec.Struct, kw_only=True):
    """A bill: rows by group and kind, the total by currency, and what the bill has to point out besides."""

    window: Window
    group_by: tuple[str, ...]
    rows: list[BillRow]
    total: dict[str, int]
    unpriced: dict[tuple[str, str], int]
    """Card·ms without a price, by flavor and model."""
    unpriced_quota: dict[tuple[str, str], int]
    """Units of quota x ms without a price, by flavor and resource."""
    unpriced_devices: dict[tuple[str, str], int]
    """Device·ms without a price, by device class and what that counts as."""
    unknown_entries: list[str]
    """Entries that corrections name and the log does not have, or that still go on."""
    covered: list[str]
    """Places of corrections without effect: a credit had given back the whole entry before."""


def bill(ledger: Ledger, window: Window, group_by: tuple[str, ...], of: BilledTo = EVERYBODY) -> Bill:
    """Sum up a window, group by group; of some namespaces or of one account where `of` names them."""
    found: dict[tuple[tuple[str, ...], LineKind], Totals] = {}
    total: dict[str, int] = {}
    unpriced: dict[tuple[str, str], int] = {}
    unpriced_quota: dict[tuple[str, str], int] = {}
    unpriced_devices: dict[tuple[str, str], int] = {}
    words = [GROUPS[name] for name in group_by]

    def sums_of(group: tuple[str, ...], kind: LineKind) -> Totals:
        sums = found.get((group, kind))
        if sums is None:
            sums = found[group, kind] = Totals(dominant={})
        return sums

    def owe(sums: Totals, cost: int, list_cost: int, currency: str) -> None:
        sums.cost = (sums.cost or 0) + cost
        sums.list_cost = (sums.list_cost or 0) + list_cost
        total[currency] = total.get(currency, 0) + cost

    for line in charged_lines(ledger, window, of):
        if isinstance(line, Amount):
            sums = sums_of(tuple(_of_amount(line, name) for name in group_by), line.kind)
            owe(sums, line.cost, line.cost, line.currency)
            continue
        piece, costs = line.piece, line.charges
        sums = sums_of(tuple(word(piece) for word in words), piece.kind)
        _measure(sums, piece)
        if costs and piece.prices is not None:
            cost, list_cost = sum(one.cost for one in costs), sum(one.list_cost for one in costs)
            owe(sums, cost, list_cost, piece.prices.currency)
        elif piece.status is ChargeStatus.UNPRICED:
            _lacks_price(piece, sums, unpriced, unpriced_quota, unpriced_devices)
    rows = [BillRow(*key, sums) for key, sums in sorted(found.items(), key=lambda one: _order(*one[0]))]
    return Bill(
        window=window,
        group_by=group_by,
        rows=rows,
        total=dict(sorted(total.items())),
        unpriced=dict(sorted(unpriced.items())),
        unpriced_quota=dict(sorted(unpriced_quota.items())),
        unpriced_devices=dict(sorted(unpriced_devices.items())),
        unknown_entries=unknown_entries(ledger, window),
        covered=covered(ledger, window),
    )


def unknown_entries(ledger: Ledger, window: Window) -> list[str]:
    """Entries that corrections within the window name and the log does not have, or that still go on."""
    return [
        one.event.entry
        for one in ledger.prices.corrections
        if one.event.entry and one.at in window and not _over(ledger, one.event.entry)
    ]


def sum_up(rows: Iterable[BillRow]) -> Totals:
    """The totals of a bill: card time and cost of all of its rows, without a cost while no row has one."""
    total = Totals(dominant={})
    for row in rows:
        one = row.totals
        total.memory += one.memory
        total.cores += one.cores
        total.cards += one.cards
        total.exclusive += one.exclusive
        for whole, part in one.dominant.items():
            total.dominant[whole] = total.dominant.get(whole, 0) + part
        if one.cost is not None:
            total.cost = (total.cost or 0) + one.cost
            total.list_cost = (total.list_cost or 0) + (one.list_cost or 0)
        total.unpriced += one.unpriced
        total.unpriced_time += one.unpriced_time
    return total


def _order(group: tuple[str, ...], kind: LineKind) -> tuple[bool, tuple[str, ...], int]:
    """By group, what rounding makes up for at the end."""
    return kind is LineKind.ROUNDING, group, list(LineKind).index(kind)


def _lacks_price(
    piece: Piece,
    sums: Totals,
    of_cards: dict[tuple[str, str], int],
    of_quota: dict[tuple[str, str], int],
    of_devices: dict[tuple[str, str], int],
) -> None:
    entry = piece.entry
    sums.unpriced += 1
    match entry:
        case QuotaEntry():
            known, kind, held = of_quota, (entry.flavor, entry.resource), entry.amount
        case DeviceEntry():
            known, kind, held = of_devices, (entry.device_class, entry.resource), entry.count
        case CardEntry():
            sums.unpriced_time += piece.length
            known, kind, held = of_cards, (entry.slice.flavor, entry.slice.card.model), 1
    known[kind] = known.get(kind, 0) + piece.length * held


def _of_amount(amount: Amount, name: str) -> str:
    match name:
        case "tenant":
            return amount.tenant
        case "account":
            return amount.payer.account
        case "cost-center":
            return amount.payer.cost_center
        case _:
            return ""


def _of_card(piece: Piece, word: Callable[[BilledSlice], str]) -> str:
    return word(piece.entry.slice) if isinstance(piece.entry, CardEntry) else ""


def _over(ledger: Ledger, entry: str) -> bool:
    found = ledger.found(entry)
    return found is not None and found.ended is not None


def _measure(sums: Totals, piece: Piece) -> None:
    """Add the quantities of cards; a credit gives money back, and the cards were held all the same."""
    entry, length = piece.entry, piece.length
    if piece.kind in CREDITED or not isinstance(entry, CardEntry):
        return
    slice_ = entry.slice
    sums.memory += slice_.memory * length
    sums.cores += slice_.cores * length
    sums.cards += length
    if slice_.exclusive:
        sums.exclusive += length
    part, whole = slice_.dominant
    sums.dominant[whole] = sums.dominant.get(whole, 0) + part * length
