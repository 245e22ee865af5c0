"""What stands behind a bill: its entries with their places on the log, and the months that are closed with their proof."""

from collections.abc import Mapping, Sequence

import msgspec

from ops.queries.billing.card_sums import money
from ops.queries.billing.closed_months import check_closed, closings, invoice_of, month_ledger, window_of
from ops.queries.billing.problems import BillRefused
from projections.billing.entries.entry import AnyEntry, DeviceEntry, QuotaEntry, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.charged_lines import BilledTo, ChargedPiece, charged_lines
from services.runtime.log_port import Entry

MOST_ENTRIES = 2_000
"""Entries of an answer at most: those that cost most."""


class _Sum(msgspec.Struct):
    entry: AnyEntry
    cost: int | None = None
    currency: str = ""


def entries_answer(ledger: Ledger, window: Window, of: BilledTo) -> dict[str, object]:
    """Every entry of a bill, the dearest first: what was held from when until when, what it comes to, where the log says so."""
    sums: dict[str, _Sum] = {}
    for line in charged_lines(ledger, window, of):
        if isinstance(line, ChargedPiece):
            found = sums.setdefault(line.piece.entry.id, _Sum(line.piece.entry))
            if line.charges and line.piece.prices is not None:
                found.cost = (found.cost or 0) + sum(one.cost for one in line.charges)
                found.currency = line.piece.prices.currency
    dearest = sorted(sums.values(), key=lambda one: (-(one.cost or 0), one.entry.since, one.entry.id))
    return {
        "since": window.since,
        "until": window.until,
        "left_out": max(len(dearest) - MOST_ENTRIES, 0),
        "entries": [_plain(one) for one in dearest[:MOST_ENTRIES]],
    }


def _plain(one: _Sum) -> dict[str, object]:
    entry = one.entry
    holder, began, ended = entry.holder, entry.began, entry.ended
    return {
        "id": entry.id,
        "kind": entry.kind,
        "tenant": holder.tenant,
        "queue": holder.cluster_queue,
        "job": holder.job,
        "workload": holder.workload,
        "since": entry.since,
        "until": entry.until,
        **_held(entry),
        "cost": None if one.cost is None else money(one.cost),
        "currency": one.currency,
        "began": {"why": began.why, "place": f"{began.partition}/{began.sequence}"},
        "ended": None if ended is None else {"why": ended.why, "place": f"{ended.partition}/{ended.sequence}"},
    }


def _held(entry: AnyEntry) -> dict[str, object]:
    if isinstance(entry, QuotaEntry):
        return {"flavor": entry.flavor, "resource": entry.resource, "amount": entry.amount}
    if isinstance(entry, DeviceEntry):
        return {
            "claim": entry.claim,
            "device_class": entry.device_class,
            "resource": entry.resource,
            "devices": entry.count,
        }
    held = entry.slice
    return {
        "flavor": held.flavor,
        "node": held.node,
        "card": held.card.uuid,
        "model": held.card.model,
        "memory_mib": held.memory,
        "cores": held.cores,
    }


def months_answer(entries: Mapping[str, Sequence[Entry]], check: str = "") -> dict[str, object]:
    """Every month that is closed, the latest first; of the one to check whether the log still comes to what was closed."""
    found = [
        {
            **msgspec.structs.asdict(one.event),
            "invoice": invoice_of(one.event.month, one.event.number),
            "place": f"CONTROL/{one.sequence}",
            "problem": _problem(entries, check) if one.event.month == check else None,
        }
        for one in reversed(closings(entries))
    ]
    if check and not any(one["month"] == check for one in found):
        raise BillRefused(f"{check} is not closed")
    return {"months": found}


def _problem(entries: Mapping[str, Sequence[Entry]], month: str) -> str:
    """Why the log does not come to a closed month any more; empty where it does."""
    window = window_of(month)
    try:
        check_closed(month_ledger(entries, window)[0], window)
    except BillRefused as refused:
        return str(refused)
    return ""
