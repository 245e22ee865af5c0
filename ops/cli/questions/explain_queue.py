"""An explained cluster queue or local queue as text for people."""

from rich.console import Console

from events.json_object import JsonObject
from events.quantity import from_units
from events.timestamp import format_timestamp
from ops.terminal.console import sayer


def show_queue(plain: JsonObject, console: Console) -> None:
    """Print that for people."""
    say = sayer(console)
    local = "states" in plain
    cohort = f"cohort {plain['cohort'] or 'none'}"
    if local:
        say(f"local queue {plain['queue']} → cluster queue {plain['cluster_queue']}, {cohort}", "bold")
    else:
        say(f"cluster queue {plain['queue']}, {cohort}", "bold")
    for one in plain["inactive"]:
        say(f"  it takes nothing in: {one['reason']}: {one['message']}", "red")
    for one in plain["left_alone"]:
        say(f"  set aside since {format_timestamp(one['since'])}: {one['message']}", "red")
        say(f"    {one['fix']}", "green")
    if local:
        states = ", ".join(f"{count} {state}" for state, count in plain["states"].items() if count)
        say(f"  {states or 'nobody has asked it for anything that is not over'}")
        say(
            f"  {plain['waiting']} of {plain['waiting_in_cluster_queue']} who wait for {plain['cluster_queue']} are of this queue"
        )
        say(f"  what {plain['cluster_queue']} has, for all of its local queues")
    else:
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
    for one in plain["first"]:
        say(
            f"  {one['position']}. {one['workload']}, priority {one['priority']}: {one['reason']} {one['message']}".rstrip()
        )
