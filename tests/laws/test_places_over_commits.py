"""Whoever comes and goes and whatever hosts are lost: at every commit places and cards are as they have to be.

Rule: docs/rules/topology.md#cards
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.catalogue import Decision
from events.control import ObjectRemoved
from events.topology import SliceConstraint, TopologyRequest
from events.workload import PodsGone, WorkloadFinished, WorkloadSubmitted
from ops.sandbox.simulate.partition_laws import CardLaws
from ops.sandbox.simulate.place_laws import PlaceLaws
from projections.log_position import LogPosition
from projections.topology.domains.tree import HOSTNAME
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of
from tests.services.admitter.test_topology_with_cards import RACKED, host
from tests.stories.small_world import Story, job, platform

HOSTS = {"a": "r1", "b": "r1", "c": "r1", "d": "r2", "e": "r2"}
REQUESTS = {
    "rack": TopologyRequest(required="rack"),
    "host": TopologyRequest(required=HOSTNAME),
    "preferred": TopologyRequest(preferred="rack"),
    "anywhere": TopologyRequest(unconstrained=True),
    "pairs": TopologyRequest(preferred="rack", slices=(SliceConstraint(topology=HOSTNAME, size=2),)),
    "rack pairs": TopologyRequest(preferred="rack", slices=(SliceConstraint(topology="rack", size=2),)),
}
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("come"),
            st.sampled_from(sorted(REQUESTS)),
            st.integers(1, 4),
            st.sampled_from([8000, 16000, 20000, 32768]),
            st.integers(0, 2),
        ),
        st.tuples(st.just("end"), st.just(""), st.integers(0, 9), st.just(0), st.just(0)),
        st.tuples(st.just("lose"), st.sampled_from(sorted(HOSTS)), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("return"), st.sampled_from(sorted(HOSTS)), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=16,
)


class Watched(Story):
    """A story whose laws are held behind every commit."""

    def __init__(self) -> None:
        super().__init__(unchecked=False)
        self.laws = (PlaceLaws(self.world), CardLaws(self.world))

    def _checked(self, decider: Decider, position: LogPosition) -> list[Decision]:
        found = super()._checked(decider, position)
        for event in found:
            for one in self.laws:
                one.hear(event, position)
                assert not one.broken
        return found


def asking(name: str, request: str, count: int, memory: int, priority: int) -> WorkloadSubmitted:
    found = job(name, count=count, memory=memory, cores=10, priority=priority)
    sets = tuple(replace(one, topology=REQUESTS[request]) for one in found.spec.pod_sets)
    return replace(found, spec=replace(found.spec, pod_sets=sets))


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_at_every_commit_places_are_within_capacity_whole_and_where_the_cards_are(
    steps: list[tuple[str, str, int, int, int]],
) -> None:
    told = Watched().told(*platform(nominal=12), *RACKED)
    told.told(ObjectRemoved(kind="Node", namespace="", name="n1"))
    for name, rack in HOSTS.items():
        told.told(*host(name, rack, cards=1 + (name in "ad"), pods=3))
    for number, (what, which, count, memory, priority) in enumerate(steps):
        match what:
            case "come":
                # No slice is larger than its pod set (docs/rules/topology.md#refused-annotations).
                told.told(asking(f"w{number}", which, max(count, 2) if "pairs" in which else count, memory, priority))
            case "end":
                running = sorted(key for key, one in told.world.workloads.items() if one.admitted and not one.finished)
                if running:
                    told.told(WorkloadFinished(workload=running[count % len(running)], reason="Succeeded"))
            case "lose":
                told.told(ObjectRemoved(kind="Node", namespace="", name=which))
            case _:
                told.told(*host(which, HOSTS[which], cards=1 + (which in "ad"), pods=3))
        told.decided()
        let_go(told)


def let_go(told: Story) -> None:
    """Who was stopped has come to rest."""
    for key, one in sorted(told.world.workloads.items()):
        if one.evicted and one.reserved and not one.finished:
            told.told(PodsGone(workload=key, decision=stop_of(one, f"LOG_0/{one.stops.stopped_by}")))
    told.decided()
