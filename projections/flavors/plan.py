"""The part of a flavor search that does not depend on usage: suited flavors, columns, amounts.

A plan depends on the queue's definition, the flavors and what is asked, not on usage: it is made once for all workloads
of a class in a queue (docs/rules/flavors.md#one-flavor).
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import Requests, add
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, Fungibility, ResourceGroup
from events.settings import QuotaCheckStrategy
from projections.flavors.refusal import NO_MATCHING_FLAVOR
from projections.flavors.suitability import FlavorSuitability, PlanRules, asks_for_topology, only_topology
from projections.quota.columns import Column
from projections.quota.tree import QuotaTree

_PLANS_AT_MOST = 20_000


class PodSetRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod set as it is tried: with this count and these total requests."""

    pod_set: PodSet
    count: int
    requests: Requests
    held: "HeldBefore | None" = None
    """What the pod set of the slice holds that this one replaces."""


class HeldBefore(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a pod set of a slice holds whose place another one takes: only the difference is asked for, on the same flavors.

    Rule: docs/rules/elastic.md#difference
    """

    usage: Requests
    flavors: Mapping[str, str]
    """By resource."""


class FlavorOption(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One flavor of a resource group, for one group of pod sets."""

    flavor: str
    columns: tuple[Column, ...]
    topology: bool = False
    """It places pods by topology."""
    unsuitable: str = ""
    """Why these pods may not run on it, whatever the quota."""
    elsewhere: bool = False
    """That is because pods of the slice before run on another: Kueue says so for each resource."""


class GroupPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The resources of one resource group that are asked for together, and the flavors that could serve them."""

    resources: tuple[str, ...]
    amounts: tuple[int, ...]
    options: tuple[FlavorOption, ...]


class PodSetsPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Pod sets that get the same flavors: those of a pod set group, or one alone."""

    indexes: tuple[int, ...]
    names: tuple[str, ...]
    groups: tuple[GroupPlan, ...]
    uncovered: str = ""
    """A resource that no group of the queue covers."""
    before_uncovered: int = 0
    """How many of the groups come before it in the order in which resources are looked at."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What flavors are searched for: the queue, what each pod set asks of it, and which pod sets must get the same flavor."""

    queue: ClusterQueueObserved
    asked: tuple[PodSetRequest, ...]
    requests: tuple[Requests, ...]
    """Per pod set what is counted: resources that the queue ignores are left out."""
    parts: tuple[PodSetsPlan, ...]
    by_topology: tuple[bool, ...] = ()
    """Per pod set whether its pods are placed by topology: they ask for it, or the queue has only flavors of that kind."""
    problem: str = ""
    """Why the API server would reject these pods, whatever the quota."""
    fungibility: Fungibility | None = None
    """How the search goes on from one flavor to the next; None where all are tried until one fits."""


class PlanCache:
    """Plans by cluster queue and class of workloads, beside the state and never a part of it: one made again would be the same."""

    __slots__ = ("plans",)

    def __init__(self) -> None:
        self.plans: dict[tuple[str, str], Plan] = {}

    def keep(self, key: tuple[str, str], plan: Plan) -> None:
        """Keep a plan; when there are too many, begin anew."""
        if len(self.plans) >= _PLANS_AT_MOST:
            self.plans.clear()
        self.plans[key] = plan

    def clear(self) -> None:
        """Something that plans are made from has changed."""
        self.plans.clear()


def plan_of(
    quota: QuotaTree,
    queue: ClusterQueueObserved,
    flavors: Mapping[str, FlavorObserved],
    asked: Sequence[PodSetRequest],
    rules: PlanRules,
    *,
    problem: str = "",
) -> Plan:
    """Lay out the search for these pod sets in a queue."""
    if queue.undeclared is QuotaCheckStrategy.IGNORE_UNDECLARED:
        rules = msgspec.structs.replace(rules, ignore_undeclared=True)
    requests = [dict(one.requests) for one in asked]
    beyond = beyond_the_slice_before(asked)
    parts: list[PodSetsPlan] = []
    done: set[int] = set()
    for index in range(len(asked)):
        if index in done:
            continue
        members = _group_of(asked, index)
        done.update(members)
        parts.append(_part(quota, queue, flavors, asked, members, requests, beyond, rules))
    implied = only_topology(queue, flavors)
    return Plan(
        queue=queue,
        asked=tuple(asked),
        requests=tuple(
            one.requests if counted == one.requests else counted for one, counted in zip(asked, requests, strict=True)
        ),
        parts=tuple(parts),
        by_topology=tuple(rules.topology and (implied or asks_for_topology(one.pod_set.topology)) for one in asked),
        problem=problem,
        fungibility=queue.fungibility if rules.fungibility else None,
    )


def beyond_the_slice_before(asked: Sequence[PodSetRequest]) -> list[Requests]:
    """By pod set, what has to fit: what some give back of a flavor serves those that ask for more of it, in whatever order they are.

    Rule: docs/rules/elastic.md#difference
    """
    back: dict[tuple[str, str], int] = {}
    for one in asked:
        if one.held is None:
            continue
        for resource, had in one.held.usage.items():
            place = (one.held.flavors.get(resource, ""), resource)
            back[place] = back.get(place, 0) + max(had - one.requests.get(resource, 0), 0)
    return [one.requests if one.held is None else _more_than_held(one.requests, one.held, back) for one in asked]


def _more_than_held(requests: Requests, held: HeldBefore, back: dict[tuple[str, str], int]) -> Requests:
    found: Requests = {}
    for resource, amount in requests.items():
        more, place = max(amount - held.usage.get(resource, 0), 0), (held.flavors.get(resource, ""), resource)
        served = min(more, back.get(place, 0))
        if served:
            back[place] -= served
        found[resource] = more - served
    return found


def unsuitable_attempt(pod_set: str, option: FlavorOption) -> FlavorAttempt:
    """What is recorded of a flavor that these pods may not run on."""
    return FlavorAttempt(
        pod_set=pod_set,
        flavor=option.flavor,
        mode=Mode.NO_FIT,
        reason=NO_MATCHING_FLAVOR,
        message=option.unsuitable,
    )


def _part(
    quota: QuotaTree,
    queue: ClusterQueueObserved,
    flavors: Mapping[str, FlavorObserved],
    asked: Sequence[PodSetRequest],
    members: list[int],
    requests: list[Requests],
    beyond: Sequence[Requests],
    rules: PlanRules,
) -> PodSetsPlan:
    total: Requests = {}
    for index in members:
        for resource, amount in beyond[index].items():
            total[resource] = add(total.get(resource, 0), amount)
    groups: list[GroupPlan] = []
    settled: set[str] = set()
    uncovered, before = "", 0
    for resource in sorted(total):
        if resource in settled:
            continue
        group = next((group for group in queue.groups if resource in group.resources), None)
        if group is not None:
            wanted = sorted(name for name in group.resources if name in total)
            settled.update(wanted)
            pod_sets = [asked[i].pod_set for i in members]
            suits = FlavorSuitability(flavors, queue, pod_sets, wanted, group.resources, rules)
            held = _flavors_before([asked[i] for i in members], wanted)
            groups.append(_group_plan(quota, group, wanted, total, suits, held))
        elif rules.ignore_undeclared:
            for index in members:
                requests[index].pop(resource, None)
        elif total[resource] == 0:
            continue
        elif not uncovered:
            uncovered, before = resource, len(groups)
    return PodSetsPlan(
        indexes=tuple(members),
        names=tuple(asked[i].pod_set.name for i in members),
        groups=tuple(groups),
        uncovered=uncovered,
        before_uncovered=before,
    )


def _group_plan(
    quota: QuotaTree,
    group: ResourceGroup,
    wanted: list[str],
    total: Requests,
    suits: FlavorSuitability,
    held: Sequence[str],
) -> GroupPlan:
    return GroupPlan(
        resources=tuple(wanted),
        amounts=tuple(total[name] for name in wanted),
        options=tuple(_option(quota, quotas, wanted, suits, held) for quotas in group.flavors),
    )


def _option(
    quota: QuotaTree, quotas: FlavorQuotas, wanted: Sequence[str], suits: FlavorSuitability, held: Sequence[str]
) -> FlavorOption:
    obstacle = suits.obstacle(quotas)
    other = "" if obstacle else _another_than_before(quotas.flavor, held)
    return FlavorOption(
        flavor=quotas.flavor,
        columns=tuple(quota.column(quotas.flavor, name) for name in wanted),
        topology=suits.has_topology(quotas.flavor),
        unsuitable=obstacle or other,
        elsewhere=bool(other),
    )


def _flavors_before(asked: Sequence[PodSetRequest], wanted: Sequence[str]) -> list[str]:
    """The flavors that these resources have in the slice that is replaced."""
    found = {one.held.flavors[name]: None for one in asked if one.held for name in wanted if name in one.held.flavors}
    return list(found)


def _another_than_before(flavor: str, before: Sequence[str]) -> str:
    """Why pods may not use a flavor beside those that run on another one already."""
    other = next((one for one in before if one != flavor), "")
    return f"could not assign {flavor} flavor since the original workload is assigned: {other}" if other else ""


def _group_of(asked: Sequence[PodSetRequest], index: int) -> list[int]:
    topology = asked[index].pod_set.topology
    name = topology.pod_set_group if topology is not None else ""
    if not name:
        return [index]
    return [
        i
        for i, one in enumerate(asked)
        if one.pod_set.topology is not None and one.pod_set.topology.pod_set_group == name
    ]
