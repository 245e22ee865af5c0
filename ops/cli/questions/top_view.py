"""What `kuelog top` shows: a line about everything, one for each queue, and one for each workload."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from rich.console import Console, Group, RenderableType
from rich.text import Text

from events.event import Millis
from events.quantity import from_units
from events.timestamp import format_timestamp
from ops.cli.kubectl.age import human
from ops.queries.standing import QueueStanding, Standing, Standings
from ops.queries.whatif.expected_starts import ExpectedStarts
from ops.terminal.table import FittingTable, TableColumn, number

_STYLES = {"running": "green", "pending": "yellow", "stopping": "red", "inactive": "dim"}
_ORDER = ("stopping", "running", "admitted", "reserved", "pending", "inactive")
"""Those who hold something stand before those who wait."""
_LATE = 1 << 62

SORTS: Mapping[str, Callable[[Standing], tuple[object, ...]]] = {
    "queue": lambda one: (one.cluster_queue, _ORDER.index(one.state), one.position),
    "starts": lambda one: (one.starts if one.starts is not None else _LATE, one.position),
    "cards": lambda one: (-one.cards,),
    "since": lambda one: (one.since,),
    "priority": lambda one: (-one.priority,),
    "job": lambda one: (one.job,),
}
"""By name, an order of the workloads; equals go by their names."""


class TopShown(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to show, as of a moment."""

    at: Millis
    standings: Standings
    expected: ExpectedStarts
    note: str = ""
    """What is amiss with the log; empty when nothing is."""


class Frame(msgspec.Struct, kw_only=True):
    """Which part of it is shown, and in which order."""

    sort: str = "queue"
    reverse: bool = False
    offset: int = 0

    def ordered(self, shown: TopShown) -> list[Standing]:
        """All workloads that are shown, in order."""
        key = SORTS[self.sort]
        return sorted(shown.standings.workloads, key=lambda one: (*key(one), one.workload), reverse=self.reverse)


def everything(shown: TopShown, frame: Frame) -> RenderableType:
    """All of it, for who scrolls by other means."""
    return Group(_headline(shown), _queue_table(shown.standings.queues), _table(shown, frame.ordered(shown)))


def screen(shown: TopShown, frame: Frame, console: Console) -> RenderableType:
    """So much of it as a terminal has room for, and below it what can be pressed."""
    rows = frame.ordered(shown)
    queues = sorted(shown.standings.queues, key=lambda one: (-one.waiting, one.name))
    most_queues = max(console.height // 4 - _AROUND, 1)
    above = min(len(queues), most_queues) + _AROUND
    room = max(console.height - above - _AROUND - 2, 1)
    frame.offset = max(min(frame.offset, len(rows) - room), 0)
    part = rows[frame.offset : frame.offset + room]
    where = f"{frame.offset + 1}-{frame.offset + len(part)} of {len(rows)}" if rows else "nobody runs or waits"
    keys = f"{where}   by {frame.sort}{' reversed' if frame.reverse else ''}   q quit  ↑↓ scroll  s sort  r reverse"
    return Group(
        _headline(shown),
        _queue_table(queues[:most_queues], cut=True),
        _table(shown, part, cut=True),
        Text(keys, style="dim", no_wrap=True, overflow="ellipsis"),
    )


_AROUND = 4
"""Lines of a table that are not rows."""


def _headline(shown: TopShown) -> Text:
    states = [one.state for one in shown.standings.workloads]
    counts = (
        ", ".join(f"{states.count(state)} {state}" for state in _ORDER if state in states) or "nobody runs or waits"
    )
    text = Text(f"{format_timestamp(shown.at)}  ", style="bold")
    text.append(counts, style="default")
    if shown.standings.cards:
        text.append(f"; {shown.standings.cards_held} of {shown.standings.cards} cards held", style="default")
    if shown.note:
        text.append(f"\n{shown.note}", style="red")
    return text


def _queue_table(queues: Sequence[QueueStanding], *, cut: bool = False) -> FittingTable:
    columns = (
        TableColumn("queue"),
        TableColumn("cohort", 3),
        number("hold"),
        number("wait"),
        number("use"),
        TableColumn("of", 1),
    )
    table = FittingTable(columns, cut=cut)
    for one in queues:
        per_cent, text = _fullest(one)
        full = Text(per_cent, style="red" if len(per_cent) > len("100 %") or per_cent == "100 %" else "default")
        table.add(one.name, one.cohort, str(one.reserved), str(one.waiting), full, text)
    return table


def _fullest(queue: QueueStanding) -> tuple[str, str]:
    """How much of its own the queue uses of what it uses most, and of what."""
    found = [(used * 100 // owned, name, used, owned) for name, (used, owned) in queue.used.items() if owned]
    if not found:
        return "", ""
    per_cent, name, used, owned = max(found)
    return f"{per_cent} %", f"{from_units(name, used)} of {from_units(name, owned)} {name}"


_COLUMNS = (
    TableColumn("job"),
    TableColumn("state", whole=True),
    TableColumn("where", 1),
    number("cards"),
    number("for", 3),
    TableColumn("starts", whole=True),
    TableColumn("queue", 2),
    TableColumn("why", 4),
    number("priority", 5),
)


def _table(shown: TopShown, rows: Sequence[Standing], *, cut: bool = False) -> FittingTable:
    table = FittingTable(_COLUMNS, cut=cut)
    for one in rows:
        table.add(
            one.job,
            Text(one.state, style=_STYLES.get(one.state, "default")),
            _where(one),
            str(one.cards or ""),
            human((shown.at - one.since) // 1000),
            starts_in(one, shown),
            one.cluster_queue,
            one.reason,
            str(one.priority),
        )
    return table


def _where(one: Standing) -> str:
    if one.nodes:
        return one.nodes[0] + (f" +{len(one.nodes) - 1}" if len(one.nodes) > 1 else "")
    if one.position:
        return f"{one.position}. in line"
    return ", ".join(one.flavors)


def starts_in(one: Standing, shown: TopShown) -> str:
    """When a workload is expected to start, as people say it."""
    if one.state != "pending":
        return ""
    if one.starts is not None:
        left = (one.starts - shown.at) // 1000
        return f"in {human(left)}" if left > 0 else "now"
    expected = shown.expected
    if expected.upto is not None and expected.upto > shown.at:
        return f"after {human((expected.upto - shown.at) // 1000)}"
    return "?" if expected.upto is not None or not expected.known_runs else "not foreseen"
