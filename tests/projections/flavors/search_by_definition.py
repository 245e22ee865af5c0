"""The flavors that a workload gets, by docs/rules/flavors.md alone: every flavor is judged, then the best is taken.

Quota is asked of the definitions of the quota tree, and who could make room of a table.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from events.admission import Mode
from events.quota import (
    ClusterQueueObserved,
    FlavorPreference,
    FlavorSearch,
    PreemptionPolicy,
    ResourceGroup,
)
from tests.projections.quota.by_definition import ByDefinition, Item, Place

ORDER = (Mode.NO_FIT, Mode.NO_CANDIDATES, Mode.PREEMPT, Mode.RECLAIM, Mode.FIT)
SEVERITY = ("WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor")


class Judged(NamedTuple):
    """How well a flavor suits one resource, or several; and why it does not."""

    mode: Mode
    borrow: int = 0
    why: str = ""


class Given(NamedTuple):
    """What one pod set gets of one resource."""

    flavor: str
    mode: Mode
    borrow: int
    tried: int


class Asked(NamedTuple):
    """One pod set: its name, what it asks for, and the group of pod sets that it gets the same flavors with."""

    name: str
    requests: dict[str, int]
    group: str = ""


class Conditions(NamedTuple):
    """What else counts besides quota."""

    fair: bool
    room: Mapping[tuple[Item, int], Judged]
    """Who could make room for so much of a flavor's resource."""
    unsuitable: frozenset[str]
    excluded: frozenset[tuple[str, str]]
    """Pod sets and flavors."""
    pinned: Mapping[tuple[str, str], str]
    progress: Mapping[tuple[str, str], int]
    caps: Mapping[Item, int]


class Found(NamedTuple):
    """What comes out: per pod set the flavors, or the reason why there are none; and what is used of each."""

    given: list[dict[str, Given]]
    failed: list[str]
    reached: list[bool]
    """No pod set before it fits nowhere."""
    usage: dict[Item, int]
    borrow: int


class SearchByDefinition:
    """One search in a queue."""

    def __init__(self, tree: ByDefinition, queue: ClusterQueueObserved, at: Conditions) -> None:
        self.tree, self.queue, self.at = tree, queue, at
        self.here: Place = ("queue", queue.name)
        self.usage: dict[Item, int] = {}

    def search(self, asked: Sequence[Asked]) -> Found:
        found = Found([{} for _ in asked], ["" for _ in asked], [False for _ in asked], self.usage, 0)
        done: set[int] = set()
        over = False
        for index, one in enumerate(asked):
            if index in done or over:
                continue
            members = [i for i, other in enumerate(asked) if other.group == one.group] if one.group else [index]
            done.update(members)
            failed = self.together([asked[i] for i in members], [found.given[i] for i in members])
            for i in members:
                found.failed[i], found.reached[i] = failed, True
            over = bool(failed)
        borrow = max((one.borrow for given in found.given for one in given.values()), default=0)
        return found._replace(borrow=borrow)

    def together(self, members: Sequence[Asked], given: Sequence[dict[str, Given]]) -> str:
        """Find flavors for pod sets that get the same; the reason if there are none for one of the groups of resources."""
        total: dict[str, int] = {}
        for one in members:
            for resource, amount in one.requests.items():
                total[resource] = total.get(resource, 0) + amount
        chosen: dict[str, Given] = {}
        mildest: dict[str, str] = {}
        for group in self.groups_in_order(total):
            wanted = {resource: total[resource] for resource in sorted(group.resources) if resource in total}
            best, why = self.best_of(group, wanted, [one.name for one in members])
            mildest |= why
            if best is None:
                return self.worst(mildest)
            chosen |= best
        for resource, one in chosen.items():
            item = (one.flavor, resource)
            self.usage[item] = self.usage.get(item, 0) + total[resource]
        for one, into in zip(members, given, strict=True):
            into.update({resource: choice for resource, choice in chosen.items() if resource in one.requests})
        return ""

    def groups_in_order(self, total: Mapping[str, int]) -> list[ResourceGroup]:
        asked = [group for group in self.queue.groups if any(resource in total for resource in group.resources)]
        return sorted(asked, key=lambda group: min(resource for resource in group.resources if resource in total))

    def worst(self, why: Mapping[str, str]) -> str:
        """Of every group of resources the mildest reason, of these the worst (docs/rules/flavors.md#refusal-reason)."""
        groups = [[why[one.flavor] for one in group.flavors if one.flavor in why] for group in self.queue.groups]
        told = [min(reasons, key=SEVERITY.index) for reasons in groups if reasons]
        return max(told, key=SEVERITY.index, default="NoMatchingFlavor")

    def best_of(
        self, group: ResourceGroup, wanted: Mapping[str, int], names: Sequence[str]
    ) -> tuple[dict[str, Given] | None, dict[str, str]]:
        flavors = [one.flavor for one in group.flavors]
        first = min(wanted)
        start = max(self.at.progress.get((name, first), -1) for name in names) + 1
        why: dict[str, str] = {}
        judged: list[tuple[Judged, dict[str, Given]]] = []
        for index in range(start if start < len(flavors) else 0, len(flavors)):
            flavor = flavors[index]
            if self.at.pinned.get((names[0], first), flavor) != flavor:
                continue
            if flavor in self.at.unsuitable or any((name, flavor) in self.at.excluded for name in names):
                why[flavor] = "NoMatchingFlavor"
                continue
            found, given = self.judge(flavor, wanted)
            if found.mode is Mode.NO_FIT:
                why[flavor] = found.why
            elif self.ends(found):
                tried = index if index + 1 < len(flavors) else -1
                return {resource: one._replace(tried=tried) for resource, one in given.items()}, why
            else:
                judged.append((found, given))
        if not judged:
            return None, why
        return max(judged, key=lambda one: self.rank(one[0]))[1], why

    def judge(self, flavor: str, wanted: Mapping[str, int]) -> tuple[Judged, dict[str, Given]]:
        """All resources on one flavor: as well as the one that suits worst; where borrowing counts first, as high as the one that borrows highest.

        Rule: docs/rules/flavors.md#modes
        """
        single: dict[str, Judged] = {}
        for resource, amount in wanted.items():
            single[resource] = self.fits((flavor, resource), self.usage.get((flavor, resource), 0) + amount)
            if single[resource].mode is Mode.NO_FIT:
                return single[resource], {}
        given = {resource: Given(flavor, one.mode, one.borrow, -1) for resource, one in single.items()}
        worst = min((one.mode for one in single.values()), key=ORDER.index)
        if self.queue.fungibility.preference is FlavorPreference.PREEMPTION_OVER_BORROWING:
            return Judged(worst, max(one.borrow for one in single.values())), given
        return Judged(worst, max(one.borrow for one in single.values() if one.mode is worst)), given

    def fits(self, item: Item, value: int) -> Judged:
        tree, here = self.tree, self.here
        cap = self.at.caps.get(item)
        if value > tree.potential(here, item) or (cap is not None and value > cap):
            return Judged(Mode.NO_FIT, 0, "ExceedsMaxQuota")
        level, more_above = tree.lowest_that_fits(here, item, value)
        if value <= tree.available(here, item):
            return Judged(Mode.FIT, level)
        if tree.nominal(here, item) >= value or more_above or self.preempts_while_borrowing():
            return self.at.room[item, value]
        return Judged(Mode.NO_FIT, level, "WaitingForQuota")

    def preempts_while_borrowing(self) -> bool:
        rules, never = self.queue.preemption, PreemptionPolicy.NEVER
        if self.at.fair:
            return rules.reclaim_within_cohort is not never or rules.reclaim_left_out
        return rules.borrow_within_cohort is not None and rules.borrow_within_cohort.policy is not never

    def ends(self, one: Judged) -> bool:
        """Whether no further flavor is tried (docs/rules/flavors.md#when-can-borrow)."""
        rules, go_on = self.queue.fungibility, FlavorSearch.TRY_NEXT_FLAVOR
        if one.mode is Mode.NO_CANDIDATES or (one.borrow and rules.when_can_borrow is go_on):
            return False
        return one.mode is Mode.FIT or rules.when_can_preempt is not go_on

    def rank(self, one: Judged) -> tuple[object, ...]:
        mode = ORDER.index(one.mode)
        if self.queue.fungibility.preference is FlavorPreference.PREEMPTION_OVER_BORROWING:
            return one.mode is not Mode.NO_CANDIDATES, -one.borrow, mode
        return mode, -one.borrow
