"""What is told at a glance is what the whole search would say, whatever came and went since the refusal."""

import random

from events.admission import AdmissionRefused, Mode
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from services.admitter.admission_prefilter import refused_again
from services.admitter.entry import QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.nomination import nominate
from tests.laws.random_quota import leave_those_evicted
from tests.stories.small_world import Story

QUEUES, FLAVORS = ("a", "b"), {"cpu": ("c0", "c1"), "gpu": ("g0", "g1")}
WITHIN = (PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.LOWER_PRIORITY)


Nominal = dict[str, dict[str, int]]
"""By resource and flavor."""


def queue(name: str, nominal: Nominal, within: PreemptionPolicy = PreemptionPolicy.NEVER) -> ClusterQueueObserved:
    """One of two queues that lend to each other and may have all of it back."""
    groups = tuple(
        ResourceGroup(
            resources=(resource,),
            flavors=tuple(
                FlavorQuotas(flavor=flavor, quotas=(Quota(resource=resource, nominal=amount),))
                for flavor, amount in flavors.items()
            ),
        )
        for resource, flavors in nominal.items()
    )
    rules = PreemptionRules(within_cluster_queue=within, reclaim_within_cohort=PreemptionPolicy.ANY)
    return ClusterQueueObserved(name=name, cohort="all", namespaces=LabelSelector(), groups=groups, preemption=rules)


def at_random(chance: random.Random, name: str) -> ClusterQueueObserved:
    nominal = {
        resource: {flavor: chance.randint(0, 4) for flavor in flavors[: chance.choice((1, 1, 2))]}
        for resource, flavors in FLAVORS.items()
    }
    return queue(name, nominal, chance.choice(WITHIN))


def story(*queues: ClusterQueueObserved) -> Story:
    doors = [LocalQueueObserved(namespace="team", name=one.name, cluster_queue=one.name) for one in queues]
    flavors = [FlavorObserved(name=name) for names in FLAVORS.values() for name in names]
    settings = SettingsObserved(devices=False)
    return Story(unchecked=True).told(settings, NamespaceObserved(name="team"), *flavors, *queues, *doors)


def job(number: int, queue: str, count: int, priority: int = 0, **asked: int) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests=asked),))
    return WorkloadSubmitted(
        workload=f"team/j{number}",
        uid=f"u{number}",
        owner=Owner(kind="Job", name=f"j{number}", uid=f"u{number}"),
        created_at=number,
        spec=WorkloadSpec(queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=count, shape=shape),)),
    )


def job_at_random(chance: random.Random, number: int) -> WorkloadSubmitted:
    asked = {"cpu": 1} if chance.randrange(3) else {"cpu": 1, "gpu": 1}
    return job(number, chance.choice(QUEUES), chance.choice((1, 1, 2, 3)), chance.randint(0, 2), **asked)


def glances(told: Story) -> int:
    """How many of those that were refused are so again at a glance; each of them after a search as well."""
    found = 0
    world = told.world
    for workload in world.workloads.values():
        queue = world.cluster_queue_of(workload)
        if queue is None or workload.reserved or not isinstance(workload.attempt, AdmissionRefused):
            continue
        head = QueueHead(workload=workload, queue=queue)
        if not refused_again(world, workload, plan_for(world, head), world.quota.queues[queue.name]):
            continue
        found += 1
        entry = nominate(world, head, told.at)
        assert entry.mode is not Mode.FIT and not entry.victims, workload.name
        reason = "WaitingForQuota" if entry.mode is Mode.PREEMPT else entry.refusal()[0]
        assert reason == workload.attempt.reason, workload.name
        assert not entry.come_to, "what is left to be tried is tried on record"
    return found


def test_who_is_refused_again_at_a_glance_would_be_refused_by_the_whole_search() -> None:
    found = 0
    for seed in range(600):
        chance = random.Random(seed)
        told = story(*(at_random(chance, name) for name in QUEUES))
        for number in range(10):
            told.told(job_at_random(chance, number)).decided()
            running = sorted(one.key for one in told.world.workloads.values() if one.admitted and not one.finished)
            if running and chance.randrange(2):
                told.told(WorkloadFinished(workload=chance.choice(running), reason="Succeeded"))
            leave_those_evicted(told)
            found += glances(told)
            told.decided()
    assert found > 150


def test_a_flavor_that_is_not_tried_any_more_says_nothing_of_the_reason() -> None:
    told = story(queue("a", {"cpu": {"c0": 2, "c1": 0}, "gpu": {"g0": 0}}), queue("b", {"gpu": {"g0": 1}}))
    told.told(job(1, "a", 2, cpu=1), job(2, "b", 1, gpu=1)).decided()
    told.told(job(3, "a", 1, cpu=1, gpu=1)).decided()
    assert reason_of(told, 3) == "ExceedsMaxQuota", "c0 is taken, and c1 has nothing"
    told.told(WorkloadFinished(workload="team/j1", reason="Succeeded")).decided()
    assert reason_of(told, 3) == "WaitingForQuota", "c0 is free, so that c1 is not tried, and g0 is taken"


def reason_of(told: Story, number: int) -> str:
    attempt = told.world.workloads[f"team/j{number}"].attempt
    assert isinstance(attempt, AdmissionRefused)
    return attempt.reason
