"""`kuelog explain`: why a workload waits or had to stop, and what would change that; why a queue stands as it does."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from events.json_object import JsonObject
from events.quantity import from_units
from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import opened_log, opened_workers
from ops.cli.questions.explain_queue import show_queue
from ops.queries.answers import explained
from ops.queries.explaining import world_at
from ops.queries.near_words import heading, near_rows
from ops.queries.patience import Patience
from ops.queries.point import point_at
from ops.queries.worker_logs import in_workers
from ops.terminal.console import sayer, terminal
from ops.terminal.form import AnswerForm, print_answer
from projections.explanation.about import canonical
from projections.explanation.redaction import Redaction, namespaces_in


def run_explain(
    name: str,
    source: LogSource,
    *,
    at: str,
    namespace: str,
    limit: float,
    output: AnswerForm,
    console: Console,
    workers: Sequence[str] = (),
) -> int:
    """Explain one object; what the log does not know is a mistake. The first answer comes at once, what would help behind it."""
    with known_failures() as outcome:
        wanted = canonical(name)

        def reads(key: str) -> bool:
            return not namespace or key.startswith(f"{namespace}/")

        with opened_log(source) as entries, opened_workers(workers) as elsewhere:
            with _busy(console, "asking the log"):
                point = point_at(entries, at)
                world = world_at(point, wanted)
                hidden = Redaction([namespace], namespaces_in(world), world.nodes) if namespace else None
                about = point.upto, point.describe()
            if output is AnswerForm.TEXT:
                show_first(_shown(explained(world, point, wanted, reads, deep=False), hidden), console)
            with _busy(console, f"trying what would help, for {limit:g} s at most"):
                plain = _shown(explained(world, point, wanted, reads, patience=Patience(limit)), hidden)
                if workers and "queue" not in plain:
                    asked = partial(Patience, limit)
                    found = in_workers(world, point, wanted, elsewhere, patience=asked, namespace=namespace)
                    plain["worker_logs"] = found
        if output is not AnswerForm.TEXT:
            print_answer({"at": point.at, "sequences": about[0], **plain}, output)
        else:
            show_rest(plain, console)
            console.print(f"as of {about[1]}", style="dim", highlight=False)
            _show_workers(plain.get("worker_logs", ()), console)
        outcome.code = 0
    return outcome.code


def _show_workers(found: Sequence[JsonObject], console: Console) -> None:
    """What the log of each worker cluster says, each under the commit of it that is cited."""
    say = sayer(console)
    for one in found:
        cited = f", of which {one['cited']} is cited" if one["cited"] else ", of which nothing is cited"
        say(f"\non the log of {one['cluster']}{cited}", "bold")
        if one["problem"]:
            say(f"  {one['problem']}", "red")
        if one["explanation"] is not None:
            show(one["explanation"], console)
            console.print(f"as of {one['at']}", style="dim", highlight=False)


def _shown(plain: JsonObject, hidden: Redaction | None) -> JsonObject:
    return plain if hidden is None else hidden.of(plain)


def _busy(console: Console, what: str) -> Progress:
    columns = (SpinnerColumn(), TextColumn(what), TimeElapsedColumn())
    shown = terminal(stderr=True)
    progress = Progress(
        *columns, console=shown, transient=True, disable=not (console.is_terminal and shown.is_terminal)
    )
    progress.add_task("")
    return progress


def _alarms(plain: JsonObject) -> list[str]:
    """What needs somebody's attention: being set aside, and preempting for ever."""
    aside = [f"set aside since {format_timestamp(one['since'])}: {one['message']}" for one in plain["left_alone"]]
    return [*aside, *(f"it is in a loop: {loop}" for loop in plain["loops"])]


def show(plain: JsonObject, console: Console) -> None:
    """Print a whole explanation, given as plain values, for people."""
    show_first(plain, console)
    show_rest(plain, console)


def show_rest(plain: JsonObject, console: Console) -> None:
    """Print what takes time to find: what would let it in, and what happened before."""
    if "queue" in plain:
        return
    say = sayer(console)
    _show_remedies(plain, say)
    for stop in plain["stops"]:
        _show_stop(stop, say)


def show_first(plain: JsonObject, console: Console) -> None:
    """Print the first part of an explanation, given as plain values, for people."""
    if "queue" in plain:
        show_queue(plain, console)
        return
    say = sayer(console)
    say(f"{plain['job']}, workload {plain['workload']}", "bold")
    queue = (
        f"queue {plain['local_queue']} → {plain['cluster_queue'] or 'no cluster queue'}, priority {plain['priority']}"
    )
    say(f"  {plain['state']} since {format_timestamp(plain['since'])}; {queue}")
    if plain["tier"] != "nothing":
        say(f"  because of {plain['tier']}: {plain['reason']}", "yellow")
    if plain["message"] and not any(one["message"] == plain["message"] for one in plain["left_alone"]):
        say(f"  {plain['message']}")
    for text in _alarms(plain):
        say(f"  {text}", "red")
    line = plain["line"]
    if line["position"]:
        ahead = f", behind {', '.join(line['ahead'])}" if line["ahead"] else ""
        say(f"  position {line['position']} of {line['waiting']} who wait for {plain['cluster_queue']}{ahead}")
    _show_shortages(plain["shortages"], say)
    _show_staying(plain["staying"], say)
    if plain["domains"] is not None:
        _show_domains(plain["domains"], say)
    _show_lines("it waits for", plain["waits_for"], say)
    _show_lines("its pods claim", plain["claims"], say)
    _show_lines("other clusters answer", plain["clusters"], say)


def _show_lines(title: str, lines: list[str], say: Any) -> None:
    if lines:
        say(f"  {title}")
    for one in lines:
        say(f"    {one}")


def _show_shortages(shortages: list[JsonObject], say: Any) -> None:
    if not any(one["missing"] or one["obstacle"] for one in shortages):
        return
    say("  in numbers")
    barred: dict[str, str] = {}
    for one in shortages:
        if one["obstacle"]:
            barred[one["flavor"]] = one["obstacle"]
            continue

        def units(name: str, one: JsonObject = one) -> str:
            return "no bound" if one[name] == -1 else from_units(one["resource"], one[name])

        verdict = f"{units('missing')} missing" if one["missing"] else "enough"
        lent = f", {units('lent')} of it lent to others" if one["lent"] else ""
        say(
            f"    {one['flavor']} {one['resource']}: asked {units('asked')}, available {units('available')}, "
            f"{verdict}; the queue owns {units('nominal')} and uses {units('used')}{lent}; at most {units('potential')}"
        )
        for each in one["borrowers"]:
            over = from_units(one["resource"], each["over"])
            say(f"      {each['cluster_queue']} uses {over} more than its own: {', '.join(each['workloads'])}")
    for flavor, why in barred.items():
        say(f"    {flavor}: {why}")


def _show_staying(groups: list[JsonObject], say: Any) -> None:
    if groups:
        say("  who holds that, and why none of them is preempted for it")
    for one in groups:
        more = ", …" if one["count"] > len(one["workloads"]) else ""
        where = f"{one['count']} in {', '.join(one['cluster_queues'])} ({', '.join(one['workloads'])}{more})"
        say(f"    {where}: {one['message']}")


def _show_domains(plain: JsonObject, say: Any) -> None:
    say(f"  in {heading(plain)}")
    for row in near_rows(plain):
        say(f"    nearest {row['level']} is {row['domain']}: {row['verdict']}")
        for lack in row["lacks"]:
            say(f"      {lack}")


def _show_remedies(plain: JsonObject, say: Any) -> None:
    if plain["note"] or plain["raises"] or plain["ends"] or plain["cards"] or plain["fix"]:
        say("  what would let it in")
    if plain["note"]:
        say(f"    {plain['note']}")
    for together in plain["raises"]:
        words = [
            f"{one['resource']} in {one['flavor']} from {from_units(one['resource'], one['nominal'])} by "
            f"{from_units(one['resource'], one['by'])}"
            for one in together
        ]
        say(f"    raise the nominal quota of {together[0]['cluster_queue']}: {' and '.join(words)}", "green")
    if plain["ends"]:
        say(f"    the end of any one of {', '.join(plain['ends'])}", "green")
    cards = plain["cards"]
    if cards is not None and not cards["steps"]:
        say("    its cards are free as things stand: it is placed at the next turn", "green")
    for step in (cards or {}).get("steps", ()):
        to = sorted({one["node"] for one in step.get("to", ())})
        where = f"; it fits on {', '.join(to)} then" if to else ""
        frees = f", which frees {', '.join(step['cards'])}" if step["cards"] else ""
        say(f"    {step['way']} {step['holder']}{frees}{where}", "green")
    if plain["fix"]:
        say(f"    {plain['fix']}", "green")


def _show_stop(stop: JsonObject, say: Any) -> None:
    by = f" by {stop['by']}, {stop['rule']}" if stop["by"] else ""
    place = f"{stop['partition']}/{stop['sequence']}"
    say(f"  {stop['kind']} at {format_timestamp(stop['at'])} ({place}): {stop['reason']}{by}", "bold")
    if stop["kind"] != "preempted":
        say(f"    {stop['message']}")
        return
    say(f"    asked for at {stop['requested'] or 'no place on this log'}; victims: {', '.join(stop['victims'])}")
    for one in stop["considered"]:
        say(f"    considered {one['workload']} of {one['cluster_queue']}: {one['verdict']}")
    for one in stop["standings"]:
        before, after = (from_units(one["resource"], one[name]) for name in ("used_before", "used_after"))
        say(
            f"    {one['node']} {one['flavor']} {one['resource']}: owns {from_units(one['resource'], one['owned'])}, "
            f"used {before} → {after}, share {_share(one['share_before'])} → {_share(one['share_after'])}"
        )


def _share(text: str) -> str:
    whole, _, rest = text.partition(".")
    return f"{whole}.{rest[:2]}" if rest else whole
