"""All lines of a bill with what they cost, in their order: what was held, what was entered, and what follows from both."""

from collections.abc import Collection, Iterator

import msgspec

from events.billing import LineKind
from projections.billing.entries.entry import QuotaEntry, Window
from projections.billing.ledger import Carried, Ledger
from projections.billing.lines.amounts import Amount, DueKey, entered_amounts, roundings
from projections.billing.lines.charge import Charge, Piece, charges, pieces
from projections.billing.lines.monthly_terms import has_terms, monthly_terms
from projections.billing.lines.unused_capacity import unused_amounts
from projections.billing.terms.accounts import Payer
from projections.calendar import month_of


class ChargedPiece(msgspec.Struct, frozen=True):
    """A piece of what was held, and what it costs by each meter; nothing where it is free or has no price."""

    piece: Piece
    charges: list[Charge]


class BilledTo(msgspec.Struct, frozen=True):
    """Of whom lines are wanted: of these namespaces, of this account, queue or job; of everybody where none is named."""

    tenants: Collection[str] | None = None
    account: str = ""
    queue: str = ""
    job: str = ""
    elsewhere: frozenset[tuple[str, int]] = frozenset()
    """Workloads and attempts whose job ran in a cluster by whose log it is billed: no lines of their quota here are wanted."""

    def has_piece(self, piece: Piece) -> bool:
        """Whether a piece is among them."""
        holder = piece.entry.holder
        return (self.tenants is None or holder.tenant in self.tenants) and (
            (self.account in {"", piece.payer.account})
            and (self.queue in {"", holder.cluster_queue})
            and (self.job in {"", holder.job})
            and not (isinstance(piece.entry, QuotaEntry) and (holder.workload, holder.attempt) in self.elsewhere)
        )

    def has_amount(self, amount: Amount) -> bool:
        """Whether an amount is among them: no amount is of a queue or a job, and none of an account of which only a part is wanted."""
        return (self.tenants is None or amount.tenant in self.tenants) and (
            self.account in {"", amount.payer.account} and not self.queue and not self.job
        )

    def has_whole(self, due: DueKey, *, mapped: bool) -> bool:
        """Whether all that an account owes is among them; of one that rules name several namespaces may pay from it."""
        account, _ = due
        return not (self.queue or self.job) and (self.tenants is None or (not mapped and account in self.tenants))


EVERYBODY = BilledTo()


class _Dues(msgspec.Struct):
    """What accounts owe for each month, by the lines so far."""

    owed: dict[DueKey, int] = {}
    learnt: dict[DueKey, int] = {}
    """What of it was learnt of months that are closed: it is no part of what the month itself comes to."""
    mapped: set[DueKey] = set()
    """Those for which anybody pays because a rule says so."""

    def pays(self, payer: Payer, key: DueKey) -> None:
        """Somebody pays for something of a month, whether that is wanted or not."""
        if payer.mapped:
            self.mapped.add(key)

    def add(self, key: DueKey, cost: int, *, learnt: bool = False) -> None:
        """So much more is owed."""
        for sums in (self.owed, self.learnt) if learnt else (self.owed,):
            sums[key] = sums.get(key, 0) + cost

    def whole(self, of: BilledTo) -> dict[DueKey, int]:
        """What is owed by those of whom all lines are wanted."""
        return {key: owed for key, owed in self.owed.items() if of.has_whole(key, mapped=key in self.mapped)}


def charged_lines(ledger: Ledger, window: Window, of: BilledTo = EVERYBODY) -> Iterator[ChargedPiece | Amount]:
    """Every line of a bill: what was held and given back first, roundings last."""
    dues = _Dues()
    for piece in pieces(ledger, window):
        key = _due(piece)
        dues.pays(piece.payer, key)
        if of.has_piece(piece):
            found = charges(piece)
            if found:
                dues.add(key, sum(one.cost for one in found), learnt=piece.learnt)
            yield ChargedPiece(piece, found)

    def booked(found: Iterator[Amount], *, learnt: bool = False) -> Iterator[Amount]:
        for amount in found:
            dues.pays(amount.payer, amount.due)
            if of.has_amount(amount):
                dues.add(amount.due, amount.cost, learnt=learnt)
                yield amount

    yield from booked(entered_amounts(ledger, window))
    yield from booked(unused_amounts(ledger, window))
    if ledger.carried is not None and ledger.carried.booked in window:
        yield from booked(_learnt_amounts(ledger.carried), learnt=True)
    own = {key: owed - dues.learnt.get(key, 0) for key, owed in dues.whole(of).items()}
    yield from booked(monthly_terms(ledger, own, window, dues.mapped))
    yield from roundings(dues.whole(of), ledger, window, dues.mapped)


def _due(piece: Piece) -> DueKey:
    return (piece.payer.account, month_of(piece.booked))


def _derived(ledger: Ledger, window: Window) -> Iterator[Amount]:
    """What follows from what was held in a closed month, without what was entered or learnt in it."""
    yield from unused_amounts(ledger, window)
    if not any(has_terms(one) for one in ledger.prices.lists):
        return
    dues = _Dues()
    for piece in pieces(ledger, window):
        key = _due(piece)
        dues.pays(piece.payer, key)
        if found := charges(piece):
            dues.add(key, sum(one.cost for one in found))
    for amount in (*entered_amounts(ledger, window), *unused_amounts(ledger, window)):
        dues.pays(amount.payer, amount.due)
        dues.add(amount.due, amount.cost)
    yield from monthly_terms(ledger, dues.owed, window, dues.mapped)


def _learnt_amounts(carried: Carried) -> Iterator[Amount]:
    """What is different about shares of unused cards and monthly terms, one line of a kind for a closed month."""
    for window in carried.windows:
        sums: dict[Amount, int] = {}
        for ledger, sign in ((carried.before, -1), (carried.now, 1)):
            for amount in _derived(ledger, window):
                key = msgspec.structs.replace(
                    amount,
                    kind=LineKind.CORRECTION,
                    cost=0,
                    booked=carried.booked,
                    about=month_of(amount.about),
                    place=carried.place,
                    commitment=None,
                    text=f"What {amount.kind} comes to otherwise",
                )
                sums[key] = sums.get(key, 0) + sign * amount.cost
        for key, cost in sums.items():
            if cost:
                yield msgspec.structs.replace(key, cost=cost)
