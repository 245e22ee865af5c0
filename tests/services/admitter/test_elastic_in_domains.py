"""Elastic jobs with cards that are placed by topology: those that stay keep host and cards, and only pods that come get others."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved
from events.catalogue import Decision
from events.control import ObjectRemoved
from events.device import DevicesReserved, PodCardsAssigned, PodObserved
from events.settings import SettingsObserved
from events.topology import PodTopology, TopologyRequest
from events.workload import WorkloadChanged, WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from tests.services.admitter.test_topology_with_cards import asking, host, racked
from tests.stories.small_world import Story

GATE = SettingsObserved(gates={"ElasticJobsViaWorkloadSlicesWithTAS": True})


def elastic(name: str, count: int, **other: int) -> WorkloadSubmitted:
    """A job that may lie anywhere, a card for each pod."""
    found = asking(name, count=count, **other)
    pod_sets = tuple(replace(one, topology=TopologyRequest(unconstrained=True)) for one in found.spec.pod_sets)
    return replace(found, spec=replace(found.spec, pod_sets=pod_sets, elastic=True))


def sized(asked: WorkloadSubmitted, count: int) -> WorkloadChanged:
    pod_sets = tuple(replace(one, count=count) for one in asked.spec.pod_sets)
    return WorkloadChanged(workload=asked.workload, spec=replace(asked.spec, pod_sets=pod_sets))


def last_places(said: list[Decision]) -> Mapping[str, int]:
    found = [one for one in said if isinstance(one, QuotaReserved)][-1]
    (one,) = found.assignments
    assert one.topology is not None
    return {domain.values[-1]: domain.count for domain in one.topology.assignment.domains}


def last_cards(said: list[Decision]) -> Mapping[int, tuple[str, str]]:
    found = [one for one in said if isinstance(one, DevicesReserved)][-1]
    return {one.index: (one.node, one.containers[0][0].uuid) for one in found.placements}


def two_racks() -> Story:
    return racked(host("a", "r1", cards=2), host("b", "r1", cards=2), host("c", "r2", cards=2)).told(GATE)


def test_pods_that_stay_keep_host_and_cards_and_those_that_come_get_cards_of_the_hosts_that_they_go_to() -> None:
    told, asked = two_racks(), elastic("e", 3)
    first = told.told(asked).decided()
    places, cards = last_places(first), last_cards(first)
    said = told.told(sized(asked, 5)).decided()
    grown, given = last_places(said), last_cards(said)
    assert all(grown.get(name, 0) >= pods for name, pods in places.items()) and sum(grown.values()) == 5
    assert {index: given[index] for index in cards} == cards
    assert len({card for _, card in given.values()}) == 5
    by_host: dict[str, int] = {}
    for node, _ in given.values():
        by_host[node] = by_host.get(node, 0) + 1
    assert by_host == grown, "cards are where pods are placed"
    (slice_,) = [one for one in told.world.workloads.values() if not one.finished]
    assert slice_.admitted


def test_a_job_that_finds_cards_for_some_of_the_pods_that_come_waits_and_runs_on_meanwhile() -> None:
    told, asked = two_racks(), elastic("e", 3)
    told.told(asked).decided()
    told.told(sized(asked, 7)).decided()
    live = [one for one in told.world.workloads.values() if not one.finished]
    assert [one.admitted for one in live] == [True, False]
    held = told.world.domains.held()
    assert sum(domain.count for domain in held["team/e"][0].assignment.domains) == 3


def test_cards_that_another_takes_meanwhile_are_looked_for_again_on_the_hosts_of_those_that_come() -> None:
    told, asked = two_racks(), elastic("e", 1, memory=30000)
    told.told(asked).decided()
    said = told.told(sized(asked, 2), elastic("f", 1, memory=30000), elastic("g", 1, memory=30000)).decided()
    del said
    given = [one for one in told.world.workloads.values() if one.admitted and not one.finished]
    taken = [
        share.uuid
        for one in given
        if one.devices is not None
        for pod in one.devices.placements
        for shares in pod.containers
        for share in shares
    ]
    assert len(taken) == len(set(taken)) == 4
    for one in given:
        held = told.world.domains.held()[one.key][0].assignment
        assert one.devices is not None
        assert sorted(pod.node for pod in one.devices.placements) == sorted(
            domain.values[-1] for domain in held.domains for _ in range(domain.count)
        )


def living(name: str, node: str = "", **fields: object) -> PodObserved:
    """A pod of the job that waits for its own cards, or that runs on a node."""
    told = PodObserved(
        namespace="team", name=name, uid=f"uid-{name}", workload="team/e", pod_set="main", elastic=True, gated=not node
    )
    where = PodTopology(gated=not node, node_selector={HOSTNAME: node} if node else {})
    return replace(told, topology=where, node=node, phase="Running" if node else "Pending", **fields)


def test_pods_that_come_are_told_the_cards_of_the_host_that_they_are_sent_to() -> None:
    told, asked = two_racks(), elastic("e", 3)
    told.told(asked).decided()
    first = told.told(*(living(f"e-{index}") for index in range(3))).decided()
    before = {one.pod: one.index for one in first if isinstance(one, PodCardsAssigned)}
    assert len(before) == 3
    said = told.told(sized(asked, 5)).decided()
    cards = last_cards(said)
    told.told(*(living(f"e-{index}", cards[before[f"e-{index}"]][0]) for index in range(3))).decided()
    more = told.told(living("e-3"), living("e-4")).decided()
    fresh = {one.pod: one.index for one in more if isinstance(one, PodCardsAssigned)}
    assert set(fresh) == {"e-3", "e-4"} and not set(fresh.values()) & set(before.values())


def test_while_pods_that_are_not_wanted_any_more_have_cards_elsewhere_it_does_not_grow_and_grows_when_they_are_gone() -> (
    None
):
    told, asked = two_racks(), elastic("e", 3)
    first = told.told(asked).decided()
    cards = last_cards(first)
    pods = told.told(*(living(f"e-{index}") for index in range(3))).decided()
    index_of = {one.pod: one.index for one in pods if isinstance(one, PodCardsAssigned)}
    told.told(*(living(name, cards[index][0]) for name, index in index_of.items())).decided()
    (last,) = [name for name, index in index_of.items() if cards[index][0] == "b"]
    told.told(sized(asked, 2)).decided()
    said = told.told(sized(asked, 4)).decided()
    assert not [one for one in said if isinstance(one, QuotaReserved)]
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert "have no cards on the hosts on which they are placed" in refused.message
    said = told.told(
        living(last, "b", terminating=True), ObjectRemoved(kind="Pod", namespace="team", name=last)
    ).decided()
    assert sum(last_places(said).values()) == 4
