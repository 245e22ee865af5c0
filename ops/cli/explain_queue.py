"""Why a cluster queue is as it is: whether it is active, what it uses and lends, and which workloads are first in line."""

import msgspec
from rich.console import Console

from events.json_object import JsonObject
from events.quantity import from_units
from events.timestamp import format_timestamp
from projections.explanation.read_models import usage_rows
from projections.explanation.set_aside import queue_left_alone
from projections.explanation.shortages import borrowers
from projections.fair_sharing.share import share_of
from projections.queues.active_condition import inactive_reasons
from projections.world import World

_FIRST = 5


def explain_queue(world: World, name: str) -> JsonObject:
    """Why a cluster queue is inactive, its usage by flavor and resource, and the first in line; as plain values."""
    node, line = world.quota.node(name), world.lines.of(name)
    orders = [(order, key) for key, order in line.waiting.items()]
    orders += [place for parked in line.classes.values() for place in parked.members]
    usage = [msgspec.to_builtins(one) for one in usage_rows(world) if one.node == f"queue/{name}"]
    for one in usage:
        column = world.quota.columns.known(one["flavor"], one["resource"])
        found = borrowers(world, node, column) if node is not None and column is not None else ()
        one["borrowers"] = msgspec.to_builtins(list(found))
    first = [_waits(world, key) for _, key in sorted(orders)[:_FIRST]]
    return {
        "queue": name,
        "cohort": world.cluster_queues[name].cohort,
        "inactive": [{"reason": reason, "message": message} for reason, message in inactive_reasons(world, name)],
        "left_alone": msgspec.to_builtins(queue_left_alone(world, name)),
        "share": share_of(node, world.quota.columns.names).as_text() if node is not None else "",
        "waiting": len(orders),
        "parked": len(line.parked),
        "reserved": len(world.holders(name)),
        "usage": usage,
        "first": first,
    }


def _waits(world: World, key: str) -> JsonObject:
    condition = world.workloads[key].condition("QuotaReserved")
    return {
        "workload": key,
        "priority": world.workloads[key].priority,
        "reason": condition.reason if condition is not None else "",
        "message": condition.message if condition is not None else "",
    }


def show_queue(plain: JsonObject, console: Console) -> None:
    """Print that for people."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

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
