"""Who waits until its victims have left, and is placed by topology: what was found for it stays."""

import pytest
from msgspec.structs import replace

from events.admission import PreemptionRequested
from events.catalogue import AnyEvent
from events.preemption import PreemptionOrdered
from events.quota import ClusterQueueObserved, PreemptionPolicy, PreemptionRules
from events.workload import PodsGone, WorkloadSubmitted
from tests.services.admitter.test_shared_domains import STRATEGIES, asking, host, queues
from tests.stories.small_world import Story


def owner_and_borrower() -> list[AnyEvent]:
    """The owner of all quota, who may reclaim it, and a queue of its cohort that has none."""
    told: list[AnyEvent] = []
    for one in queues(STRATEGIES[1], "tas", "tas"):
        if isinstance(one, ClusterQueueObserved):
            mine = one.name == "one"
            rules = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY if mine else PreemptionPolicy.NEVER)
            quotas = one.groups[0].flavors[0].quotas[0]
            flavor = replace(one.groups[0].flavors[0], quotas=(replace(quotas, nominal=3000 if mine else 0),))
            group = replace(one.groups[0], flavors=(flavor,))
            told.append(replace(one, cohort="all", preemption=rules, groups=(group,)))
        else:
            told.append(one)
    return told


def who_waits() -> WorkloadSubmitted:
    """Somebody of the borrower's queue who waits as well, so that there is another cycle in the same decision."""
    return asking("later", "two", 1)


def test_it_asks_once_and_by_the_right_that_it_has() -> None:
    told = Story().told(*host("tas"), *owner_and_borrower())
    told.told(asking("borrows", "two", 2)).decided()
    said = told.told(asking("owns", "one", 3), who_waits()).decided()
    requested = [one for one in said if isinstance(one, PreemptionRequested)]
    assert [(one.workload, one.victims[0].reason) for one in requested] == [("team/owns", "InCohortReclamation")]
    assert requested[0].assignments[0].topology is not None
    assert [one.reason for one in said if isinstance(one, PreemptionOrdered)] == ["InCohortReclamation"]


@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_nobody_of_another_tree_takes_the_domains_that_its_victims_have_left(names: tuple[str, str]) -> None:
    mine, others = names
    told = Story().told(*host("tas"), *queues(STRATEGIES[1], "tas", "tas"))
    own = told.world.cluster_queues[mine]
    told.told(replace(own, preemption=PreemptionRules(within_cluster_queue=PreemptionPolicy.LOWER_PRIORITY)))
    told.told(asking("low", mine, 4)).decided()
    told.told(asking("waits", others, 2)).decided()
    high = asking("high", mine, 3)
    told.told(replace(high, spec=replace(high.spec, priority=9))).decided()
    told.told(
        PodsGone(workload="team/low", decision=f"LOG_0/{told.world.workloads['team/low'].stops.stopped_by}")
    ).decided()
    held = {key: one.admission is not None for key, one in sorted(told.world.workloads.items())}
    assert held == {"team/high": True, "team/low": False, "team/waits": False}
