"""The walk over a queue's flavors for each pod set of a workload (kueue-semantics §5)."""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import Requests, add
from events.pod_set import PodSet
from events.quantity import from_units
from events.quota import ClusterQueueObserved, FlavorObserved, QuotaCheckStrategy, ResourceGroup
from projections.flavors.affinity import matches_nodes, untolerated
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.holders import borrowers
from projections.flavors.mode import (
    Granular,
    Oracle,
    lowest_that_fits,
    may_preempt_while_borrowing,
    preferred,
    stops_search,
)
from projections.quota_tree import FlavorResource, Node

NO_MATCHING_FLAVOR = "NoMatchingFlavor"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
WAITING_FOR_QUOTA = "WaitingForQuota"

_SEVERITY = {NO_MATCHING_FLAVOR: 3, EXCEEDS_MAX_QUOTA: 2, WAITING_FOR_QUOTA: 1, "": 0}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One pod set as it is tried: with this count and these total requests."""

    pod_set: PodSet
    count: int
    requests: Requests


class FlavorSearchSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What a search looks at: the queue, its node in the quota tree, the flavors, and who could make room."""

    queue: ClusterQueueObserved
    node: Node
    flavors: Mapping[str, FlavorObserved]
    oracle: Oracle
    fair: bool = False
    ignore_undeclared: bool = False
    progress: Mapping[tuple[str, str], int] = {}
    pinned: Mapping[tuple[str, str], str] = {}
    """Flavors that an earlier nomination of the cycle fixed, by pod set and resource."""
    excluded: Mapping[tuple[str, str], str] = {}
    """Flavors that fit by quota but where placement failed, by pod set and flavor, and why."""


def assign(space: FlavorSearchSpace, asked: Sequence[Asked]) -> Assignment:
    """Find flavors for every pod set; those that share a pod set group get the same."""
    assignment = Assignment(pod_sets=[], usage={}, attempts=[])
    done: set[int] = set()
    choices: dict[int, PodSetChoice] = {}
    for index in range(len(asked)):
        if index in done:
            continue
        group = _group_of(asked, index)
        done.update(group)
        members = [
            PodSetChoice(
                name=asked[i].pod_set.name,
                count=asked[i].count,
                requests=dict(asked[i].requests),
                flavors={},
                reasons=[],
            )
            for i in group
        ]
        _assign_group(space, assignment, [asked[i] for i in group], members)
        choices.update(zip(group, members, strict=True))
    assignment.pod_sets = [choices[i] for i in range(len(asked))]
    return assignment


def refusal_reason(assignment: Assignment) -> str:
    """The reason of a refusal: per resource group the flavor closest to fitting, over all groups the worst."""
    worst = ""
    for pod_set in assignment.pod_sets:
        if _SEVERITY[pod_set.failed] > _SEVERITY[worst]:
            worst = pod_set.failed
    return worst or WAITING_FOR_QUOTA


def _group_of(asked: Sequence[Asked], index: int) -> list[int]:
    topology = asked[index].pod_set.topology
    name = topology.pod_set_group if topology is not None else ""
    if not name:
        return [index]
    return [
        i
        for i, one in enumerate(asked)
        if one.pod_set.topology is not None and one.pod_set.topology.pod_set_group == name
    ]


def _assign_group(  # noqa: C901 - one walk, told in its order
    space: FlavorSearchSpace, assignment: Assignment, asked: list[Asked], members: list[PodSetChoice]
) -> None:
    total: Requests = {}
    for one in asked:
        for resource, amount in one.requests.items():
            total[resource] = add(total.get(resource, 0), amount)
    settled: set[str] = set()
    for resource in sorted(total):
        if resource in settled:
            continue
        group = _covering(space.queue, resource)
        if group is None:
            if total[resource] == 0 or _ignores(space):
                for member in members:
                    member.requests.pop(resource, None)
                continue
            for member in members:
                member.reasons.append(f"resource {resource} unavailable in ClusterQueue")
                member.failed = NO_MATCHING_FLAVOR
            return
        wanted = {name: total[name] for name in group.resources if name in total}
        settled.update(wanted)
        found, reasons, failed = _find_flavor(space, assignment, asked, group, wanted)
        for member in members:
            member.reasons.extend(reasons)
            if _SEVERITY[failed] > _SEVERITY[member.failed]:
                member.failed = failed
            if found is not None:
                member.flavors.update({name: choice for name, choice in found.items() if name in member.requests})
        if found is None:
            continue
        for name, choice in found.items():
            key = (choice.flavor, name)
            assignment.usage[key] = add(assignment.usage.get(key, 0), wanted[name])
            assignment.borrow = max(assignment.borrow, choice.borrow)


def _ignores(space: FlavorSearchSpace) -> bool:
    return space.ignore_undeclared or space.queue.undeclared is QuotaCheckStrategy.IGNORE_UNDECLARED


def _covering(queue: ClusterQueueObserved, resource: str) -> ResourceGroup | None:
    return next((group for group in queue.groups if resource in group.resources), None)


def _find_flavor(  # noqa: C901 - one walk, told in its order
    space: FlavorSearchSpace, assignment: Assignment, asked: list[Asked], group: ResourceGroup, wanted: Requests
) -> tuple[dict[str, FlavorChoice] | None, list[str], str]:
    pod_set = asked[0].pod_set.name
    first = min(wanted)
    keys = frozenset(
        key
        for quotas in group.flavors
        if (known := space.flavors.get(quotas.flavor)) is not None
        for key in known.node_labels
    )
    start = max((space.progress.get((one.pod_set.name, first), -1) for one in asked), default=-1) + 1
    best: dict[str, FlavorChoice] | None = None
    best_granular = Granular(Mode.NO_FIT)
    reasons: list[str] = []
    least = ""
    tried = -1
    for index in range(start, len(group.flavors)):
        name = group.flavors[index].flavor
        pin = space.pinned.get((pod_set, first))
        if pin is not None and pin != name:
            continue
        tried = index
        why = _unsuitable(space, name, asked, keys)
        if why:
            reasons.append(why)
            least = _milder(least, NO_MATCHING_FLAVOR)
            assignment.attempts.append(
                FlavorAttempt(pod_set=pod_set, flavor=name, mode=Mode.NO_FIT, reason=NO_MATCHING_FLAVOR, message=why)
            )
            continue
        granular, choices, failed = _try(space, assignment, pod_set, name, wanted, reasons)
        if failed:
            least = _milder(least, failed)
        if stops_search(granular, space.queue.fungibility):
            best, best_granular = choices, granular
            break
        if preferred(granular, best_granular, space.queue.fungibility):
            best, best_granular = choices, granular
    last = tried if tried < len(group.flavors) - 1 else -1
    if best is None or best_granular.mode is Mode.NO_FIT:
        return None, reasons, least or NO_MATCHING_FLAVOR
    kept = {resource: msgspec.structs.replace(choice, tried=last) for resource, choice in best.items()}
    return kept, [] if best_granular.mode is Mode.FIT else reasons, ""


def _milder(left: str, right: str) -> str:
    if not left:
        return right
    return left if _SEVERITY[left] <= _SEVERITY[right] else right


def _unsuitable(space: FlavorSearchSpace, name: str, asked: list[Asked], keys: frozenset[str]) -> str:
    flavor = space.flavors.get(name)
    if flavor is None:
        return f"flavor {name} not found"
    for one in asked:
        if (one.pod_set.name, name) in space.excluded:
            return space.excluded[(one.pod_set.name, name)]
        taint = untolerated(flavor, one.pod_set.shape)
        if taint is not None:
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {name}"
        if not matches_nodes(flavor, one.pod_set.shape, frozenset(flavor.node_labels)):
            return f"flavor {name} doesn't match node affinity"
    return ""


def _try(
    space: FlavorSearchSpace,
    assignment: Assignment,
    pod_set: str,
    flavor: str,
    wanted: Requests,
    reasons: list[str],
) -> tuple[Granular, dict[str, FlavorChoice], str]:
    worst = Granular(Mode.FIT)
    choices: dict[str, FlavorChoice] = {}
    failed = ""
    for resource in sorted(wanted):
        fr = (flavor, resource)
        assumed = assignment.usage.get(fr, 0)
        granular, reason, message = _fits(space, fr, assumed, wanted[resource])
        if message:
            reasons.append(message)
        assignment.attempts.append(_attempt(space, pod_set, fr, assumed, wanted[resource], granular, reason, message))
        if preferred(worst, granular, space.queue.fungibility):
            worst = granular
        if granular.mode is Mode.NO_FIT:
            failed = reason if _SEVERITY[reason] > _SEVERITY[failed] else failed
            return Granular(Mode.NO_FIT), {}, failed
        choices[resource] = FlavorChoice(flavor=flavor, mode=granular.mode, borrow=granular.borrow)
    level = max((choice.borrow for choice in choices.values()), default=0)
    return Granular(worst.mode, level), choices, failed


def _fits(space: FlavorSearchSpace, fr: FlavorResource, assumed: int, asked: int) -> tuple[Granular, str, str]:
    """Whether a resource fits (kueue-semantics §5.3), the reason if it never will or not now, and the message."""
    node, (flavor, resource) = space.node, fr
    value = assumed + asked
    potential = node.potential(fr)
    if value > potential:
        message = (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
            f"({from_units(resource, assumed)}) + current podset request ({from_units(resource, asked)}) > maximum "
            f"capacity ({from_units(resource, potential)})"
        )
        return Granular(Mode.NO_FIT), EXCEEDS_MAX_QUOTA, message
    level, may_reclaim = lowest_that_fits(node, fr, value)
    available = node.available(fr)
    if value <= available:
        return Granular(Mode.FIT, level), "", ""
    missing = value - available
    message = (
        f"insufficient unused quota for {resource} in flavor {flavor}, {from_units(resource, missing)} more needed"
    )
    own = node.quotas.get(fr)
    nominal = own.nominal if own is not None else 0
    if nominal >= value or may_reclaim or may_preempt_while_borrowing(space.queue.preemption, fair=space.fair):
        granular = space.oracle(fr, value)
        return granular, WAITING_FOR_QUOTA if granular.mode is Mode.NO_FIT else "", message
    return Granular(Mode.NO_FIT, level), WAITING_FOR_QUOTA, message


def _attempt(
    space: FlavorSearchSpace,
    pod_set: str,
    fr: FlavorResource,
    assumed: int,
    asked: int,
    granular: Granular,
    reason: str,
    message: str,
) -> FlavorAttempt:
    return FlavorAttempt(
        pod_set=pod_set,
        flavor=fr[0],
        resource=fr[1],
        mode=granular.mode,
        reason=reason,
        message=message,
        asked=assumed + asked,
        available=space.node.available(fr),
        potential=space.node.potential(fr),
        borrow_level=granular.borrow,
        holders=() if granular.mode is Mode.FIT else borrowers(space.node, fr),
    )
