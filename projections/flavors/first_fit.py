"""The short way through a flavor search: the first suited flavor of every group fits.

It gives the same assignment as the whole search, and the same record of what was tried, without asking who could make room
(docs/rules/flavors.md#when-can-borrow: a flavor that fits ends the search, unless borrowing should try the next one).
"""

import msgspec

from events.admission import FlavorAttempt, Mode
from events.quota import FlavorSearch
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.mode import lowest_that_fits
from projections.flavors.plan import GroupPlan, Plan, unsuitable_attempt
from projections.flavors.search import choices_of, for_the_others
from projections.quota.columns import Column, Usage
from projections.quota.node import Node


def assign_first_fit(plan: Plan, node: Node) -> Assignment | None:
    """The assignment if every group's first suited flavor fits; None when the whole search is needed."""
    usage: Usage = {}
    attempts: list[FlavorAttempt] = []
    chosen: list[dict[str, FlavorChoice]] = [{} for _ in plan.asked]
    borrow = 0
    rules = plan.fungibility
    next_when_borrowing = rules is not None and rules.when_can_borrow is FlavorSearch.TRY_NEXT_FLAVOR
    for part in plan.parts:
        if part.uncovered:
            return None
        charged: dict[str, tuple[Column, int]] = {}
        for group in part.groups:
            choices = _first(group, node, usage, attempts, part.names[0], charged)
            if choices is None:
                return None
            if rules is None:
                choices = {name: msgspec.structs.replace(choice, tried=-1) for name, choice in choices.items()}
            level = max((choice.borrow for choice in choices.values()), default=0)
            if level and next_when_borrowing:
                return None
            borrow = max(borrow, level)
            for index in part.indexes:
                chosen[index].update(choices_of(group, choices, plan.requests[index]))
        for column, amount in charged.values():
            usage[column] = usage.get(column, 0) + amount
        attempts.extend(for_the_others(attempts, part))
    pod_sets = [
        PodSetChoice(name=one.pod_set.name, count=one.count, requests=requests, flavors=flavors, reasons=[])
        for one, requests, flavors in zip(plan.asked, plan.requests, chosen, strict=True)
    ]
    return Assignment(pod_sets=pod_sets, usage=usage, attempts=attempts, borrow=borrow)


def _first(
    group: GroupPlan,
    node: Node,
    usage: Usage,
    attempts: list[FlavorAttempt],
    pod_set: str,
    charged: dict[str, tuple[Column, int]],
) -> dict[str, FlavorChoice] | None:
    for index, option in enumerate(group.options):
        if option.unsuitable:
            attempts.append(unsuitable_attempt(pod_set, option))
            continue
        tried = -1 if option is group.options[-1] else index
        choices: dict[str, FlavorChoice] = {}
        for resource, amount, column in zip(group.resources, group.amounts, option.columns, strict=True):
            value = usage.get(column, 0) + amount
            if value > node.available(column):
                return None
            level = lowest_that_fits(node, column, value).height
            attempts.append(_fitting(pod_set, option.flavor, resource, node, column, value, level))
            choices[resource] = FlavorChoice(flavor=option.flavor, mode=Mode.FIT, borrow=level, tried=tried)
            charged[resource] = (column, amount)
        return choices
    return None


def _fitting(
    pod_set: str, flavor: str, resource: str, node: Node, column: Column, asked: int, level: int
) -> FlavorAttempt:
    return FlavorAttempt(
        pod_set=pod_set,
        flavor=flavor,
        resource=resource,
        mode=Mode.FIT,
        asked=asked,
        available=node.available(column),
        potential=node.potential(column),
        borrow_level=level,
    )
