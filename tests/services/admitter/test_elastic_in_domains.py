"""Elastic jobs with cards that are placed by topology: those that stay keep host and cards, and only pods that come get others."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved, TopologyAssigned
from events.catalogue import Decision
from events.control import ObjectRemoved
from events.device import DevicesReserved, NodeUsageObserved, PodCardsAssigned, PodObserved
from events.pod_set import ContainerShape
from events.quota import ClusterQueueObserved, FlavorQuotas, Quota, ResourceGroup
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.topology import PodTopology, TopologyDomain, TopologyRequest
from events.workload import PodSetAssignment, WorkloadChanged, WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from projections.workloads.lifecycle import SECOND
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


def domains_of(assignments: Sequence[PodSetAssignment]) -> Sequence[TopologyDomain]:
    return [one for given in assignments if given.topology is not None for one in given.topology.assignment.domains]


def two_racks() -> Story:
    return racked(host("a", "r1", cards=2), host("b", "r1", cards=2), host("c", "r2", cards=2)).told(GATE)


def without_cards() -> Story:
    """Hosts that take two pods each, for jobs that ask for no cards."""
    quota = FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=999_000),))
    groups = (ResourceGroup(resources=("cpu",), flavors=(quota,)),)
    return two_racks().told(ClusterQueueObserved(name="cq", namespaces=LabelSelector(), groups=groups))


def plain(name: str, count: int) -> WorkloadSubmitted:
    asked = elastic(name, count)
    containers = (ContainerShape(name="c", requests={"cpu": 30_000}),)
    pod_sets = tuple(replace(one, shape=replace(one.shape, containers=containers)) for one in asked.spec.pod_sets)
    return replace(asked, spec=replace(asked.spec, pod_sets=pod_sets))


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
    told.told(sized(asked, 1)).decided()
    said = told.told(sized(asked, 2)).decided()
    assert not [one for one in said if isinstance(one, QuotaReserved)]
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert "have no cards on the hosts on which they are placed" in refused.message
    said = told.told(
        living(last, "b", terminating=True), ObjectRemoved(kind="Pod", namespace="team", name=last)
    ).decided()
    assert last_places(said) == {"a": 2}


def test_pods_too_many_that_are_wanted_again_stay_where_they_are_with_their_cards_and_only_others_are_placed() -> None:
    told, asked = two_racks(), elastic("e", 3)
    pods = after_a_shrink(told, asked)
    said = told.told(sized(asked, 4)).decided()
    given = last_cards(said)
    assert all(given[index][0] == node for index, node in pods.values()) and len(given) == 4
    grown, cards = places_and_cards(told)
    assert grown == cards and grown["a"] == 2 and grown["b"] >= 1
    again = told.told(sized(asked, 2)).decided()
    assert not [one for one in again if isinstance(one, QuotaReserved)]
    assert [one for one in told.told(sized(asked, 4)).decided() if isinstance(one, QuotaReserved)]


def test_pods_too_many_that_are_wanted_again_wait_while_there_is_no_room_where_they_are() -> None:
    told, asked = two_racks(), elastic("e", 3)
    after_a_shrink(told, asked)
    told.told(NodeUsageObserved(node="b", requests={"pods": 110})).decided()
    said = told.told(sized(asked, 4)).decided()
    assert not [one for one in said if isinstance(one, QuotaReserved)]
    told.told(NodeUsageObserved(node="b", requests={})).decided()
    assert [one for one in told.decisions if isinstance(one, QuotaReserved)][-1].assignments[0].count == 4


def test_pods_too_many_of_two_pod_sets_do_not_count_on_the_same_room() -> None:
    told, asked = racked(host("a", "r1", cards=4, pods=4)).told(GATE), elastic("e", 2)
    (main,) = asked.spec.pod_sets
    asked = replace(asked, spec=replace(asked.spec, pod_sets=(main, replace(main, name="side"))))
    told.told(asked).decided()
    pods = [replace(living(f"{name}-{index}"), pod_set=name) for name in ("main", "side") for index in range(2)]
    told.told(*pods).decided()
    there = PodTopology(gated=False, node_selector={HOSTNAME: "a"})
    told.told(*(replace(one, gated=False, topology=there, node="a", phase="Running") for one in pods)).decided()
    told.told(sized(asked, 1)).decided()
    told.told(NodeUsageObserved(node="a", requests={"pods": 1})).decided()
    assert not [one for one in told.told(sized(asked, 2)).decided() if isinstance(one, QuotaReserved)]
    said = told.told(NodeUsageObserved(node="a")).decided()
    (reserved,) = [one for one in said if isinstance(one, QuotaReserved)]
    assert [one.count for one in reserved.assignments] == [2, 2]


def test_a_growth_is_tried_again_when_pods_have_been_given_other_cards_for_those_of_a_lost_host() -> None:
    told = racked(*(host(name, "r1", cards=2) for name in "abc")).told(GATE)
    asked = elastic("e", 1, memory=30000)
    (home,) = {node for node, _ in last_cards(told.told(asked).decided()).values()}
    told.told(sized(asked, 2), lost(home)).decided()
    told.later(SECOND)
    places, cards = places_and_cards(told)
    assert places == cards and sum(places.values()) == 2 and home not in places


def after_a_shrink(told: Story, asked: WorkloadSubmitted) -> dict[str, tuple[int, str]]:
    """A job of three pods, two on one host and one on another, that is to have two: its pods by name, with their cards and hosts."""
    first = told.told(asked).decided()
    cards = last_cards(first)
    pods = told.told(*(living(f"e-{index}") for index in range(3))).decided()
    index_of = {one.pod: one.index for one in pods if isinstance(one, PodCardsAssigned)}
    told.told(*(living(name, cards[index][0]) for name, index in index_of.items())).decided()
    told.told(sized(asked, 2)).decided()
    return {name: (index, cards[index][0]) for name, index in index_of.items()}


def gone(name: str, node: str) -> tuple[PodObserved, ObjectRemoved]:
    return living(name, node, terminating=True), ObjectRemoved(kind="Pod", namespace="team", name=name)


def test_a_job_whose_shrink_has_ended_other_pods_than_the_last_grows_and_those_that_stay_keep_host_and_cards() -> None:
    told, asked = two_racks(), elastic("e", 3)
    pods = after_a_shrink(told, asked)
    ended = next(name for name, (_, node) in pods.items() if node == "a")
    said = told.told(*gone(ended, "a")).decided()
    (placed,) = [one for one in said if isinstance(one, TopologyAssigned)]
    assert {one.values[-1]: one.count for one in domains_of(placed.assignments)} == {"a": 1, "b": 1}
    said = told.told(sized(asked, 4)).decided()
    given = last_cards(said)
    assert all(given[index][0] == node for name, (index, node) in pods.items() if name != ended)
    assert last_places(said)["a"] >= 1 and last_places(said)["b"] >= 1 and sum(last_places(said).values()) == 4


def test_a_job_that_wants_to_grow_again_before_the_other_pods_are_gone_grows_when_they_are() -> None:
    told, asked = two_racks(), elastic("e", 3)
    pods = after_a_shrink(told, asked)
    told.told(sized(asked, 1)).decided()
    assert not [one for one in told.told(sized(asked, 2)).decided() if isinstance(one, QuotaReserved)]
    ended = next(name for name, (_, node) in pods.items() if node == "a")
    said = told.told(*gone(ended, "a")).decided()
    assert sum(last_places(said).values()) == 2
    given = last_cards(said)
    assert all(given[index][0] == node for name, (index, node) in pods.items() if name != ended)


def test_room_is_held_where_the_pods_of_a_job_are_that_asks_for_no_cards() -> None:
    told = without_cards()
    asked = plain("e", 3)
    said = told.told(asked).decided()
    assert last_places(said) == {"a": 2, "b": 1}
    told.told(*(living(f"e-{index}", node) for index, node in enumerate("aab"))).decided()
    told.told(sized(asked, 2)).decided()
    said = told.told(*gone("e-0", "a")).decided()
    assert [one for one in said if isinstance(one, TopologyAssigned)]
    held = told.world.domains.held()["team/e"][0].assignment
    assert {one.values[-1]: one.count for one in held.domains} == {"a": 1, "b": 1}
    assert not [one for one in told.told(living("e-1", "a")).decided() if isinstance(one, TopologyAssigned)]


def test_a_pod_that_waits_goes_where_a_place_is_left_of_those_that_were_given() -> None:
    told, asked = two_racks(), elastic("e", 3)
    pods = after_a_shrink(told, asked)
    first, second = (name for name, (_, node) in pods.items() if node == "a")
    said = told.told(*gone(first, "a"), *gone(second, "a"), living("e-9")).decided()
    placed = [one for one in said if isinstance(one, TopologyAssigned)][-1]
    assert {one.values[-1]: one.count for one in domains_of(placed.assignments)} == {"a": 1, "b": 1}


def lost(node: str) -> ObjectRemoved:
    return ObjectRemoved(kind="Node", name=node)


def spread_over_three() -> tuple[Story, WorkloadSubmitted, dict[str, tuple[int, str]]]:
    """A job with a pod on each of three hosts, of which two are to stay, and a fourth host that is free."""
    told = racked(*(host(name, "r1", cards=1, pods=1) for name in "abcd")).told(GATE)
    asked = elastic("e", 3, memory=30000)
    return told, asked, after_a_shrink(told, asked)


def places_and_cards(told: Story) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Where the pods of the job lie by its domains, and where they have their cards."""
    (live,) = [one for one in told.world.workloads.values() if not one.finished]
    assert live.admission is not None and live.devices is not None
    cards: dict[str, int] = {}
    for one in live.devices.placements:
        cards[one.node] = cards.get(one.node, 0) + 1
    return {one.values[-1]: one.count for one in domains_of(live.admission.assignments)}, cards


def test_of_a_job_that_has_become_smaller_no_pod_moves_from_a_lost_host_while_enough_go_on_elsewhere() -> None:
    told, _, pods = spread_over_three()
    first, *others = sorted(host for _, host in pods.values())
    ended = next(name for name, (_, host) in pods.items() if host == first)
    said = told.told(lost(first), *gone(ended, first)).decided()
    assert [one for one in said if isinstance(one, TopologyAssigned)]
    assert places_and_cards(told) == (dict.fromkeys(others, 1), dict.fromkeys(others, 1))
    assert told.world.workloads["team/e"].second_pass.unhealthy_nodes == () and told.world.workloads["team/e"].admitted


def test_cards_of_a_pod_too_many_on_a_lost_host_are_held_until_it_is_gone_and_stop_nobody() -> None:
    told, _, pods = spread_over_three()
    first, *others = sorted(host for _, host in pods.values())
    told.told(lost(first)).decided()
    assert told.world.workloads["team/e"].admitted and not told.world.workloads["team/e"].evicted
    assert places_and_cards(told) == (dict.fromkeys(others, 1), {first: 1, **dict.fromkeys(others, 1)})
    ended = next(name for name, (_, host) in pods.items() if host == first)
    told.told(*gone(ended, first)).decided()
    assert places_and_cards(told) == (dict.fromkeys(others, 1), dict.fromkeys(others, 1))


def test_a_pod_moves_from_a_lost_host_once_those_too_many_are_gone_and_the_job_grows_again() -> None:
    told, asked, pods = spread_over_three()
    by_host = {host: name for name, (_, host) in pods.items()}
    first, second, third = sorted(by_host)
    told.told(living(by_host[third], third, terminating=True), lost(second)).decided()
    assert not told.world.workloads["team/e"].evicted
    told.told(*gone(by_host[third], third), *gone(by_host[second], second)).decided()
    places, cards = places_and_cards(told)
    assert places == cards and places[first] == 1 and second not in places and sum(places.values()) == 2
    said = told.told(sized(asked, 3)).decided()
    assert sum(last_places(said).values()) == 3
    grown, given = places_and_cards(told)
    assert grown == given and grown[first] == 1


def test_of_cards_that_nobody_has_any_more_those_stay_where_another_pod_is_to_come() -> None:
    told, _, pods = spread_over_three()
    by_host = {host: name for name, (_, host) in pods.items()}
    first, second, third = sorted(by_host)
    told.told(lost(third), *gone(by_host[second], second), *gone(by_host[third], third)).decided()
    assert places_and_cards(told) == ({first: 1, second: 1}, {first: 1, second: 1})


@pytest.mark.parametrize("word", ["required", "preferred"])
def test_an_elastic_job_is_not_kept_in_one_domain_and_says_so(word: str) -> None:
    asked = elastic("e", 2)
    pod_sets = tuple(replace(one, topology=TopologyRequest(**{word: "rack"})) for one in asked.spec.pod_sets)
    told = two_racks().told(replace(asked, spec=replace(asked.spec, pod_sets=pod_sets)))
    (refused,) = [one for one in told.decided() if isinstance(one, AdmissionRefused)]
    assert refused.message.endswith(f": {word} topology is not supported with ElasticJobsViaWorkloadSlices")
    told.told(SettingsObserved()).decided()
    assert told.world.workloads["team/e"].admission is not None, "without the gate nobody looks at it"
    fixed = replace(asked, spec=replace(asked.spec, pod_sets=pod_sets, elastic=False))
    of_fixed_size = two_racks().told(fixed)
    of_fixed_size.decided()
    assert of_fixed_size.world.workloads["team/e"].admission is not None, "others may ask for one"


def test_pods_that_stay_count_once_where_others_of_their_job_come_beside_them() -> None:
    told = without_cards()
    asked = plain("e", 3)
    assert last_places(told.told(asked).decided()) == {"a": 2, "b": 1}
    assert last_places(told.told(sized(asked, 6)).decided()) == {"a": 2, "b": 2, "c": 2}, "all that there is"
