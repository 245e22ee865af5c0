"""Whom each policy lets a workload preempt, for every pair of priorities and ages (docs/rules/preemption.md#within-queue)."""

from itertools import product

from msgspec.structs import replace

from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy, PreemptionRules
from events.settings import SettingsObserved
from events.workload import Condition, ConditionStatus, WorkloadSpec
from projections.preemption.policy import protected, satisfies_policy
from projections.workloads.lifecycle import EVICTED, Workload


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


def test_time_protects_up_to_its_last_millisecond_and_nobody_who_was_told_to_go() -> None:
    rules = PreemptionRules(minimum_runtime=60, cooldown=90)
    queue = ClusterQueueObserved(name="cq", preemption=rules)
    runs = replace(workload("w", 0, 0), admitted_at=1000)
    assert [protected(runs, queue, at) for at in (1059, 1060)] == ["MinimumRuntime", ""]
    again = replace(runs, stops=replace(runs.stops, preempted_at=1000))
    assert [protected(again, queue, at) for at in (1059, 1060, 1089, 1090)] == [
        "MinimumRuntime",
        "Cooldown",
        "Cooldown",
        "",
    ]
    told = Condition(type=EVICTED, status=ConditionStatus.TRUE, reason="Preempted")
    leaves = replace(again, conditions={EVICTED: told})
    assert protected(leaves, queue, 1000) == ""
    assert protected(replace(leaves, spec=replace(leaves.spec, never_preempt=True)), queue, 1000) == "NeverPreempt"
