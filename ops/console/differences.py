"""Two moments of the log side by side: rows that came, rows that went, and fields that differ."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from events.json_object import JsonObject
from ops.console.recorded import Recorded
from ops.console.rights import Rights
from ops.production.cards_view import card_views
from projections.explanation.read_models import queue_rows, usage_rows

T = TypeVar("T", bound=msgspec.Struct)
MOST = 500
"""Rows of one kind at most that are listed; their number is always whole."""


def differences(before: Recorded, after: Recorded, rights: Rights) -> JsonObject:
    """By kind of row, what differs between two moments: of workloads, queues, the use of quota, and cards."""
    every: dict[str, tuple[Callable[[Recorded], Sequence[Any]], Callable[[Any], str]]] = {
        "workloads": (lambda then: [row for row in then.rows() if rights.reads(row.key)], lambda row: row.key),
        "queues": (lambda then: queue_rows(then.world()), lambda row: row.name),
        "usage": (lambda then: usage_rows(then.world()), lambda row: f"{row.node} {row.flavor} {row.resource}"),
        "cards": (lambda then: card_views(then.cards().world), lambda row: f"{row.node} {row.card}"),
    }
    kinds = every if rights.queues else {"workloads": every["workloads"]}
    return {
        "before": {"at": before.point.at, "sequences": before.point.upto},
        "after": {"at": after.point.at, "sequences": after.point.upto},
        "kinds": {name: _differ(rows(before), rows(after), key) for name, (rows, key) in kinds.items()},
    }


def _differ(before: Sequence[T], after: Sequence[T], key: Callable[[T], str]) -> JsonObject:
    old, new = ({key(row): msgspec.to_builtins(row) for row in rows} for rows in (before, after))
    changed = [
        {
            "key": name,
            "fields": {
                field: [old[name][field], new[name][field]]
                for field in old[name]
                if old[name][field] != new[name][field]
            },
        }
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name]
    ]
    came, gone = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    return {
        "counts": {"came": len(came), "gone": len(gone), "changed": len(changed)},
        "came": came[:MOST],
        "gone": gone[:MOST],
        "changed": changed[:MOST],
    }
