"""What a person sees at the end of a scenario: timelines, the cards over time, what each team used, the verdict."""

from fractions import Fraction

from rich.console import Console

from events.event import Millis
from ops.sandbox.scenario.verdict import RunVerdict
from ops.terminal.table import FittingTable, TableColumn, number
from projections.devices.holdings.card_time import Interval, TenantUse
from projections.workloads.timeline import WorkloadMoment

_HOUR: Millis = 3_600_000
_BUCKETS = 60
_DETAIL = 76
_GLYPHS = "0123456789abcdefghijklmnopqrstuvwxyz"


def show(verdict: RunVerdict, console: Console) -> None:
    """Print all of it."""
    begin, end = _span(verdict)
    show_timelines(verdict, console, begin)
    if verdict.cards.intervals():
        show_cards(verdict, console, begin, end)
        show_use(verdict, console, end)
    show_verdict(verdict, console)


def show_timelines(verdict: RunVerdict, console: Console, begin: Millis) -> None:
    """The life of each job, a line per moment; the sequence says where on the log it stands."""
    console.print("\n[bold]Timeline of each job[/bold]")
    for key in sorted(verdict.timeline.moments, key=lambda k: verdict.timeline.moments[k][0].at):
        console.print(f"[bold]{verdict.timeline.jobs.get(key, key)}[/bold]", highlight=False)
        for moment in _brief(verdict.timeline.moments[key]):
            line = f"{(moment.at - begin) / 1000:7.1f} s  {moment.what:<15} {_short(moment.detail):<76} "
            console.print(f"{line}{moment.partition} {moment.sequence}", highlight=False, markup=False, soft_wrap=True)


def _short(text: str) -> str:
    return text if len(text) <= _DETAIL else text[: _DETAIL - 3] + "..."


def show_cards(verdict: RunVerdict, console: Console, begin: Millis, end: Millis) -> None:
    """A row per card that was used (cards with the same story share one), a column per slice of time."""
    intervals = verdict.cards.intervals()
    signs = {
        workload: _GLYPHS[index % len(_GLYPHS)]
        for index, workload in enumerate(
            dict.fromkeys(one.workload for one in sorted(intervals, key=lambda i: i.since))
        )
    }
    width = max(end - begin, 1)
    column = f"{width / _BUCKETS / 1000:.1f} s"
    console.print(
        f"\n[bold]Cards over time[/bold] (a column is {column}; '+' is a card that changes hands or is shared)"
    )
    rows: dict[str, list[Interval]] = {}
    for one in intervals:
        rows.setdefault(one.card, []).append(one)
    drawn: dict[str, list[str]] = {}
    for card, held in rows.items():
        cells = "".join(
            _cell(held, signs, begin + width * i // _BUCKETS, begin + width * (i + 1) // _BUCKETS)
            for i in range(_BUCKETS)
        )
        drawn.setdefault(cells, []).append(card.removeprefix("GPU-"))
    for cells, cards in drawn.items():
        console.print(f"  {cells}  {', '.join(cards)}", highlight=False, markup=False, soft_wrap=True)
    for workload, sign in signs.items():
        console.print(f"  {sign} {verdict.timeline.jobs.get(workload, workload)}", highlight=False, markup=False)


def show_use(verdict: RunVerdict, console: Console, end: Millis) -> None:
    """What each team used, from the intervals in the log: exact integers until they are printed."""
    columns = (TableColumn("team"), *map(number, _USE))
    table = FittingTable(columns, "\nWhat each team used")
    for tenant, use in verdict.cards.use(end).items():
        table.add(tenant, *_of(use))
    console.print(table)


_USE = ("GPU memory (GiB-h)", "cores (card-h)", "cards held (card-h)")


def _of(use: TenantUse) -> tuple[str, ...]:
    hours = Fraction(use.memory, 1024 * _HOUR), Fraction(use.cores, 100 * _HOUR), Fraction(use.cards, _HOUR)
    return tuple(map(_decimal, hours))


def show_verdict(verdict: RunVerdict, console: Console) -> None:
    """Every expectation, and the proof by replay."""
    console.print("\n[bold]What was expected[/bold]")
    for finding in verdict.findings:
        mark = "[green]held[/green]  " if finding.held else "[red]failed[/red]"
        seen = f" [dim]({finding.seen})[/dim]" if finding.seen else ""
        console.print(f"  {mark} {finding.what}{seen}", highlight=False, soft_wrap=True)


def _brief(moments: list[WorkloadMoment]) -> list[WorkloadMoment]:
    """Without repetitions of the same refusal."""
    kept: list[WorkloadMoment] = []
    for moment in moments:
        if kept and (kept[-1].what, kept[-1].detail) == (moment.what, moment.detail):
            continue
        kept.append(moment)
    return kept


def _cell(held: list[Interval], signs: dict[str, str], since: Millis, until: Millis) -> str:
    there = {one.workload for one in held if one.since < until and (one.until is None or one.until > since)}
    if not there:
        return "."
    return signs[next(iter(there))] if len(there) == 1 else "+"


def _decimal(value: Fraction) -> str:
    return f"{round(value * 1000) / 1000:.3f}"


def _span(verdict: RunVerdict) -> tuple[Millis, Millis]:
    times = [moment.at for moments in verdict.timeline.moments.values() for moment in moments]
    return (min(times), max(times)) if times else (0, 1)
