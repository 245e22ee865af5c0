from collections.abc import Mapping

from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved
from events.card import Card
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import CardQuotaObserved, DevicesRefused, DevicesRegistered, DevicesReserved, NodeObserved
from events.pod_set import ContainerShape
from events.preemption import PreemptionOrdered
from events.quota import FlavorObserved
from events.settings import SettingsObserved
from events.topology import TopologyObserved, TopologyRequest
from events.workload import EvictionOrdered, PodsGone, WorkloadSubmitted
from projections.devices.annotations.allocated_cards import NODE_POLICY
from projections.devices.annotations.steering import BINPACK, SPREAD
from projections.devices.vendors.table import BY_WORD
from projections.topology.domains.tree import HOSTNAME
from projections.workloads.lifecycle import SECOND
from tests.services.accountant.test_two_proposals import at_once
from tests.services.accountant.test_two_proposals import given as given_to
from tests.stories.small_world import GPU, MEMORY, Story, job, platform

RACKED = (
    TopologyObserved(name="dc", levels=("rack", HOSTNAME)),
    FlavorObserved(name="v100", node_labels={"card": "v100"}, topology="dc"),
)


def host(name: str, rack: str, cards: int = 1, pods: int = 110) -> tuple[AnyEvent, ...]:
    """A host in a rack, with cards of 32 GiB."""
    labels = {"card": "v100", "rack": rack, HOSTNAME: name}
    return (
        NodeObserved(name=name, labels=labels, allocatable={"cpu": 64_000, "pods": pods}),
        DevicesRegistered(
            node=name,
            cards=tuple(
                Card(uuid=f"{name}-{index}", index=index, slots=10, memory=32768, model="NVIDIA-V100")
                for index in range(cards)
            ),
        ),
    )


def asking(name: str, level: str = "rack", count: int = 1, memory: int = 20000, **other: int) -> WorkloadSubmitted:
    """A job whose pods want one card each, all in one domain of a level."""
    found = job(name, count=count, memory=memory, **other)
    pod_sets = tuple(replace(one, topology=TopologyRequest(required=level)) for one in found.spec.pod_sets)
    return replace(found, spec=replace(found.spec, pod_sets=pod_sets))


def racked(*hosts: tuple[AnyEvent, ...]) -> Story:
    told = Story().told(*(one for one in platform(nominal=99) if not isinstance(one, FlavorObserved)), *RACKED)
    return told.told(*(one for host in hosts for one in host))


def reserved(story: Story, name: str) -> QuotaReserved:
    (found,) = [one for one in story.decisions if isinstance(one, QuotaReserved) and one.workload == f"team/{name}"]
    return found


def hosts_of(found: QuotaReserved) -> Mapping[str, int]:
    (one,) = found.assignments
    assert one.topology is not None
    return {domain.values[-1]: domain.count for domain in one.topology.assignment.domains}


def test_a_domain_counts_only_where_the_cards_of_each_pod_fit() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"), host("d", "r2", cards=2))
    story.told(asking("wide", count=3)).decided()
    found = reserved(story, "wide")
    assert hosts_of(found) == {"c": 1, "d": 2}
    assert [(one.node, one.index) for one in found.placements] == [("c", 0), ("d", 1), ("d", 2)]
    (given,) = [one for one in story.decisions if isinstance(one, DevicesReserved)]
    assert given.placements == found.placements
    assert story.world.workloads["team/wide"].admitted


def test_what_no_rack_can_hold_is_refused_with_what_is_short() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"))
    said = story.told(asking("wide", count=3)).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert (refused.reason, refused.message) == (
        "TopologyPlacementFailed",
        'couldn\'t assign flavors to pod set main: topology "dc" allows to fit only 2 out of 3 pod(s)',
    )


def test_cards_that_somebody_holds_keep_pods_out_of_a_domain() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"), host("d", "r2"))
    story.told(asking("first", count=2)).decided()
    story.told(asking("second", count=2)).decided()
    assert hosts_of(reserved(story, "first")) == {"a": 1, "b": 1}
    assert hosts_of(reserved(story, "second")) == {"c": 1, "d": 1}
    said = story.told(asking("third")).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert refused.message.endswith(
        'topology "dc" doesn\'t allow to fit any of 1 pod(s). Total nodes: 4; excluded: resource "nvidia.com/gpu": 4'
    )


def test_of_hosts_that_take_as_many_the_one_where_no_whole_card_is_broken_is_taken() -> None:
    # b has a card with room for one more, a none that is used, and no room for a second pod.
    story = racked(host("a", "r1", pods=1), host("b", "r2"))
    story.told(pinned_to(asking("first", memory=16000, cores=10), "b-0")).decided()
    assert hosts_of(reserved(story, "first")) == {"b": 1}
    story.told(asking("second", memory=16000, cores=10, level=HOSTNAME)).decided()
    assert hosts_of(reserved(story, "second")) == {"b": 1}


def test_of_racks_that_take_as_many_the_one_where_fewest_whole_cards_are_broken_is_taken() -> None:
    story = racked(host("a", "r1", pods=1), host("b", "r1", pods=1), host("c", "r2", pods=1), host("d", "r2"))
    story.told(pinned_to(asking("first", memory=16000, cores=10), "d-0")).decided()
    assert hosts_of(reserved(story, "first")) == {"d": 1}
    story.told(asking("second", memory=16000, cores=10)).decided()
    assert hosts_of(reserved(story, "second")) == {"d": 1}


def test_of_the_hosts_of_a_rack_those_are_taken_where_no_whole_card_is_broken_and_of_equals_the_first() -> None:
    story = racked(*(host(name, "r1", pods=1 if name in "ad" else 2) for name in "abcd"))
    for name in "bc":
        story.told(pinned_to(asking(f"on-{name}", memory=16000, cores=10), f"{name}-0")).decided()
    story.told(asking("pair", memory=16000, cores=10, count=2)).decided()
    assert hosts_of(reserved(story, "pair")) == {"b": 1, "c": 1}
    story.told(asking("one", memory=16000, cores=10)).decided()
    assert hosts_of(reserved(story, "one")) == {"a": 1}


def test_part_of_a_card_that_is_asked_for_in_percent_breaks_one_too() -> None:
    story = racked(host("a", "r1", pods=1), host("b", "r2"))
    story.told(pinned_to(asking("first", memory=16000, cores=10), "b-0")).decided()
    percent = "nvidia.com/gpumem-percentage"
    in_percent = shaped(asking("second", level=HOSTNAME), limits=({GPU: 1, percent: 40},))
    story.told(SettingsObserved(exclude_resource_prefixes=(percent,)), in_percent).decided()
    assert hosts_of(reserved(story, "second")) == {"b": 1}


def test_a_limit_of_the_namespace_holds_for_cards_in_domains_and_says_so() -> None:
    story = racked(host("a", "r1", cards=2), host("b", "r1", cards=2))
    story.told(CardQuotaObserved(namespace="team", name="q", hard={f"limits.{MEMORY}": 40_000}))
    said = story.told(asking("three", count=3)).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert "pod 3 of 3 of pod set main: asked 1 NVIDIA card(s) with 20000 MiB" in refused.message
    assert "more than the ResourceQuotas of namespace team leave (ResourceQuotaNotFit)" in refused.message
    story.told(asking("two", count=2)).decided()
    assert len(reserved(story, "two").placements) == 2


def test_a_pod_of_several_containers_is_tried_under_the_other_policy_for_cards_where_its_own_takes_fewer() -> None:
    story = racked(host("a", "r1", cards=2))
    story.told(pinned_to(asking("first", memory=16000, cores=10), "a-0")).decided()
    two = shaped(asking("second", level=HOSTNAME), limits=({GPU: 1, MEMORY: 12000}, {GPU: 1, MEMORY: 30000}))
    story.told(two).decided()
    (placed,) = reserved(story, "second").placements
    assert [share.uuid for shares in placed.containers for share in shares] == ["a-0", "a-1"]
    assert placed.policy == BINPACK


def test_on_leaves_of_several_nodes_pods_go_to_them_by_the_policy_for_nodes() -> None:
    for policy, nodes in ((None, ["b", "b"]), (SPREAD, ["a", "c"])):
        story = racked(*(host(name, "r1") for name in "abc"))
        story.told(TopologyObserved(name="dc", levels=("rack",)))
        story.told(pinned_to(asking("first", memory=8000, cores=10), "b-0")).decided()
        asked = asking("pair", memory=8000, cores=10, count=2)
        story.told(asked if policy is None else shaped(asked, annotations={NODE_POLICY: policy})).decided()
        assert sorted(one.node for one in reserved(story, "pair").placements) == nodes


def test_cards_that_somebody_else_was_given_first_are_looked_for_on_the_same_host_and_nowhere_else() -> None:
    for cards, given in ((2, [["a-0"], ["a-1"]]), (1, [["a-0"]])):
        asked = asking("a", level=HOSTNAME), asking("b", level=HOSTNAME)
        story = at_once(
            racked(host("a", "r1", cards=cards), host("b", "r1", cards=4)),
            *(replace(one, spec=replace(one.spec, queue=name)) for one, name in zip(asked, ("lq", "lq2"), strict=True)),
        )
        assert sorted(given_to(story).values()) == given
        told = [one.message for one in story.decisions if isinstance(one, DevicesRefused)]
        assert told == ["pods of pod set main find no cards where they are placed: a"] * (2 - len(given))


def test_victims_free_quota_domain_and_cards_and_nobody_goes_without_need() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"), host("d", "r2"))
    for name in ("one", "two", "three", "four"):
        story.told(asking(name, level=HOSTNAME)).decided()
    story.told(asking("urgent", count=2, priority=100))
    said = story.decided()
    (asked,) = [one for one in said if isinstance(one, PreemptionRequested)]
    victims = {one.workload for one in asked.victims}
    homes = {name for key in victims for name in hosts_of(reserved(story, key.removeprefix("team/")))}
    assert homes in ({"a", "b"}, {"c", "d"}), "two of one rack"
    for key in sorted(victims):
        story.told(PodsGone(workload=key, decision=f"LOG_0/{story.world.workloads[key].stops.stopped_by}"))
        story.decided()
    assert set(hosts_of(reserved(story, "urgent"))) == homes
    assert {one.workload for one in story.decisions if isinstance(one, PreemptionOrdered)} == victims, "nobody else"


def test_a_leader_and_its_workers_do_not_count_on_the_same_card() -> None:
    story = racked(host("a", "r1"), host("b", "r2", cards=2))
    story.told(led(asking("group", count=1, level=HOSTNAME))).decided()
    found = reserved(story, "group")
    assert {one.topology.assignment.domains[0].values for one in found.assignments if one.topology} == {("b",)}
    assert len({share.uuid for one in found.placements for shares in one.containers for share in shares}) == 2


def test_the_pod_set_that_asks_for_most_cards_is_placed_first_where_another_would_take_them_from_it() -> None:
    story = racked(host("a", "r1", cards=2), host("b", "r1"), host("c", "r1"))
    both = asking("both", count=2)
    (small,) = both.spec.pod_sets
    (container,) = small.shape.containers
    two_cards = replace(small.shape, containers=(replace(container, limits={**container.limits, GPU: 2}),))
    pod_sets = (small, replace(small, name="large", count=1, shape=two_cards))
    story.told(replace(both, spec=replace(both.spec, pod_sets=pod_sets))).decided()
    found = {
        one.name: [domain.values for domain in one.topology.assignment.domains]
        for one in reserved(story, "both").assignments
        if one.topology is not None
    }
    assert found == {"main": [("b",), ("c",)], "large": [("a",)]}


def test_cards_that_two_nodes_register_are_not_given_twice() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r1"))
    twin = DevicesRegistered(node="b", cards=(Card(uuid="a-0", slots=10, memory=32768, model="NVIDIA-V100"),))
    story.told(twin, asking("pair", count=2)).decided()
    assert len({share.uuid for one in reserved(story, "pair").placements for s in one.containers for share in s}) == 2
    said = story.told(asking("more")).decided()
    assert not [one for one in said if isinstance(one, QuotaReserved)]


def test_where_leaves_are_wider_than_hosts_pods_get_cards_of_their_nodes() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"))
    story.told(TopologyObserved(name="dc", levels=("rack",)), asking("pair", count=2)).decided()
    found = reserved(story, "pair")
    assert hosts_of(found) == {"r1": 2}
    assert {one.node for one in found.placements} == {"a", "b"}


def test_pods_of_a_node_that_is_lost_get_another_host_of_the_rack_with_cards_and_the_others_keep_theirs() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r1"), host("d", "r2"))
    story.told(asking("pair", count=2)).decided()
    before = {one.index: one for one in reserved(story, "pair").placements}
    assert [one.node for one in before.values()] == ["a", "b"]
    story.told(ObjectRemoved(kind="Node", namespace="", name="a")).decided()
    story.later(SECOND)
    given = [one for one in story.decisions if isinstance(one, DevicesReserved)]
    assert [(one.index, one.node) for one in given[-1].placements] == [(0, "c"), (1, "b")]
    assert given[-1].placements[1] == before[1]
    workload = story.world.workloads["team/pair"]
    assert workload.admitted and not workload.evicted and workload.devices is not None
    assert workload.devices.placements == given[-1].placements
    assert not story.world.cards.overfull(["b", "c", "d"])


def test_a_pod_of_a_node_that_is_lost_keeps_its_index_whichever_it_is() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r1"))
    story.told(asking("pair", count=2)).decided()
    story.told(ObjectRemoved(kind="Node", namespace="", name="b")).decided()
    story.later(SECOND)
    given = [one for one in story.decisions if isinstance(one, DevicesReserved)]
    assert [(one.index, one.node) for one in given[-1].placements] == [(0, "a"), (1, "c")]


def test_where_no_host_of_the_rack_has_cards_left_the_workload_is_evicted() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("d", "r2"))
    story.told(asking("pair", count=2)).decided()
    story.told(ObjectRemoved(kind="Node", namespace="", name="a")).decided()
    story.later(SECOND)
    (evicted,) = [one for one in story.decisions if isinstance(one, EvictionOrdered)]
    assert (evicted.reason, evicted.workload) == ("NodeFailures", "team/pair")


def test_a_host_that_is_there_again_within_a_second_costs_nobody_its_place() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("d", "r2"))
    story.told(asking("pair", count=2)).decided()
    story.told(ObjectRemoved(kind="Node", namespace="", name="a")).decided()
    assert story.world.workloads["team/pair"].second_pass.unhealthy_nodes == ("a",)
    story.later(SECOND - 1)
    story.told(*host("a", "r1")).decided()
    story.later(SECOND)
    workload = story.world.workloads["team/pair"]
    assert workload.admitted and not workload.second_pass.unhealthy_nodes
    assert not [one for one in story.decisions if isinstance(one, EvictionOrdered)]


def pinned_to(told: WorkloadSubmitted, uuid: str) -> WorkloadSubmitted:
    """The same pods, which take this card alone."""
    pod_sets = tuple(
        replace(one, shape=replace(one.shape, device_annotations={BY_WORD["NVIDIA"].use_uuid: uuid}))
        for one in told.spec.pod_sets
    )
    return replace(told, spec=replace(told.spec, pod_sets=pod_sets))


def shaped(
    told: WorkloadSubmitted,
    limits: tuple[Mapping[str, int], ...] = (),
    annotations: Mapping[str, str] | None = None,
) -> WorkloadSubmitted:
    """The same pods with containers that have these limits, and with these annotations."""
    (one,) = told.spec.pod_sets
    containers = tuple(ContainerShape(name=f"c{place}", limits=dict(each)) for place, each in enumerate(limits))
    shape = replace(
        one.shape, containers=containers or one.shape.containers, device_annotations=dict(annotations or {})
    )
    return replace(told, spec=replace(told.spec, pod_sets=(replace(one, shape=shape),)))


def led(told: WorkloadSubmitted) -> WorkloadSubmitted:
    """The same with a leader that is to lie in the midst of the workers."""
    (workers,) = told.spec.pod_sets
    asked = TopologyRequest(required=HOSTNAME, pod_set_group="g")
    both = (replace(workers, name="leader", topology=asked), replace(workers, name="workers", topology=asked))
    return replace(told, spec=replace(told.spec, pod_sets=both))
