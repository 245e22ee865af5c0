"""Who should make room in a domain for pods with cards, and how large a job still fits there; no trace of having asked."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.pod_set import ContainerShape, PodShape
from events.quota import Quota, ResourceGroup
from events.workload import WorkloadSubmitted
from projections.devices.capacity.fragmentation import Way
from projections.devices.placement.workload_gangs import gang_of
from projections.state_hash import state_hash
from projections.topology.domains.tree import HOSTNAME
from projections.topology.placement.largest import domain_cards, largest_jobs
from projections.topology.placement.making_room import make_room_in_domains
from projections.topology.placement.workload_cards import ledger_of
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.pod_set_request import pods_asking
from tests.services.admitter.test_topology_with_cards import asking, host, racked
from tests.stories.small_world import Story


def ways(told: Story, wanted: WorkloadSubmitted) -> list[tuple[Way, str]] | None:
    before = state_hash(told.world)
    (pod_set,) = wanted.spec.pod_sets
    request = pods_asking(told.world, "team", pod_set, pod_set.count, "v100")
    gang = gang_of(told.world, "team", pod_set, pod_set.count, {"nvidia.com/gpu": "v100"})
    advice = make_room_in_domains(told.world, [request], [gang])
    assert state_hash(told.world) == before
    return None if advice is None else [(step.way, step.holder) for step in advice.steps]


def test_a_job_that_fits_into_another_domain_is_moved_so_that_a_rack_is_whole() -> None:
    told = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"))
    told.told(asking("small", level=HOSTNAME)).decided()
    assert ways(told, asking("pair", count=2)) == [(Way.MOVE, "team/small")]
    assert ways(told, asking("one")) == []


def test_where_nobody_fits_elsewhere_the_one_of_lowest_priority_has_to_wait() -> None:
    told = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"))
    for name, priority in (("high", 5), ("low", 1), ("mid", 3)):
        told.told(asking(name, level=HOSTNAME, priority=priority)).decided()
    homes = {
        domain.values[0]: key
        for key, held in told.world.domains.held().items()
        for domain in held[0].assignment.domains
    }
    found = ways(told, asking("pair", count=2))
    assert found is not None and {key for _, key in found} == {homes["a"], homes["b"]}


def test_nobody_makes_room_for_what_no_rack_could_hold() -> None:
    told = racked(host("a", "r1"), host("b", "r2"))
    assert ways(told, asking("wide", count=2)) is None


def test_the_largest_job_of_each_level_is_what_one_domain_takes_as_things_stand() -> None:
    told = racked(host("a", "r1"), host("b", "r1"), host("c", "r2", cards=3))
    told.told(asking("first", level=HOSTNAME, memory=12000)).decided()

    def largest(memory: int) -> list[tuple[tuple[str, ...], int]]:
        (pod_set,) = asking("x", memory=memory).spec.pod_sets
        room = told.world.domains.room("v100")
        assert room is not None
        request = pods_asking(told.world, "team", pod_set, 1, "v100")
        gang = gang_of(told.world, "team", pod_set, 1, {"nvidia.com/gpu": "v100"})
        found = largest_jobs(room, request, topology_gates(told.world.settings), ledger_of(told.world), gang)
        assert [one.level for one in found] == ["rack", HOSTNAME]
        return [(one.values, one.pods) for one in found]

    (home,) = {
        domain.values[-1] for held in told.world.domains.held().values() for domain in held[0].assignment.domains
    }
    assert home in ("a", "b")
    assert largest(30000) == [(("r2",), 3), (("r2", "c"), 3)]
    assert largest(12000) == [(("r2",), 6), (("r2", "c"), 6)]


def test_of_each_level_the_domain_with_most_idle_cards_is_told() -> None:
    told = racked(host("a", "r1"), host("b", "r1"), host("c", "r2", cards=3))
    told.told(asking("two", count=2, level=HOSTNAME)).decided()
    room = told.world.domains.room("v100")
    assert room is not None
    found = domain_cards("v100", room.room.tree, told.world.cards, told.world.nodes)
    assert [(one.level, one.values, one.domains, one.registered.cards, one.free.cards) for one in found] == [
        ("rack", ("r1",), 2, 2, 2),
        (HOSTNAME, ("r2", "c"), 3, 3, 1),
    ]


def test_one_without_cards_that_has_the_cpus_of_the_hosts_makes_room_too() -> None:
    told = racked(host("a", "r1"), host("b", "r2"))
    cq = told.world.cluster_queues["cq"]
    (group,) = cq.groups
    (of_flavor,) = group.flavors
    quotas = (*of_flavor.quotas, Quota(resource="cpu", nominal=999_000))
    group = ResourceGroup(resources=(*group.resources, "cpu"), flavors=(replace(of_flavor, quotas=quotas),))
    told.told(replace(cq, groups=(group,)))
    for name in ("one", "two"):
        told.told(wanting(asking(name, level=HOSTNAME), {"cpu": 60_000})).decided()
    pair = wanting(asking("third"), {"cpu": 60_000, "nvidia.com/gpu": 1})
    assert ways(told, pair) == [(Way.PREEMPT, "team/one")]


def wanting(job: WorkloadSubmitted, limits: Mapping[str, int]) -> WorkloadSubmitted:
    """The job with pods that ask for this instead."""
    shape = PodShape(containers=(ContainerShape(name="main", requests=dict(limits), limits=dict(limits)),))
    (pod_set,) = job.spec.pod_sets
    return replace(job, spec=replace(job.spec, pod_sets=(replace(pod_set, shape=shape),)))
