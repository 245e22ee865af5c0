"""The walk over a queue's flavors for each pod set of a workload (docs/rules/flavors.md#one-flavor)."""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import Requests, add
from events.quantity import from_units
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.considered import considered_flavors
from projections.flavors.mode import (
    Granular,
    Oracle,
    least_preferred,
    lowest_that_fits,
    may_preempt_while_borrowing,
    preferred,
    stops_search,
)
from projections.flavors.plan import FlavorOption, GroupPlan, Plan, PodSetsPlan, unsuitable_attempt
from projections.flavors.refusal import EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR, WAITING_FOR_QUOTA, reported_reason
from projections.quota.columns import Column, FlavorResource
from projections.quota.node import Node


class FlavorSearchSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What a search looks at: the plan, the queue's node in the quota tree, and how preemption could free quota."""

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


class FlavorFound(msgspec.Struct, frozen=True):
    """What the walk over the flavors of a resource group comes to."""

    choices: dict[str, FlavorChoice] | None
    """The best flavor, by resource; None when no flavor can serve."""
    reasons: list[str]
    """Why the flavors that were tried don't simply fit; none where the best one does."""


class FlavorTry(msgspec.Struct, frozen=True):
    """How one flavor serves all resources of a group."""

    granular: Granular
    """Those of the resource that it suits worst."""
    choices: dict[str, FlavorChoice]


class ResourceTry(msgspec.Struct, frozen=True, gc=False):
    """How one flavor serves one resource."""

    granular: Granular
    reason: str = ""
    """Why it never will, or not now; empty where it fits, or where preemption decides."""
    message: str = ""


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
    over = False
    for part in plan.parts:
        members = [assignment.pod_sets[i] for i in part.indexes]
        if over:
            _try_all(space, assignment, part, members)
        else:
            _assign_part(space, assignment, part, members)
            over = any(member.failed for member in members)
    return assignment


def refusal_reason(assignment: Assignment) -> str:
    """The reason of a refusal: that of the first resource group that no flavor can serve, of the flavor closest to it."""
    return next((one.failed for one in assignment.pod_sets if one.failed), "") or WAITING_FOR_QUOTA


def _assign_part(
    space: FlavorSearchSpace, assignment: Assignment, part: PodSetsPlan, members: list[PodSetChoice]
) -> None:
    """Find flavors group by group. The first that fails is reported for these pod sets, as Kueue looks no further."""
    chosen: list[tuple[GroupPlan, dict[str, FlavorChoice]]] = []
    reasons: list[str] = []
    failed, begin = "", len(assignment.attempts)
    for group in part.groups[: part.before_uncovered] if part.uncovered else part.groups:
        found = _find_flavor(space, assignment, part, group)
        if failed:
            continue  # Only for the record of what was tried.
        if found.choices is None:
            reasons, failed = found.reasons, reported_reason(space.plan.queue, _failing(assignment.attempts[begin:]))
        else:
            reasons.extend(found.reasons)
            chosen.append((group, found.choices))
    if part.uncovered and not failed:
        reasons = [f"resource {part.uncovered} unavailable in ClusterQueue"]
        failed = reported_reason(space.plan.queue, _failing(assignment.attempts[begin:]), NO_MATCHING_FLAVOR)
    for member in members:
        member.reasons, member.failed = list(reasons), failed
    if not failed:
        _charge(assignment, members, chosen)
    assignment.attempts.extend(for_the_others(assignment.attempts, part))


def _failing(attempts: Sequence[FlavorAttempt]) -> dict[str, str]:
    """The flavors that can't serve, by name, and why."""
    return {one.flavor: one.no_fit_reason for one in considered_flavors(attempts) if one.mode is Mode.NO_FIT}


def _charge(
    assignment: Assignment, members: list[PodSetChoice], chosen: list[tuple[GroupPlan, dict[str, FlavorChoice]]]
) -> None:
    """The pod sets get these flavors, and what follows is tried behind them."""
    charged: dict[str, tuple[Column, int]] = {}
    for group, found in chosen:
        for member in members:
            member.flavors.update(choices_of(group, found, member.requests))
        columns = _option_of(group, next(iter(found.values())).flavor).columns
        for name, amount, column in zip(group.resources, group.amounts, columns, strict=True):
            charged[name] = (column, amount)
            assignment.borrow = max(assignment.borrow, found[name].borrow)
    for column, amount in charged.values():
        assignment.usage[column] = add(assignment.usage.get(column, 0), amount)


def _try_all(space: FlavorSearchSpace, assignment: Assignment, part: PodSetsPlan, members: list[PodSetChoice]) -> None:
    """Pod sets behind one that fits nowhere: nothing is assigned to them, and only the record says what was tried."""
    for member in members:
        member.reached = False
    for group in part.groups:
        _find_flavor(space, assignment, part, group)
    assignment.attempts.extend(for_the_others(assignment.attempts, part))


def for_the_others(attempts: list[FlavorAttempt], part: PodSetsPlan) -> list[FlavorAttempt]:
    """The attempts of a pod set group, which are recorded for its first pod set, as those of the other ones."""
    return [
        msgspec.structs.replace(attempt, pod_set=name)
        for name in part.names[1:]
        for attempt in attempts
        if attempt.pod_set == part.names[0]
    ]


def choices_of(group: GroupPlan, found: Mapping[str, FlavorChoice], requests: Requests) -> dict[str, FlavorChoice]:
    """The flavors of a resource group that a pod set gets for what it asks for.

    A leader that asks for nothing gets those of its workers that have a topology: it lies in their midst. Alone it would
    ask of no group.
    """
    if requests or not _option_of(group, next(iter(found.values())).flavor).topology:
        return {name: choice for name, choice in found.items() if name in requests}
    return dict(found)


def _option_of(group: GroupPlan, flavor: str) -> FlavorOption:
    return next(option for option in group.options if option.flavor == flavor)


def _find_flavor(space: FlavorSearchSpace, assignment: Assignment, part: PodSetsPlan, group: GroupPlan) -> FlavorFound:
    pod_set, first = part.names[0], group.resources[0]
    fungibility = space.plan.fungibility
    start = max(space.progress.get((name, first), -1) for name in part.names) + 1
    if start >= len(group.options):
        start = 0  # The list has become shorter since.
    best: dict[str, FlavorChoice] | None = None
    best_granular = Granular(Mode.NO_FIT)
    reasons: list[str] = []
    for index in range(start, len(group.options)):
        option = group.options[index]
        if space.pinned.get((pod_set, first), option.flavor) != option.flavor:
            reasons.append(
                f"skipping flavor {option.flavor} as it is not found in the nomination mapping for resource {first}"
            )
            continue
        barred = option.unsuitable or _excluded(space, part, option.flavor)
        if barred:
            reasons.extend([barred] * (len(group.resources) if option.elsewhere else 1))
            assignment.attempts.append(unsuitable_attempt(pod_set, msgspec.structs.replace(option, unsuitable=barred)))
            continue
        tried = _try(space, assignment, pod_set, group, index, reasons)
        if stops_search(tried.granular, fungibility):
            last = -1 if option is group.options[-1] or fungibility is None else index
            best = {name: msgspec.structs.replace(choice, tried=last) for name, choice in tried.choices.items()}
            best_granular = tried.granular
            break
        if preferred(tried.granular, best_granular, fungibility):
            best, best_granular = tried.choices, tried.granular
    return FlavorFound(best, [] if best_granular.mode is Mode.FIT else reasons)


def _excluded(space: FlavorSearchSpace, part: PodSetsPlan, flavor: str) -> str:
    return next((space.excluded[name, flavor] for name in part.names if (name, flavor) in space.excluded), "")


def _try(
    space: FlavorSearchSpace,
    assignment: Assignment,
    pod_set: str,
    group: GroupPlan,
    index: int,
    reasons: list[str],
) -> FlavorTry:
    option = group.options[index]
    found: list[Granular] = []
    choices: dict[str, FlavorChoice] = {}
    for resource, amount, column in zip(group.resources, group.amounts, option.columns, strict=True):
        assumed = assignment.usage.get(column, 0)
        tried = _fits(space, column, assumed, amount)
        granular = tried.granular
        if tried.message:
            reasons.append(tried.message)
        assignment.attempts.append(_attempt(space, pod_set, column, assumed + amount, tried))
        if granular.mode is Mode.NO_FIT:
            return FlavorTry(Granular(Mode.NO_FIT), {})
        found.append(granular)
        choices[resource] = FlavorChoice(flavor=option.flavor, mode=granular.mode, borrow=granular.borrow)
    return FlavorTry(least_preferred(found, space.plan.fungibility), choices)


def _fits(space: FlavorSearchSpace, column: Column, assumed: int, asked: int) -> ResourceTry:
    """Whether a resource fits in a flavor, beside what is assumed to be used of it already.

    Rule: docs/rules/flavors.md#modes
    """
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
        return ResourceTry(Granular(Mode.NO_FIT), EXCEEDS_MAX_QUOTA, message)
    if value <= available:
        return ResourceTry(Granular(Mode.FIT, lowest_that_fits(node, column, value).height))
    flavor, resource = space.names[column]
    potential = node.potential(column)
    if value > potential:
        message = (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
            f"({from_units(resource, assumed)}) + current podset request ({from_units(resource, asked)}) > maximum "
            f"capacity ({from_units(resource, potential)})"
        )
        return ResourceTry(Granular(Mode.NO_FIT), EXCEEDS_MAX_QUOTA, message)
    level = lowest_that_fits(node, column, value)
    missing = value - available
    message = (
        f"insufficient unused quota for {resource} in flavor {flavor}, {from_units(resource, missing)} more needed"
    )
    rules = space.plan.queue.preemption
    if node.nominal[column] >= value or level.more_above or may_preempt_while_borrowing(rules, fair=space.fair):
        return ResourceTry(space.oracle(column, value), message=message)
    return ResourceTry(Granular(Mode.NO_FIT, level.height), WAITING_FOR_QUOTA, message)


def _attempt(space: FlavorSearchSpace, pod_set: str, column: Column, asked: int, tried: ResourceTry) -> FlavorAttempt:
    flavor, resource = space.names[column]
    available = space.node.available(column)
    return FlavorAttempt(
        pod_set=pod_set,
        flavor=flavor,
        resource=resource,
        mode=tried.granular.mode,
        reason=tried.reason,
        message=tried.message,
        asked=asked,
        available=available,
        missing=max(asked - available, 0),
        potential=space.node.potential(column),
        borrow_level=tried.granular.borrow,
    )
