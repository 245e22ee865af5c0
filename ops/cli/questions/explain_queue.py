"""An explained cluster queue as text for people."""

from rich.console import Console

from events.json_object import JsonObject
from events.quantity import from_units
from events.timestamp import format_timestamp
from ops.terminal.console import sayer


def show_queue(plain: JsonObject, console: Console) -> None:
    """Print that for people."""
    say = sayer(console)
    say(f"cluster queue {plain['queue']}, cohort {plain['cohort'] or 'none'}", "bold")
    for one in plain["inactive"]:
        say(f"  it takes nothing in: {one['reason']}: {one['message']}", "red")
    for one in plain["left_alone"]:
        say(f"  set aside since {format_timestamp(one['since'])}: {one['message']}", "red")
        say(f"    {one['fix']}", "green")
    say(f"  {plain['reserved']} workload(s) hold quota, {plain['waiting']} wait; share {plain['share']}")
    for one in plain["usage"]:
        resource = one["resource"]
        nominal = "no bound" if one["nominal"] == -1 else from_units(resource, one["nominal"])
        free = "no bound" if one["available"] == -1 else from_units(resource, one["available"])
        borrowed = f", {from_units(resource, one['borrowed'])} of it borrowed" if one["borrowed"] else ""
        say(
            f"  {one['flavor']} {resource}: owns {nominal}, uses {from_units(resource, one['used'])}{borrowed}, "
            f"may still use {free}"
        )
        for each in one["borrowers"]:
            over = from_units(resource, each["over"])
            say(f"    {each['cluster_queue']} uses {over} more than its own: {', '.join(each['workloads'])}")
    for number, one in enumerate(plain["first"], start=1):
        say(f"  {number}. {one['workload']}, priority {one['priority']}: {one['reason']} {one['message']}".rstrip())
