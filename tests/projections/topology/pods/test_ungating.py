"""Each pod goes to a domain of its pod set's assignment, never more of them than it has places; by rank where they have ranks."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.topology import PodTopology, TopologyAssignment, TopologyDomain, TopologyRequest
from projections.topology.domains.tree import HOSTNAME
from projections.topology.pods.ungating import PlacedPod, PlacedPodSet, node_selectors

INDEX, GROUP = "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index"
RANKED = TopologyRequest(pod_index_label=INDEX)


def assigned(**counts: int) -> TopologyAssignment:
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in counts.items())
    return TopologyAssignment(levels=(HOSTNAME,), domains=domains)


def pod(name: str, index: int | None = None, *, on: str = "", **about: Any) -> PlacedPod:
    """A gated pod, or one that was let through to a host."""
    found = {"indexes": {} if index is None else {INDEX: index}, **about}
    selector = {"zone": "a", **({HOSTNAME: on} if on else {})}
    return PlacedPod(name=name, uid=f"u-{name}", topology=PodTopology(gated=not on, node_selector=selector, **found))


def pods_of(*pods: PlacedPod, request: TopologyRequest = RANKED, **counts: int) -> PlacedPodSet:
    return PlacedPodSet(count=sum(counts.values()), request=request, assignment=assigned(**counts), pods=pods)


def hosts(*pod_sets: PlacedPodSet, unhealthy: tuple[str, ...] = ()) -> dict[str, str]:
    """By the name of the pod, the host that its node selector gets."""
    found = node_selectors(pod_sets, unhealthy)
    assert all(selector.keys() == {HOSTNAME} for selector in found.values())
    return {uid.removeprefix("u-"): selector[HOSTNAME] for uid, selector in found.items()}


def test_ranks_follow_the_domains_in_their_order() -> None:
    assert hosts(pods_of(pod("a", 2), pod("b", 0), pod("c", 1), x=1, y=2)) == {"a": "y", "b": "x", "c": "y"}


def test_pods_that_come_later_get_the_place_of_their_rank() -> None:
    assert hosts(pods_of(pod("a", 1), x=1, y=2)) == {"a": "y"}


@pytest.mark.parametrize(
    "pods",
    [
        (pod("a", 1), pod("b")),
        (pod("a", 1), pod("b", 1)),
        (pod("a", 1), pod("b", 3)),
        (pod("a", 1), pod("b", 0, on="y")),
    ],
    ids=["one has none", "two have the same", "one is too high", "one runs elsewhere"],
)
def test_where_ranks_can_not_be_used_pods_fill_the_domains_in_their_order(pods: tuple[PlacedPod, ...]) -> None:
    assert hosts(pods_of(*pods, x=1, y=2))["a"] == "x"


def test_pods_that_bear_no_rank_fill_what_the_others_have_left() -> None:
    request = TopologyRequest()
    found = hosts(pods_of(pod("a"), pod("b", on="y"), pod("c"), pod("d"), request=request, x=1, y=2))
    assert found == {"a": "x", "c": "y"}, "the last one finds no place"


def test_of_two_pod_sets_of_a_group_the_smaller_has_the_first_indexes() -> None:
    request = msgspec.structs.replace(RANKED, pod_set_group="g")
    workers = pods_of(pod("w1", 1), pod("w2", 2), request=request, x=1, y=1)
    leader = pods_of(pod("l", 0), request=request, z=1)
    assert hosts(workers, leader) == {"w1": "x", "w2": "y", "l": "z"}
    equals = [pods_of(pod(name, index), request=request, **{name: 1}) for index, name in enumerate("ab")]
    assert hosts(*equals) == {"a": "a", "b": "b"}
    swapped = pods_of(pod("w", 0), pod("v", 1), request=request, x=1, y=1)
    assert hosts(swapped, leader) == {"v": "x", "w": "y", "l": "z"}, "index 0 is the leader's: no ranks"


def test_indexes_may_begin_behind_a_leader() -> None:
    found = [pod("a", 1, index_offset=1), pod("b", 2, index_offset=1)]
    assert hosts(pods_of(*found, x=1, y=1)) == {"a": "x", "b": "y"}
    assert hosts(pods_of(pod("a", 2), pod("b", 1), x=1, y=1)) == {"a": "x", "b": "y"}, "2 is none of theirs without"


def test_groups_of_pods_within_a_pod_set_come_one_after_the_other() -> None:
    request = TopologyRequest(pod_index_label=INDEX, sub_group_index_label=GROUP, sub_group_count=2)
    found = [pod(f"{group}-{index}", indexes={INDEX: index, GROUP: group}) for group in (1, 0) for index in (1, 0)]
    placed = hosts(pods_of(*found, request=request, w=1, x=1, y=1, z=1))
    assert placed == {"0-0": "w", "0-1": "x", "1-0": "y", "1-1": "z"}
    odd = pods_of(pod("a", indexes={INDEX: 0, GROUP: 2}), request=request, w=3, x=1)
    assert hosts(odd) == {"a": "w"}, "there is no third group: no ranks"
    uneven = pods_of(pod("a", indexes={INDEX: 0, GROUP: 2}), request=request, w=4, x=1)
    assert hosts(uneven) == {"a": "w"}, "the pod that is left over is of no third group"
    behind = pods_of(pod("a", indexes={INDEX: 2, GROUP: 0}), request=request, w=1, x=1, y=1, z=1)
    assert hosts(behind) == {"a": "w"}, "a group has two pods: index 2 is of none"


def test_ranks_behind_the_last_place_of_an_assignment_do_not_count() -> None:
    """Fewer were placed than were admitted, as where some were done by then."""
    found = PlacedPodSet(count=3, request=RANKED, assignment=assigned(x=1, y=1), pods=(pod("a", 1), pod("b", 2)))
    assert hosts(found) == {"a": "x", "b": "y"}


def test_pods_that_are_meant_for_a_failed_host_go_on_waiting() -> None:
    ranked = pods_of(pod("a", 0), pod("b", 1), x=1, y=1)
    assert hosts(ranked, unhealthy=("x",)) == {"b": "y"}
    rack = TopologyAssignment(levels=("rack",), domains=(TopologyDomain(values=("x",), count=1),))
    wider = PlacedPodSet(count=1, request=RANKED, assignment=rack, pods=(pod("a", 0),))
    assert node_selectors([wider], ("x",)) == {"u-a": {"rack": "x"}}, "a rack is no host"


def test_pods_without_an_assignment_go_on_waiting() -> None:
    assert node_selectors([PlacedPodSet(count=1, request=RANKED, pods=(pod("a", 0),))]) == {}


COUNTS = st.dictionaries(st.sampled_from("uvwxyz"), st.integers(1, 3), min_size=1, max_size=4)


@st.composite
def situations(draw: st.DrawFn) -> PlacedPodSet:
    """Pods of one set, with ranks or without, right or wrong; of those that were let through none is in excess."""
    counts: Mapping[str, int] = draw(COUNTS)
    size = sum(counts.values())
    places = draw(st.permutations([host for host, count in counts.items() for _ in range(count)]))
    pods = [
        pod(
            f"p{number}",
            draw(st.one_of(st.just(number), st.integers(0, size), st.none())),
            on=places[number] if number < size and draw(st.booleans()) else "",
        )
        for number in range(draw(st.integers(0, size + 2)))
    ]
    return pods_of(*draw(st.permutations(pods)), request=draw(st.sampled_from([RANKED, TopologyRequest()])), **counts)


def occupied(one: PlacedPodSet, found: Mapping[str, str]) -> Counter[str]:
    there = [each.topology.node_selector[HOSTNAME] for each in one.pods if not each.topology.gated]
    return Counter((*there, *found.values()))


def let_through(one: PlacedPodSet, found: Mapping[str, str]) -> PlacedPodSet:
    """The pods as they are after these were let through."""
    after = tuple(
        pod(each.name, each.topology.indexes.get(INDEX), on=found[each.name]) if each.name in found else each
        for each in one.pods
    )
    return msgspec.structs.replace(one, pods=after)


@given(situations())
def test_no_domain_gets_more_pods_than_it_was_assigned_and_none_waits_while_there_is_room(one: PlacedPodSet) -> None:
    assert one.assignment is not None
    room = {domain.values[0]: domain.count for domain in one.assignment.domains}
    found = hosts(one)
    assert occupied(one, found) <= Counter(room)
    gated = sum(1 for each in one.pods if each.topology.gated)
    free = one.count - (len(one.pods) - gated)
    assert len(found) == min(gated, free)


@given(situations(), st.randoms(use_true_random=False))
def test_the_order_in_which_pods_are_seen_does_not_matter(one: PlacedPodSet, random: Any) -> None:
    shuffled = list(one.pods)
    random.shuffle(shuffled)
    assert hosts(msgspec.structs.replace(one, pods=tuple(shuffled))) == hosts(one)


@given(situations(), st.data())
def test_after_some_were_let_through_the_others_get_the_places_that_they_would_have_had(
    one: PlacedPodSet, data: st.DataObject
) -> None:
    found = hosts(one)
    some = {name: host for name, host in found.items() if data.draw(st.booleans())}
    assert {**some, **hosts(let_through(one, some))} == found


@given(COUNTS, st.data())
def test_pods_with_ranks_are_let_through_by_rank_whoever_comes_first(
    counts: dict[str, int], data: st.DataObject
) -> None:
    by_rank = [host for host, count in counts.items() for _ in range(count)]
    all_pods = {f"p{rank}": pod(f"p{rank}", rank) for rank in range(len(by_rank))}
    placed: dict[str, str] = {}
    for name in data.draw(st.permutations(sorted(all_pods))):
        there = [pod(each, int(each[1:]), on=host) for each, host in placed.items()]
        placed |= hosts(pods_of(*there, all_pods[name], **counts))
    assert placed == {f"p{rank}": host for rank, host in enumerate(by_rank)}
