"""`kuelog budget`: how budgets stand, and approving of more."""

import getpass
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from events.api.labels import BUDGET, BUDGET_APPROVED
from events.budget import BudgetPeriod
from events.json_object import JsonObject
from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.kubectl.connection import Context, DryRun, DryRunOption, Kubeconfig, changed, refuse, with_cluster
from ops.cli.kubectl.connection import ObjectsOutput as ObjectOutput
from ops.cli.kubectl.connection import OutputOption as ObjectOutputOption
from ops.cli.kubectl.connection import say as say_changed
from ops.cli.kubectl.nouns import CLUSTER_QUEUE, NAMESPACE, Noun
from ops.cli.kubectl.where import Where
from ops.cli.log_options import Archive, Bus, Data, LogSource
from ops.cli.log_reading import opened_log
from ops.production.kubernetes.client import KubeClient
from ops.production.process.clock import ScaledClock
from ops.queries.explaining import world_at
from ops.queries.point import NotOnTheLog, point_at
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output, print_answer
from ops.terminal.table import FittingTable, TableColumn, number
from projections.budgets.budget_usage import is_currency
from projections.budgets.scopes import in_words, whole_of
from projections.calendar import begin
from projections.explanation.budget_report import BudgetCourse, BudgetReport, budget_reports
from services.watcher.fields.budget_text import LIMITS_EXAMPLE, approvals, budget, budget_limits

At = Annotated[
    str, typer.Option(help="As of a sequence (17) or a time (+60s, 2026-11-23T12:00:00Z); now where it is empty.")
]
Of = Annotated[str, typer.Argument(help="clusterqueue/NAME or namespace/NAME.")]

app = typer.Typer(help="Budgets: what is used of each and how long it lasts; approving of more.", no_args_is_help=True)
console = terminal()
_NONE = f"there is no budget: the annotation {BUDGET} of a ClusterQueue or Namespace is one"
_NOUNS = {"clusterqueue": CLUSTER_QUEUE, "cq": CLUSTER_QUEUE, "namespace": NAMESPACE, "ns": NAMESPACE}


@app.command(name="list")
def list_budgets(
    data: Data = None, nats: Bus = "", archive: Archive = "", at: At = "", output: Output = AnswerForm.TEXT
) -> None:
    """Every budget: what is used, what is allowed, and when it is used up if those who run go on; exit code 1 when one is.

    Example: kuelog budget list

    Example: kuelog budget list --nats nats://127.0.0.1:4222 -o json
    """
    raise typer.Exit(_run(LogSource(data=data, nats=nats, archive=archive), at, "", output, console))


@app.command()
def show(
    of: Of, data: Data = None, nats: Bus = "", archive: Archive = "", at: At = "", output: Output = AnswerForm.TEXT
) -> None:
    """One budget and the shares of its users, with what those who wait would add.

    Example: kuelog budget show clusterqueue/research
    """
    raise typer.Exit(_run(LogSource(data=data, nats=nats, archive=archive), at, of, output, console))


@app.command()
def approve(
    of: Of,
    more: Annotated[str, typer.Option(help="How much more, as in a budget: '500 EUR' or 'nvidia.com/gpu=20h'.")],
    user: Annotated[str, typer.Option(help="For the share of this user alone.")] = "",
    by: Annotated[str, typer.Option(help="Who approves; the name of the user by default.")] = "",
    dry_run: DryRunOption = DryRun.NONE,
    output: ObjectOutputOption = ObjectOutput.TABLE,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Approve of more for the period that goes on; what was approved of for others that are over is taken away.

    Example: kuelog budget approve clusterqueue/research --more "500 EUR"
    """
    try:
        noun, name = _budget_of(of)
    except NotOnTheLog as unknown:
        raise refuse(str(unknown)) from None
    who = by or getpass.getuser()
    if any(not one or any(letter.isspace() or letter == ";" for letter in one) for one in (who, user or "-")):
        raise refuse("a name has no spaces and no semicolon: say --by ann")
    try:
        budget_limits(more)
    except ValueError:
        raise refuse(f"--more {more!r} can't be read: write {LIMITS_EXAMPLE}") from None

    async def enter(client: KubeClient) -> JsonObject:
        there = await client.get(noun.resource, "", name)
        annotations: dict[str, str] = (there.get("metadata") or {}).get("annotations") or {}
        text = with_approval(annotations, more, user, who, ScaledClock().now())
        version = there["metadata"].get("resourceVersion")
        patch = {"metadata": {"annotations": {BUDGET_APPROVED: text}, "resourceVersion": version}}
        return await changed(client, noun, "", name, patch, dry_run)

    try:
        found = with_cluster(Where(kubeconfig=kubeconfig, context=context), enter)
    except ValueError as problem:
        raise refuse(f"{of}: {problem}") from None
    say_changed(noun, found, "approved", output, dry_run)


def with_approval(annotations: dict[str, str], more: str, user: str, by: str, now: int) -> str:
    """The annotation of approvals with one more, for the period that goes on, and without those that are over. Raises ValueError."""
    if BUDGET not in annotations:
        raise ValueError(f"it has no annotation {BUDGET}: there is nothing to approve of")
    try:
        period = budget(annotations[BUDGET]).period
        began = begin(period, now)
        before = [one.strip() for one in annotations.get(BUDGET_APPROVED, "").split(";") if one.strip()]
        kept = [one for one in before if approvals(one, period)[0].began >= began]
    except ValueError as bad:
        raise ValueError(f"its annotations of budgets can't be read: {bad}; mend them first") from bad
    day = format_timestamp(began)[: len("2026-11") if period is BudgetPeriod.MONTH else len("2026-11-23")]
    return "; ".join((*kept, f"{day}: {more.strip()}{f' for {user}' if user else ''} by {by}"))


def _run(source: LogSource, at: str, of: str, output: AnswerForm, shown: Console) -> int:
    with known_failures() as outcome:
        with opened_log(source) as entries:
            point = point_at(entries, at)
            world = world_at(point)
        reports = list(budget_reports(world, point.at))
        if of:
            noun, name = _budget_of(of)
            wanted = f"{noun.resource.kind}/{name}"
            reports = [one for one in reports if whole_of(one.budget) == wanted]
            if not reports:
                known = sorted({whole_of(scope).replace("/", " ", 1) for scope in world.budgets})
                raise NotOnTheLog(
                    f"{of} has no budget; " + (f"there are those of {', '.join(known)}" if known else _NONE)
                )
        if output is not AnswerForm.TEXT:
            print_answer({"at": point.at, "budgets": msgspec.to_builtins(reports)}, output)
        elif not reports:
            shown.print(_NONE)
        else:
            _show(reports, shown, waiting=bool(of))
        outcome.code = 1 if any(one.percent >= 100 for one in reports) else 0  # noqa: PLR2004 - per cent
    return outcome.code


def _budget_of(of: str) -> tuple[Noun, str]:
    kind, _, name = of.partition("/")
    noun = _NOUNS.get(kind.lower())
    if noun is None or not name:
        raise NotOnTheLog(f"{of!r} is nothing that may have a budget: write clusterqueue/NAME or namespace/NAME")
    return noun, name


def _show(reports: list[BudgetReport], shown: Console, *, waiting: bool) -> None:
    table = FittingTable((*_COLUMNS, *(_WAITING if waiting else ()), _POLICY))
    for one in reports:
        unit = "" if is_currency(one.resource) else " h"
        more = (_ends(one, one.with_waiting), f"{one.with_waiting.percent_at_end} %") if waiting else ()
        table.add(
            in_words(one.budget),
            one.resource,
            str(one.period),
            f"{one.used}{unit}",
            f"{one.allowed}{unit}",
            f"{one.percent} %",
            _ends(one, one.forecast),
            f"{one.forecast.percent_at_end} %",
            *more,
            f"{one.at_end}, {one.running}",
        )
    shown.print(table)
    shown.print(
        "used up: if those who run go on and nobody else comes"
        + ("; or if all who wait ran as well" if waiting else ""),
        style="dim",
        highlight=False,
    )


def _ends(one: BudgetReport, course: BudgetCourse) -> str:
    if one.percent >= 100:  # noqa: PLR2004 - per cent
        return "is used up"
    return "not in it" if course.used_up_at is None else format_timestamp(course.used_up_at)


_COLUMNS = (
    TableColumn("budget", whole=True),
    TableColumn("of"),
    TableColumn("per"),
    number("used"),
    number("allowed"),
    number("%"),
    TableColumn("used up"),
    number("at its end", 2),
)
_WAITING = (TableColumn("with who waits", 1), number("at its end then", 1))
_POLICY = TableColumn("policy", 3)
