"""What it takes to find victims grows with their number, not with its square: whoever runs many small jobs chooses that."""

from typing import Any

import pytest

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
from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.preemption import fair
from tests.stories.small_world import Story


def queue(name: str, nominal: int) -> ClusterQueueObserved:
    flavor = FlavorQuotas(flavor="f", quotas=(Quota(resource="cpu", nominal=nominal),))
    return ClusterQueueObserved(
        name=name,
        cohort="pool",
        namespaces=LabelSelector(),
        preemption=PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY),
        groups=(ResourceGroup(resources=("cpu",), flavors=(flavor,)),),
    )


def job(name: str, queue: str, cpu: int) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": cpu}),))
    spec = WorkloadSpec(queue=queue, pod_sets=(PodSet(name="main", count=1, shape=shape),))
    return WorkloadSubmitted(workload=f"team/{name}", uid=f"uid-{name}", created_at=0, spec=spec)


MANY = 120


@pytest.mark.parametrize(("own", "lent"), [(MANY, 0), (0, 2 * MANY)], ids=["who takes back its own", "who borrows"])
def test_sparing_victims_under_fair_sharing_looks_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch, own: int, lent: int
) -> None:
    asked, works = 0, fair.by_share

    def counted(*args: Any) -> bool:
        nonlocal asked
        asked += 1
        return works(*args)

    monkeypatch.setattr(fair, "by_share", counted)
    story = Story(unchecked=True)
    story.told(
        SettingsObserved(fair_sharing=True),
        NamespaceObserved(name="team"),
        FlavorObserved(name="f"),
        queue("many", own),
        queue("other", own),
        queue("lends", lent),
        LocalQueueObserved(namespace="team", name="many", cluster_queue="many"),
        LocalQueueObserved(namespace="team", name="other", cluster_queue="other"),
        *(job(f"small-{number}", "many", 2) for number in range(MANY)),
    ).decided()
    assert sum(one.admitted for one in story.world.workloads.values()) == MANY
    story.told(job("large", "other", MANY)).decided()
    assert sum(one.evicted for one in story.world.workloads.values()) == MANY // 2
    assert 0 < asked <= 4 * MANY
