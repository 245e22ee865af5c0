"""`kuelog drift`: where the log, HAMi's annotations and the pods that exist disagree about cards."""

import msgspec
from rich.console import Console
from rich.text import Text

from events.event import Millis
from events.timestamp import format_timestamp
from ops.cli.devices.cards import read_moment
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.production.cards_view import job_of
from ops.queries.time_travel import WorldAt, as_of, stamp
from ops.terminal.form import AnswerForm, print_answer
from projections.devices.holdings.drift import NOTES, Drift, all_findings


class DriftRow(msgspec.Struct, frozen=True, kw_only=True):
    """One difference as it is shown; `since` is when it was reported on the log (`DriftDetected`)."""

    kind: str
    node: str
    card: str
    holder: str
    message: str
    since: Millis | None
    note: bool


def run_drift(source: LogSource, *, at: str, notes: bool, output: AnswerForm, console: Console) -> int:
    """Print every difference; 0 when there is none, 1 when there are some."""
    with known_failures() as outcome:
        moment = read_moment(source, at)
        cards = moment.world.cards
        found = all_findings(cards, moment.world.nodes, moment.world.pods)
        rows = [_row(moment, one) for one in found if notes or one.kind not in NOTES]
        books = {
            "log": sum(stake.reserved.memory for row in cards.stakes.values() for stake in row.values()),
            "annotations": sum(stake.held.memory for row in cards.stakes.values() for stake in row.values()),
            "pods": sum(1 for hold in cards.pods.values() if hold.use),
        }
        if output is not AnswerForm.TEXT:
            print_answer({**stamp(moment), "books": books, "findings": rows}, output)
        else:
            _show(rows, console)
            console.print(
                f"the log has {books['log']} MiB reserved, HAMi's annotations hold {books['annotations']} MiB, "
                f"{books['pods']} living pod(s) hold cards; as of {as_of(moment.at, moment.upto)}",
                style="dim",
            )
        outcome.code = 1 if any(not row.note for row in rows) else 0
    return outcome.code


def _row(moment: WorldAt, one: Drift) -> DriftRow:
    return DriftRow(
        kind=one.kind,
        node=one.node,
        card=one.card,
        holder=job_of(moment.world, one.holder),
        message=one.message,
        since=moment.since.get((one.card, one.kind, one.holder)),
        note=one.kind in NOTES,
    )


def _show(rows: list[DriftRow], console: Console) -> None:
    if not rows:
        console.print("log, annotations and pods agree about every card")
    for row in rows:
        line = Text(f"{row.kind:<12} ", style="dim" if row.note else "red")
        line.append(f"{row.node} {row.card}: ", style="bold").append(f"{row.holder} {row.message}".strip())
        if row.since is not None:
            line.append(f" (reported {format_timestamp(row.since)})", style="dim")
        console.print(line, soft_wrap=True)
