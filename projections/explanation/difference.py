"""Two lists of decisions side by side: which only one of them has, and in which fields the others differ."""

from collections.abc import Sequence
from typing import Any

import msgspec

from events.catalogue import AnyEvent


class DecisionDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One decision that differs: `recorded` or `decided` is empty where only the other list has it."""

    type: str
    object: str
    recorded: dict[str, Any] = {}
    decided: dict[str, Any] = {}

    @property
    def fields(self) -> list[str]:
        """The fields in which both differ."""
        return [
            name
            for name in sorted({*self.recorded, *self.decided})
            if self.recorded.get(name) != self.decided.get(name)
        ]


def changes(recorded: Sequence[AnyEvent], decided: Sequence[AnyEvent]) -> list[DecisionDifference]:
    """The differences between recorded decisions and those decided anew, in their order."""
    before, after = _numbered(recorded), _numbered(decided)
    found: list[DecisionDifference] = []
    for key in [*before, *(key for key in after if key not in before)]:
        left, right = before.get(key, {}), after.get(key, {})
        if left != right:
            found.append(DecisionDifference(type=key[0], object=key[1], recorded=left, decided=right))
    if not found and before.keys() == after.keys() and list(before) != list(after):
        order = {"order": [f"{name} {about}" for name, about, _ in before]}
        other = {"order": [f"{name} {about}" for name, about, _ in after]}
        found.append(DecisionDifference(type="order", object="", recorded=order, decided=other))
    return found


def _numbered(events: Sequence[AnyEvent]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Events as plain values, by type, object, and how many such events came before."""
    by_key: dict[tuple[str, str, int], dict[str, Any]] = {}
    for event in events:
        plain: dict[str, Any] = msgspec.to_builtins(event)
        name = str(plain.pop("type"))
        about = next(
            (str(plain[field]) for field in ("workload", "preemptor", "card", "flavor", "node") if field in plain), ""
        )
        number = 0
        while (name, about, number) in by_key:
            number += 1
        by_key[name, about, number] = plain
    return by_key
