from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved
from events.device import NodeObserved
from events.quota import FlavorObserved
from events.topology import TopologyObserved, TopologyRequest
from events.workload import WorkloadSubmitted
from projections.topology.tree import HOSTNAME
from tests.stories.small_world import Story, job, platform

RACKED = (
    TopologyObserved(name="dc", levels=(HOSTNAME,)),
    FlavorObserved(name="v100", node_labels={"card": "v100"}, topology="dc"),
    NodeObserved(name="n1", labels={"card": "v100", HOSTNAME: "n1"}, allocatable={"cpu": 64_000, "pods": 110}),
)


def on_one_host(name: str) -> WorkloadSubmitted:
    found = job(name)
    asked = TopologyRequest(required=HOSTNAME)
    pod_sets = tuple(replace(one, topology=asked) for one in found.spec.pod_sets)
    return replace(found, spec=replace(found.spec, pod_sets=pod_sets))


def test_pods_that_ask_for_cards_are_not_placed_without_regard_to_them() -> None:
    said = Story().told(*platform(), *RACKED, on_one_host("a")).decided()
    assert not [one for one in said if isinstance(one, QuotaReserved)]
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert (refused.reason, refused.message) == (
        "TopologyPlacementFailed",
        "couldn't assign flavors to pod set main: pods that ask for cards are not placed by topology yet: leave one of both out",
    )
