"""The walk over a queue's flavors for each pod set of a workload (kueue-semantics §5)."""

from collections.abc import Mapping

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import add
from events.quantity import from_units
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.mode import (
    Granular,
    Oracle,
    lowest_that_fits,
    may_preempt_while_borrowing,
    preferred,
    stops_search,
)
from projections.flavors.plan import NO_MATCHING_FLAVOR, GroupPlan, Plan, PodSetsPlan, unsuitable_attempt
from projections.quota_columns import Column, FlavorResource
from projections.quota_node import Node

EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
WAITING_FOR_QUOTA = "WaitingForQuota"

_SEVERITY = {NO_MATCHING_FLAVOR: 3, EXCEEDS_MAX_QUOTA: 2, WAITING_FOR_QUOTA: 1, "": 0}


class FlavorSearchSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What a search looks at: the plan, the queue's node in the quota tree, and who could make room."""

    plan: Plan
    node: Node
    names: list[FlavorResource]
    oracle: Oracle
    fair: bool = False
    progress: Mapping[tuple[str, str], int] = {}
    """Index of the last flavor tried, by pod set and resource; the search goes on behind it."""
    pinned: Mapping[tuple[str, str], str] = {}
    """Flavors that an earlier nomination of the cycle fixed, by pod set and resource."""
    caps: Mapping[Column, int] = {}
    """What the cards of a flavor really offer, where its policy is `Cap`."""
    excluded: Mapping[tuple[str, str], str] = {}
    """Flavors that fit by quota but where placement failed, by pod set and flavor, and why."""


def assign(space: FlavorSearchSpace) -> Assignment:
    """Find flavors for every pod set; those that share a pod set group get the same."""
    plan = space.plan
    assignment = Assignment(
        pod_sets=[
            PodSetChoice(name=one.pod_set.name, count=one.count, requests=requests, flavors={}, reasons=[])
            for one, requests in zip(plan.asked, plan.requests, strict=True)
        ],
        usage={},
        attempts=[],
    )
    for part in plan.parts:
        _assign_part(space, assignment, part, [assignment.pod_sets[i] for i in part.indexes])
    return assignment


def refusal_reason(assignment: Assignment) -> str:
    """The reason of a refusal: per resource group the flavor closest to fitting, over all groups the worst."""
    worst = ""
    for pod_set in assignment.pod_sets:
        worst = worse(worst, pod_set.failed)
    return worst or WAITING_FOR_QUOTA


def _assign_part(
    space: FlavorSearchSpace, assignment: Assignment, part: PodSetsPlan, members: list[PodSetChoice]
) -> None:
    groups = part.groups[: part.before_uncovered] if part.uncovered else part.groups
    charged: dict[str, tuple[Column, int]] = {}
    for group in groups:
        found, reasons, failed = _find_flavor(space, assignment, part, group)
        for member in members:
            _settle(member, found, reasons, failed)
        if found is None:
            continue
        for name, amount, column in zip(
            group.resources, group.amounts, _columns_of(group, found[group.resources[0]].flavor), strict=True
        ):
            charged[name] = (column, amount)
            assignment.borrow = max(assignment.borrow, found[name].borrow)
    for column, amount in charged.values():
        assignment.usage[column] = add(assignment.usage.get(column, 0), amount)
    if len(part.names) > 1:
        assignment.attempts.extend(for_the_others(assignment.attempts, part))
    if part.uncovered:
        for member in members:
            member.reasons.append(f"resource {part.uncovered} unavailable in ClusterQueue")
            member.failed = NO_MATCHING_FLAVOR


def _settle(member: PodSetChoice, found: dict[str, FlavorChoice] | None, reasons: list[str], failed: str) -> None:
    member.reasons.extend(reasons)
    if _SEVERITY[failed] > _SEVERITY[member.failed]:
        member.failed = failed
    if found is not None:
        member.flavors.update({name: choice for name, choice in found.items() if name in member.requests})


def for_the_others(attempts: list[FlavorAttempt], part: PodSetsPlan) -> list[FlavorAttempt]:
    """The attempts of a pod set group, which are told of its first pod set, for the other ones."""
    told = [attempt for attempt in attempts if attempt.pod_set == part.names[0]]
    return [msgspec.structs.replace(attempt, pod_set=name) for name in part.names[1:] for attempt in told]


def _columns_of(group: GroupPlan, flavor: str) -> tuple[Column, ...]:
    return next(option.columns for option in group.options if option.flavor == flavor)


def _find_flavor(
    space: FlavorSearchSpace, assignment: Assignment, part: PodSetsPlan, group: GroupPlan
) -> tuple[dict[str, FlavorChoice] | None, list[str], str]:
    pod_set, first, last = part.names[0], group.resources[0], len(group.options) - 1
    fungibility = space.plan.queue.fungibility
    start = max((space.progress.get((name, first), -1) for name in part.names), default=-1) + 1
    if start > last:
        start = 0  # The list has become shorter since.
    best: dict[str, FlavorChoice] | None = None
    best_granular = Granular(Mode.NO_FIT)
    reasons: list[str] = []
    least, tried = "", -1
    for index in range(start, len(group.options)):
        option = group.options[index]
        tried = index
        if space.pinned.get((pod_set, first), option.flavor) != option.flavor:
            reasons.append(
                f"skipping flavor {option.flavor} as it is not found in the nomination mapping for resource {first}"
            )
            continue
        barred = option.unsuitable or _excluded(space, part, option.flavor)
        if barred:
            reasons.append(barred)
            least = milder(least, NO_MATCHING_FLAVOR)
            assignment.attempts.append(unsuitable_attempt(pod_set, msgspec.structs.replace(option, unsuitable=barred)))
            continue
        granular, choices, failed = _try(space, assignment, pod_set, group, index, reasons)
        if failed:
            least = milder(least, failed)
        if stops_search(granular, fungibility):
            best, best_granular = choices, granular
            break
        if preferred(granular, best_granular, fungibility):
            best, best_granular = choices, granular
    if best is None or best_granular.mode is Mode.NO_FIT:
        return None, reasons, least or NO_MATCHING_FLAVOR
    if 0 <= tried < last:
        best = {resource: msgspec.structs.replace(choice, tried=tried) for resource, choice in best.items()}
    return best, [] if best_granular.mode is Mode.FIT else reasons, ""


def _excluded(space: FlavorSearchSpace, part: PodSetsPlan, flavor: str) -> str:
    if not space.excluded:
        return ""
    return next((space.excluded[name, flavor] for name in part.names if (name, flavor) in space.excluded), "")


def worse(left: str, right: str) -> str:
    """Of two reasons why something fails the worse one."""
    return right if _SEVERITY[right] > _SEVERITY[left] else left


def milder(left: str, right: str) -> str:
    """Of two reasons why flavors fail the one that is closer to fitting."""
    if not left:
        return right
    return left if _SEVERITY[left] <= _SEVERITY[right] else right


def _try(
    space: FlavorSearchSpace,
    assignment: Assignment,
    pod_set: str,
    group: GroupPlan,
    index: int,
    reasons: list[str],
) -> tuple[Granular, dict[str, FlavorChoice], str]:
    option = group.options[index]
    worst = Granular(Mode.FIT)
    choices: dict[str, FlavorChoice] = {}
    failed = ""
    level = 0
    for resource, amount, column in zip(group.resources, group.amounts, option.columns, strict=True):
        assumed = assignment.usage.get(column, 0)
        granular, reason, message = _fits(space, column, assumed, amount)
        if message:
            reasons.append(message)
        assignment.attempts.append(_attempt(space, pod_set, column, assumed + amount, granular, reason, message))
        if preferred(worst, granular, space.plan.queue.fungibility):
            worst = granular
        if granular.mode is Mode.NO_FIT:
            return Granular(Mode.NO_FIT), {}, reason if _SEVERITY[reason] > _SEVERITY[failed] else failed
        level = max(level, granular.borrow)
        choices[resource] = FlavorChoice(flavor=option.flavor, mode=granular.mode, borrow=granular.borrow)
    return Granular(worst.mode, level), choices, failed


def _fits(space: FlavorSearchSpace, column: Column, assumed: int, asked: int) -> tuple[Granular, str, str]:
    """Whether a resource fits (kueue-semantics §5.3), the reason if it never will or not now, and the message."""
    node = space.node
    value = assumed + asked
    available = node.available(column)
    cap = space.caps.get(column)
    if cap is not None and value > cap:
        flavor, resource = space.names[column]
        message = (
            f"the cards of flavor {flavor} offer {from_units(resource, cap)} of {resource}, fewer than the "
            f"{from_units(resource, value)} asked for"
        )
        return Granular(Mode.NO_FIT), EXCEEDS_MAX_QUOTA, message
    if value <= available:
        return Granular(Mode.FIT, lowest_that_fits(node, column, value)[0]), "", ""
    flavor, resource = space.names[column]
    potential = node.potential(column)
    if value > potential:
        message = (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
            f"({from_units(resource, assumed)}) + current podset request ({from_units(resource, asked)}) > maximum "
            f"capacity ({from_units(resource, potential)})"
        )
        return Granular(Mode.NO_FIT), EXCEEDS_MAX_QUOTA, message
    level, may_reclaim = lowest_that_fits(node, column, value)
    missing = value - available
    message = (
        f"insufficient unused quota for {resource} in flavor {flavor}, {from_units(resource, missing)} more needed"
    )
    rules = space.plan.queue.preemption
    if node.nominal[column] >= value or may_reclaim or may_preempt_while_borrowing(rules, fair=space.fair):
        granular = space.oracle(column, value)
        return granular, WAITING_FOR_QUOTA if granular.mode is Mode.NO_FIT else "", message
    return Granular(Mode.NO_FIT, level), WAITING_FOR_QUOTA, message


def _attempt(
    space: FlavorSearchSpace,
    pod_set: str,
    column: Column,
    asked: int,
    granular: Granular,
    reason: str,
    message: str,
) -> FlavorAttempt:
    flavor, resource = space.names[column]
    available = space.node.available(column)
    return FlavorAttempt(
        pod_set=pod_set,
        flavor=flavor,
        resource=resource,
        mode=granular.mode,
        reason=reason,
        message=message,
        asked=asked,
        available=available,
        missing=max(asked - available, 0),
        potential=space.node.potential(column),
        borrow_level=granular.borrow,
    )
