"""What a replay prints: rows of a read model, and decisions that come out otherwise with the facts that led there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console

from events.catalogue import AnyEvent
from events.codec import decode_event
from events.json_object import JsonObject
from events.quantity import from_units
from events.timestamp import format_timestamp
from ops.production.verification import VerifiedDifference
from ops.production.wiring import RULES
from ops.queries.answers import ROWS
from ops.queries.point import NotOnTheLog
from ops.queries.replay import Replayed
from ops.queries.stored import opened
from ops.terminal.table import FittingTable, TableColumn
from projections.amiss import Amiss
from projections.explanation.about import objects_of
from projections.explanation.difference import DecisionDifference, changes
from projections.explanation.read_models import tree_names
from projections.world import World
from services.runtime.control_log import Control

SHOWN = tuple(ROWS)
_RANKS = {
    "preempted": 6,
    "flavors": 5,
    "priority": 4,
    "job": 3,
    "since": 2,
    "cluster_queue": 1,
    "strategy": 4,
    "stop": 3,
    "tree": 2,
    "cohort": 1,
    "available": 1,
}
"""Which columns of a read model are left out first where there is no room."""
_LED = 12
"""So many of the facts that led to a decision are shown."""


def rows_of(world: World, show: str, tree: str) -> dict[str, Any]:
    """A read model, or the whole state, as plain values. Raises `NotOnTheLog` for a tree that is not there."""
    names = tree_names(world.quota)
    if tree and tree not in names and tree not in world.quota.trees():
        raise NotOnTheLog(f"there is no tree {tree} at this point; there are {', '.join(names) or 'none'}")
    return {show: msgspec.to_builtins(ROWS[show](world, tree))} if show else {}


def show_rows(world: World, show: str, tree: str, console: Console) -> None:
    """The same as a table; the state as JSON."""
    rows = rows_of(world, show, tree)[show]
    if show == "state":
        console.print_json(msgspec.json.encode(rows).decode())
        return
    if not rows:
        console.print(f"no {show} at this point")
        return
    rows = list(_ROWS_OF[show](rows)) if show in _ROWS_OF else rows
    table = FittingTable([TableColumn(name, _RANKS.get(name, 0)) for name in rows[0]])
    for row in rows:
        table.add(*(_cell(name, value) for name, value in row.items()))
    console.print(table)


def _boxes(flavors: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """A row for each domain, in those that it lies in, and one for each node that takes nobody."""
    for flavor in flavors:
        for box in flavor["domains"]:
            yield {
                "flavor": flavor["flavor"],
                "domain": " / ".join(box["values"]),
                "free": [f"{name} {from_units(name, amount)}" for name, amount in box["free"].items()],
                "held by": [f"{one['workload']} ({one['pods']})" for one in box["holders"]],
            }
        for node in flavor["unusable"]:
            yield {"flavor": flavor["flavor"], "domain": node["node"], "free": [node["why"]], "held by": []}


def _clusters(clusters: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """A row for each cluster, with who runs and who is tried there."""
    for one in clusters:
        yield {
            "cluster": one["name"],
            "stands": ("connected" if one["active"] else "away") if one["known"] else "no such MultiKueueCluster",
            "since": one["since"],
            "runs": [sent["workload"] for sent in one["runs"]],
            "tried": [sent["workload"] for sent in one["tried"]],
        }


_ROWS_OF: Mapping[str, Callable[[Sequence[JsonObject]], Iterator[JsonObject]]] = {
    "topology": _boxes,
    "clusters": _clusters,
}
"""How read models that are no rows are printed as rows."""


def _cell(name: str, value: Any) -> str:
    if name == "since":
        return format_timestamp(value) if value else ""
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value)
    return "no bound" if value == -1 else str(value)


def plain_differences(one: Replayed) -> list[dict[str, Any]]:
    """Differences as plain values."""
    return [
        {
            "sequence": d.sequence,
            "author": d.author,
            "at": d.at,
            "rules": d.rules,
            "recorded": d.recorded.decode(),
            "decided": d.decided.decode(),
            "changes": [{**msgspec.to_builtins(change), "fields": change.fields} for change in changes_of(d)],
            "failed": d.failed,
            "led": [f"{entry.stream}/{entry.sequence}" for entry in d.led],
        }
        for d in one.differences
    ]


def changes_of(difference: VerifiedDifference) -> list[DecisionDifference]:
    """In what the recorded and the new decisions differ."""
    return changes(_events(difference.recorded), _events(difference.decided))


def show_differences(differences: Sequence[VerifiedDifference], console: Console, *, led: bool = True) -> None:
    """Each difference as a person reads it: field by field, and the facts that led there."""
    for one in differences:
        words = f"  {one.partition}/{one.sequence} by {one.author} at {format_timestamp(one.at)}"
        rules = f", decided under rules {one.rules}; these are {RULES}" if one.rules != RULES else ""
        console.print(words + rules, style="bold", highlight=False)
        if one.failed:
            _print(console, f"    its author fails on it now: {one.failed}", "red")
        for change in changes_of(one):
            show_change(change, console)
        if led:
            _show_led(one, console)


def show_states(one: Replayed, console: Console) -> None:
    """Whether the states that commits name are those that the log leads to."""
    if not one.other_states:
        message = f"  and the {one.states} states that commits name are those that the log leads to"
        console.print(message if one.states else "  no commit names its state", style="dim", highlight=False)
    for other in one.other_states:
        message = f"  {one.partition}/{other.sequence} by {other.author} names another state than the log leads to"
        _print(console, f"{message}: {other.recorded}, not {other.folded}", "red")


def show_amiss(found: Sequence[Amiss], console: Console) -> None:
    """Messages that are amiss (author, subject or time) and so were not folded as they stand."""
    for one in found:
        times = f", and {one.count - 1} before it" if one.count > 1 else ""
        _print(console, f"  amiss: {one.stream}/{one.sequence}{times}, by {one.author}: {one.detail}", "red")


def show_change(change: DecisionDifference, console: Console) -> None:
    """One decision, with - what is recorded and + what comes out."""
    name = f"{change.type} {change.object}".rstrip()
    if not change.decided:
        _print(console, f"    - {name}: recorded, not decided again", "red")
    elif not change.recorded:
        _print(console, f"    + {name}: not recorded", "green")
        _print(console, f"        {_text(change.decided)}", "green")
    else:
        _print(console, f"    ~ {name}", "bold")
        for field in change.fields:
            _print(console, f"      - {field}: {_text(change.recorded.get(field))}", "red")
            _print(console, f"      + {field}: {_text(change.decided.get(field))}", "green")


def _show_led(one: VerifiedDifference, console: Console) -> None:
    if not one.led:
        console.print("    no fact came between this commit and the one before")
        return
    console.print(f"    the facts that led there ({len(one.led)} since the commit before):")
    for entry in one.led[-_LED:]:
        for stored in opened(entry, Control()):
            about = next(iter(objects_of(stored.event)), "")
            _print(console, f"      {entry.stream}/{entry.sequence} {type(stored.event).__name__} {about}", "dim")


def _events(data: bytes) -> list[AnyEvent]:
    return [decode_event(line) for line in data.split(b"\n") if line]


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _print(console: Console, text: str, style: str) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
