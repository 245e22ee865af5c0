"""Preemption in random lives: queues in which most may be preempted, and jobs that come ever more important.

Rule: docs/rules/preemption.md
"""

from collections import defaultdict

from msgspec.structs import replace

from events.catalogue import Fact
from events.quota import (
    BorrowWithinCohort,
    ClusterQueueObserved,
    PreemptionPolicy,
    PreemptionRules,
    ResourceGroup,
    StopPolicy,
)
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadSubmitted
from tests.laws.beside import Beside, Happenings
from tests.laws.random_platform import CORES, GPU, MEMORY

_LOWER = PreemptionPolicy.LOWER_PRIORITY
_EQUAL = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY

_SOME = defaultdict(int, {"cpu": 4, GPU: 4, MEMORY: 4 * 32768, CORES: 400})


class Preemption(Beside):
    """Most queues preempt."""

    name = "preemption"
    often = 0.35

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.rising = self.chance.choice((0, 10, 100))
        """So many jobs more, and what comes is more important by one."""
        self.urgent = 0
        """How much more important the next one is than all others."""

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case ClusterQueueObserved() if self.chance.random() < 0.8:
                return replace(
                    fact,
                    preemption=self._rules(),
                    groups=tuple(map(_for_some, fact.groups)),
                    checks=fact.checks if self.chance.random() < 0.3 else (),
                    stop=StopPolicy.NONE,
                    max_concurrent=None,
                )
            case WorkloadSubmitted() | WorkloadChanged():
                more = self.urgent or (self.life.count // self.rising if self.rising else 0)
                return replace(fact, spec=replace(fact.spec, priority=fact.spec.priority + more))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.life.submit, 4), (self.life.leave, 4), (self.withdraw, 2), (self.press, 4))

    def withdraw(self) -> None:
        """Somebody for whom others are to make room is gone, or wants something else."""
        asking = sorted({*self.life.world.requests, *self.life.world.claims})
        if not asking:
            return
        key = self.chance.choice(asking)
        one = self.life.world.workloads.get(key)
        if one is None or self.chance.random() < 0.6:
            self.life.tell(WorkloadDeleted(workload=key))
        else:
            spec = replace(one.spec, priority=0, slice_name="", replaces="", variant_of="")
            self.life.tell(WorkloadChanged(workload=key, spec=spec, generation=one.generation + 1))

    def press(self) -> None:
        """One comes that is more important than all, and before those are told that are to make room something happens to him or them."""
        self.urgent = 1000
        self.life.submit()
        self.urgent = 0
        for _ in range(20):
            self.life.hosts.turn()
            if self.life.world.requests:
                self.chance.choice((self.withdraw, self.protect, self.protect))()
                return

    def protect(self) -> None:
        """One that is to make room may not be preempted any more, before it was said that it has to."""
        world = self.life.world
        chosen = sorted({one.workload for request in world.requests.values() for one in request.victims})
        one = world.workloads.get(self.chance.choice(chosen)) if chosen else None
        if one is not None:
            spec = replace(one.spec, never_preempt=True, slice_name="", replaces="", variant_of="")
            self.life.tell(WorkloadChanged(workload=one.key, spec=spec, generation=one.generation + 1))

    def _rules(self) -> PreemptionRules:
        pick = self.chance.choice
        reclaim = pick((PreemptionPolicy.ANY, PreemptionPolicy.ANY, _LOWER, PreemptionPolicy.NEVER))
        borrow = BorrowWithinCohort(policy=_LOWER, max_priority_threshold=pick((None, 3)))
        return PreemptionRules(
            within_cluster_queue=pick((_LOWER, _LOWER, _EQUAL)),
            reclaim_within_cohort=reclaim,
            borrow_within_cohort=borrow if reclaim is not PreemptionPolicy.NEVER and pick((0, 0, 1)) else None,
            minimum_runtime=pick((0, 0, 0, 5_000, 600_000)),
            cooldown=pick((0, 0, 0, 5_000, 600_000)),
            claims=pick((False, True)),
        )


def _for_some(group: ResourceGroup) -> ResourceGroup:
    """With quota for one job at least: who fits nowhere preempts nobody."""
    return replace(
        group,
        flavors=tuple(
            replace(
                one, quotas=tuple(replace(each, nominal=max(each.nominal, _SOME[each.resource])) for each in one.quotas)
            )
            for one in group.flavors
        ),
    )
