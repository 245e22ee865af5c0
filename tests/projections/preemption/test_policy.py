"""Whom each policy lets a workload preempt, for every pair of priorities and ages (docs/rules/preemption.md#within-queue)."""

from itertools import product

from events.event import Millis
from events.quota import PreemptionPolicy
from events.settings import SettingsObserved
from events.workload import WorkloadSpec
from projections.preemption.policy import satisfies_policy
from projections.workloads.lifecycle import Workload


def workload(name: str, priority: int, created: Millis) -> Workload:
    spec = WorkloadSpec(queue="lq", pod_sets=(), priority=priority)
    return Workload(key=f"team/{name}", uid=name, owner=None, created_at=created, generation=1, spec=spec)


def test_a_policy_lets_go_who_has_less_priority_or_as_much_and_came_later() -> None:
    for mine, theirs, my_time, their_time in product((1, 2, 3), (1, 2, 3), (10, 20), (10, 20)):
        preemptor, candidate = workload("preemptor", mine, my_time), workload("candidate", theirs, their_time)
        allowed = {
            policy: satisfies_policy(policy, preemptor, candidate, SettingsObserved()) for policy in PreemptionPolicy
        }
        assert allowed == {
            PreemptionPolicy.NEVER: False,
            PreemptionPolicy.ANY: True,
            PreemptionPolicy.LOWER_PRIORITY: theirs < mine,
            PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY: (theirs, -their_time) < (mine, -my_time),
        }
