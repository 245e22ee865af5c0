"""The smallest raise of a queue's own quota that admits a workload: found by trying, and taken back each time.

Workloads before it in the queue would get the new quota first, and so would borrowers of the whole tree. So it can't be
calculated: a raise is folded, all deciders decide, and what counts is whether the workload holds quota then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from events.quota import ClusterQueueObserved
from projections.explanation.words import Raise
from projections.flavors.plan import Plan
from projections.quota.columns import FlavorResource
from projections.quota.node import Node

Amounts = Mapping[FlavorResource, int]
Admits = Callable[[ClusterQueueObserved], bool]
"""Whether the workload holds quota after its queue was observed so; the world is as it was afterwards."""
GoesOn = Callable[[], bool]
"""Whether there is time for one trial more; without it the smallest raise so far is the answer."""
_DOUBLED = 8
_TRIALS = 120


class Trials:
    """Tries raises, and counts the trials: one answer may take only so many."""

    def __init__(self, queue: ClusterQueueObserved, admits: Admits, goes_on: GoesOn) -> None:
        self._queue, self._admits, self._goes_on = queue, admits, goes_on
        self.left = _TRIALS

    def let_in(self, amounts: Amounts) -> bool:
        """Whether this raise admits the workload; False as well once there were too many trials."""
        if self.left <= 0 or not self._goes_on():
            self.left = 0
            return False
        self.left -= 1
        return self._admits(raised(self._queue, amounts))


def raises(
    queue: ClusterQueueObserved,
    plan: Plan,
    node: Node,
    names: Sequence[FlavorResource],
    ahead: Sequence[Plan],
    admits: Admits,
    goes_on: GoesOn,
) -> Iterator[tuple[Raise, ...]]:
    """For each way to choose flavors the smallest raise found; `ahead` are the plans of those who wait before it."""
    for chosen in _ways(plan):
        own = _missing(plan, node, names, chosen)
        if not own:
            continue
        others = [_asked(one, chosen) for one in ahead]
        found = _smallest(Trials(queue, admits, goes_on), own, others)
        if found:
            yield tuple(
                Raise(
                    cluster_queue=queue.name,
                    flavor=flavor,
                    resource=resource,
                    nominal=nominal_of(queue, flavor, resource),
                    by=amount,
                )
                for (flavor, resource), amount in sorted(found.items())
            )


def raised(queue: ClusterQueueObserved, amounts: Amounts) -> ClusterQueueObserved:
    """The queue with so much more nominal quota."""
    return replace(
        queue,
        groups=tuple(
            replace(
                group,
                flavors=tuple(
                    replace(
                        each,
                        quotas=tuple(
                            replace(one, nominal=one.nominal + amounts.get((each.flavor, one.resource), 0))
                            for one in each.quotas
                        ),
                    )
                    for each in group.flavors
                ),
            )
            for group in queue.groups
        ),
    )


def nominal_of(queue: ClusterQueueObserved, flavor: str, resource: str) -> int:
    """The nominal quota of a cluster queue for one flavor and resource; 0 where it has none."""
    return next(
        (
            one.nominal
            for group in queue.groups
            for each in group.flavors
            if each.flavor == flavor
            for one in each.quotas
            if one.resource == resource
        ),
        0,
    )


def _ways(plan: Plan) -> list[dict[str, str]]:
    """Flavors by resource: for each group one that suits; as many ways as the group with the most flavors has."""
    groups = [group for part in plan.parts for group in part.groups]
    suited = [[option.flavor for option in group.options if not option.unsuitable] for group in groups]
    if not all(suited):
        return []
    most = max((len(flavors) for flavors in suited), default=0)
    found: list[dict[str, str]] = []
    for index in range(most):
        way: dict[str, str] = {}
        for group, flavors in zip(groups, suited, strict=True):
            way.update(dict.fromkeys(group.resources, flavors[min(index, len(flavors) - 1)]))
        if way not in found:
            found.append(way)
    return found


def _asked(plan: Plan, chosen: Mapping[str, str]) -> dict[FlavorResource, int]:
    total: dict[FlavorResource, int] = {}
    for part in plan.parts:
        for group in part.groups:
            for resource, amount in zip(group.resources, group.amounts, strict=True):
                flavor = chosen.get(resource)
                if flavor is not None:
                    total[flavor, resource] = total.get((flavor, resource), 0) + amount
    return total


def _missing(
    plan: Plan, node: Node, names: Sequence[FlavorResource], chosen: Mapping[str, str]
) -> dict[FlavorResource, int]:
    columns = {name: column for column, name in enumerate(names)}
    short = {name: amount - node.available(columns[name]) for name, amount in _asked(plan, chosen).items()}
    return {name: amount for name, amount in short.items() if amount > 0}


def _smallest(trials: Trials, own: dict[FlavorResource, int], ahead: Sequence[Amounts]) -> dict[FlavorResource, int]:
    enough = _enough(trials, own, ahead)
    if enough is None:
        return {}
    before: dict[FlavorResource, int] = {}
    while before != enough and trials.left > 0:
        # Less of one may make less of another enough: those who would have passed by before do not come that far.
        before = dict(enough)
        for name in sorted(enough):
            enough[name] = _least(trials, enough, name)
    return {name: amount for name, amount in enough.items() if amount}


def _least(trials: Trials, enough: Amounts, name: FlavorResource) -> int:
    """The least of one resource that is still enough beside the others."""
    low, high = -1, enough[name]
    if high > 0 and not trials.let_in({**enough, name: high - 1}):
        return high  # Nearly always: what it misses is what it takes.
    while high - low > 1 and trials.left > 0:
        middle = (low + high) // 2
        if trials.let_in({**enough, name: middle}):
            high = middle
        elif trials.left > 0:
            low = middle
    return high


def _enough(trials: Trials, own: Amounts, ahead: Sequence[Amounts]) -> dict[FlavorResource, int] | None:
    """A raise that surely is enough: for the workload, for more and more of those before it, then twice that."""
    counts = [0]
    while counts[-1] < len(ahead):
        counts.append(min(max(counts[-1] * 2, 1), len(ahead)))
    total = dict(own)
    for count in counts:
        total = _sum([own, *ahead[:count]])
        if trials.let_in(total):
            return total
    for _ in range(_DOUBLED):
        total = {name: amount * 2 for name, amount in total.items()}
        if trials.let_in(total):
            return total
    return None


def _sum(several: Sequence[Amounts]) -> dict[FlavorResource, int]:
    total: dict[FlavorResource, int] = {}
    for one in several:
        for name, amount in one.items():
            total[name] = total.get(name, 0) + amount
    return total
