"""What leaves less room in a topology is looked at, too: who waits at the head of a line may find that he fits nowhere by now."""

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused
from events.control import ObjectRemoved
from events.device import NodeObserved, NodeUsageObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorQuotas,
    LocalQueueObserved,
    PreemptionPolicy,
    PreemptionRules,
    QueueingStrategy,
    Quota,
    ResourceGroup,
)
from events.topology import TopologyRequest
from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from tests.services.admitter.test_topology_with_cards import RACKED
from tests.stories.small_world import Story, job, platform, queue

HOST = NodeObserved(
    name="a", labels={"card": "v100", "rack": "r1", HOSTNAME: "a"}, allocatable={"cpu": 2000, "pods": 110}
)
FULL = NodeUsageObserved(node="a", requests={"cpu": 2000, "pods": 1})


def cpu_queue(name: str) -> ClusterQueueObserved:
    flavors = (FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=9000),)),)
    groups = (ResourceGroup(resources=("cpu",), flavors=flavors),)
    return replace(queue(name, nominal=0), groups=groups, strategy=QueueingStrategy.STRICT_FIFO)


def asking(name: str, count: int = 1, queue: str = "lq") -> WorkloadSubmitted:
    """So many pods of one CPU each in one rack."""
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
    pod_set = PodSet(name="main", count=count, shape=shape, topology=TopologyRequest(required="rack"))
    return replace(job(name), spec=WorkloadSpec(queue=queue, pod_sets=(pod_set,)))


def one_waits(*, forgetful: bool, commits: int = 0) -> Story:
    """A host of which one job has a half, and of another tree a job that waits for all of it."""
    told = Story(unchecked=True, forgetful=forgetful).told(*platform(), *RACKED, HOST, cpu_queue("cq"))
    told.told(cpu_queue("other"), LocalQueueObserved(namespace="team", name="other", cluster_queue="other"))
    told.told(asking("first")).decided()
    told.told(asking("waits", count=2, queue="other")).decided()
    told.commits += commits
    return told


def test_pods_of_others_that_fill_the_host_that_somebody_waits_for_are_said_at_once() -> None:
    told = one_waits(forgetful=False)
    (refused,) = told.told(FULL).decided()
    assert isinstance(refused, AdmissionRefused)
    assert (refused.workload, refused.reason) == ("team/waits", "TopologyPlacementFailed")


@pytest.mark.parametrize("commits", [0, 1])
def test_who_waits_in_another_tree_for_places_that_somebody_gets_is_looked_at_in_the_same_commit(commits: int) -> None:
    """Trees are decided about in rotation: one commit more turns it."""
    hinted, forgetful = (one_waits(forgetful=one, commits=commits) for one in (False, True))
    said, again = (told.told(asking("second")).decided() for told in (hinted, forgetful))
    assert any(isinstance(one, AdmissionRefused) and one.workload == "team/waits" for one in said)
    assert said == again
    assert hinted.commits == forgetful.commits


def refusals(told: Story) -> list[AdmissionRefused]:
    return [one for one in told.decided() if isinstance(one, AdmissionRefused)]


def waits_for_quota(*, forgetful: bool) -> Story:
    """The host has room for one more pod of one CPU; there is quota for one, which somebody has."""
    nominal = (FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=1000),)),)
    rules = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY)
    groups = (ResourceGroup(resources=("cpu",), flavors=nominal),)
    told = Story(unchecked=True, forgetful=forgetful).told(*platform(), *RACKED, HOST)
    told.told(replace(cpu_queue("cq"), groups=groups, strategy=QueueingStrategy.BEST_EFFORT_FIFO, preemption=rules))
    told.told(asking("first")).decided()
    (refused,) = refusals(told.told(asking("waits")))
    assert refused.reason == "WaitingForQuota"
    return told


def test_who_waits_for_quota_is_told_that_the_last_host_with_room_for_it_is_gone() -> None:
    gone = ObjectRemoved(kind="Node", namespace="", name=HOST.name)
    hinted, forgetful = (waits_for_quota(forgetful=one).told(gone).decided() for one in (False, True))
    (refused,) = (one for one in hinted if isinstance(one, AdmissionRefused))
    assert (refused.workload, refused.reason) == ("team/waits", "TopologyPlacementFailed")
    assert hinted == forgetful
