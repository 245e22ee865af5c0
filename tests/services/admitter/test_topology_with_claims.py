"""Pods that claim devices are placed by topology by what their containers ask for."""

from msgspec.structs import replace

from events.admission import QuotaReserved
from events.claims import PodClaim, PodClaims
from events.device import NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorQuotas, Quota, ResourceGroup
from events.topology import TopologyRequest
from events.workload import WorkloadSpec
from projections.topology.domains.tree import HOSTNAME
from tests.services.admitter.test_topology_with_cards import RACKED, hosts_of
from tests.stories.small_world import Story, job, platform, queue

HOST = NodeObserved(
    name="a", labels={"card": "v100", "rack": "r1", HOSTNAME: "a"}, allocatable={"cpu": 2000, "pods": 110}
)


def test_devices_that_pods_claim_do_not_count_where_they_find_room() -> None:
    quotas = (Quota(resource="cpu", nominal=9000), Quota(resource="example.com/device", nominal=9))
    flavors = (FlavorQuotas(flavor="v100", quotas=quotas),)
    groups = (ResourceGroup(resources=("cpu", "example.com/device"), flavors=flavors),)
    shape = PodShape(
        containers=(ContainerShape(name="main", requests={"cpu": 1000}),),
        claims=(PodClaim(name="device", template="one"),),
    )
    pod_set = PodSet(
        name="main",
        count=2,
        shape=shape,
        topology=TopologyRequest(required="rack"),
        claims=PodClaims(charged={"example.com/device": 1}),
    )
    asking = replace(job("claims"), spec=WorkloadSpec(queue="lq", pod_sets=(pod_set,)))
    told = Story().told(*platform(), *RACKED, HOST, replace(queue("cq", nominal=0), groups=groups), asking)
    (found,) = (one for one in told.decided() if isinstance(one, QuotaReserved))
    assert hosts_of(found) == {"a": 2}
    assert found.assignments[0].usage == {"cpu": 2000, "example.com/device": 2}
