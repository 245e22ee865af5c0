"""Gangs get cards for all their pods or for none, and refusals tell the numbers."""

import pytest
from msgspec.structs import replace

from events.card import Card, CardShare
from events.device import CardQuotaObserved, DevicesRegistered, NodeObserved, PodPlacement
from events.device_config import DeviceConfigObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved
from events.selector import Effect, Taint
from projections.devices.card_config import HAMI, card_config
from projections.devices.holdings.namespace_cards import limits_of
from projections.devices.placement.gang import (
    EXCEEDS_CARDS,
    NOT_EVEN_IDLE,
    WAITING_FOR_CARDS,
    Gang,
    place,
    place_or_tell,
)
from tests.projections.devices.makers import Fleet, card, container, gang


def test_two_half_cards_share_one_card_of_the_fullest_node() -> None:
    fleet = Fleet(n1=[card("a")], n2=[card("b")])
    placed = place(fleet.cards, fleet.nodes, [gang(2, container(gpu=1, mem=16000, cores=50))], fleet.trail)
    share = (CardShare(uuid="a", vendor="NVIDIA", memory=16000, cores=50),)
    assert placed.placements == (
        PodPlacement(pod_set="main", index=0, node="n1", containers=(share,)),
        PodPlacement(pod_set="main", index=1, node="n1", containers=(share,)),
    )


def test_a_gang_that_finds_no_room_for_its_last_pod_gets_nothing_and_leaves_nothing_behind() -> None:
    fleet = Fleet(n1=[card("a"), card("b")])
    before = dict(fleet.cards.used)
    placed = place(fleet.cards, fleet.nodes, [gang(3, container(gpu=1))], fleet.trail)
    assert placed.placements == ()
    assert placed.reason == WAITING_FOR_CARDS
    assert placed.message.startswith("pod 3 of 3 of pod set main finds no cards in any flavor: asked 1 NVIDIA card(s)")
    assert fleet.cards.used == before


def test_what_no_card_holds_even_when_idle_is_told_apart_from_waiting() -> None:
    fleet = Fleet(n1=[card("a")])
    placed = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=40000))], fleet.trail)
    assert placed.reason == EXCEEDS_CARDS
    assert placed.message == (
        "pod 1 of 1 of pod set main finds no cards in any flavor: asked 1 NVIDIA card(s) with 40000 MiB and 0 % of the "
        "cores each; largest free piece 32768 MiB on one card of 32768 MiB, 32768 MiB free in sum; "
        "1 node(s): 1 CardInsufficientMemory"
    )


def test_nodes_with_cards_that_take_no_such_pod_are_told_with_why_and_not_as_if_there_were_none() -> None:
    fleet = Fleet(n1=[card("a")], n2=[card("b")], n3=[card("c")], n4=[card("d")])
    v100, taint = {"card": "v100"}, (Taint(key="gpu", effect=Effect.NO_SCHEDULE),)
    fleet.nodes["n1"] = fleet.nodes["n2"] = NodeObserved(name="n1", labels=v100, taints=taint)
    fleet.nodes["n3"] = NodeObserved(name="n3", labels=v100, unschedulable=True)
    fleet.nodes["n4"] = NodeObserved(name="n4", labels={"card": "a100"})
    asked = replace(gang(1, container(gpu=1)), flavor=FlavorObserved(name="v100", node_labels=v100))
    placed = place(fleet.cards, fleet.nodes, [asked], fleet.trail)
    assert placed.reason == EXCEEDS_CARDS
    assert placed.message.endswith("; 3 node(s) with cards take no such pod: 2 taint gpu is not tolerated, 1 cordoned")


def test_of_a_card_that_holds_more_than_it_has_nothing_is_free() -> None:
    fleet = Fleet(n1=[card("a")])
    fleet.cards.propose("w", 1, place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1))], fleet.trail).placements)
    fleet.cards.register(DevicesRegistered(node="n1", cards=(replace(card("a"), memory=16384),)))
    told = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=100))], fleet.trail)
    assert "largest free piece 0 MiB on one card of 16384 MiB, 0 MiB free in sum" in told.message


def test_of_a_node_with_cards_of_several_vendors_what_is_free_of_those_asked_for_is_told() -> None:
    fleet = Fleet(n1=[card("a"), replace(card("b"), memory=65536, model="DCU", vendor="DCU")])
    told = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=40000))], fleet.trail)
    assert "largest free piece 32768 MiB on one card of 32768 MiB, 32768 MiB free in sum" in told.message
    asks = container(gpu=1, mem=40000), ContainerShape(name="d", limits={"hygon.com/dcunum": 1, "hygon.com/dcumem": 1})
    both = place(fleet.cards, fleet.nodes, [gang(1, *asks)], fleet.trail)
    assert (
        "; DCU: largest free piece 65536 MiB on one card of 65536 MiB, 65536 MiB free in sum; NVIDIA: " in both.message
    )


def test_pods_that_all_cards_together_could_not_hold_are_told_so() -> None:
    fleet = Fleet(n1=[card("a"), card("b")])
    three, two = gang(3, container(gpu=1)), gang(2, container(gpu=1))
    told = place_or_tell(fleet.cards, fleet.nodes, [three], fleet.trail)
    assert told.reason == WAITING_FOR_CARDS and told.message.endswith(NOT_EVEN_IDLE)
    fleet.cards.propose("w", 1, place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1))], fleet.trail).placements)
    before = dict(fleet.cards.used)
    waits = place_or_tell(fleet.cards, fleet.nodes, [two], fleet.trail)
    assert waits.reason == WAITING_FOR_CARDS and NOT_EVEN_IDLE not in waits.message
    other = replace(two, pod_set=replace(two.pod_set, name="other"))
    assert NOT_EVEN_IDLE in place_or_tell(fleet.cards, fleet.nodes, [two, other], fleet.trail).message
    assert fleet.cards.used == before
    one = Fleet(n1=[card("a")])
    assert NOT_EVEN_IDLE in place_or_tell(one.cards, one.nodes, [two], one.trail).message


def test_who_names_a_card_that_others_have_waits_for_it_however_many_like_it_stand_elsewhere() -> None:
    fleet = Fleet(n1=[card("a")], n2=[card("b")])
    named = gang(1, container(gpu=1), annotations={"nvidia.com/use-gpuuuid": "b"})
    fleet.cards.propose("w", 1, place(fleet.cards, fleet.nodes, [named], fleet.trail).placements)
    assert place(fleet.cards, fleet.nodes, [named], fleet.trail).reason == WAITING_FOR_CARDS
    nobody_s = gang(1, container(gpu=1), annotations={"nvidia.com/use-gpuuuid": "c"})
    assert place(fleet.cards, fleet.nodes, [nobody_s], fleet.trail).reason == EXCEEDS_CARDS


def test_who_wants_a_chip_split_by_software_waits_for_the_node_that_does_it_beside_another_that_does_not() -> None:
    def chip(uuid: str) -> Card:
        return Card(uuid=uuid, slots=1, memory=65536, cores=20, model="Ascend910B3", vendor="Ascend910B3")

    fleet = Fleet(n1=[chip("a")], n2=[chip("b")])
    fleet.cards.register(DevicesRegistered(node="n2", cards=(chip("b"),), soft_split=True))
    name = "huawei.com/Ascend910B3"
    one = ContainerShape(name="c", limits={name: 1, f"{name}-memory": 8000})
    soft = gang(1, one, annotations={"huawei.com/vnpu-mode": "hami-core"})
    fleet.cards.propose("w", 1, place(fleet.cards, fleet.nodes, [soft], fleet.trail).placements)
    assert place(fleet.cards, fleet.nodes, [soft], fleet.trail).reason == WAITING_FOR_CARDS


@pytest.mark.parametrize(("never", "count"), [(False, 1), (True, 0)])
def test_a_node_that_says_it_does_not_split_by_software_does_not_where_hamis_configuration_has_every_node_do_it(
    count: int, *, never: bool
) -> None:
    chip = Card(uuid="a", slots=4, memory=65536, cores=20, model="Ascend910B3", vendor="Ascend910B3")
    fleet = Fleet(n=[chip])
    fleet.cards.register(DevicesRegistered(node="n", cards=(chip,), never_soft_split=never))
    name = "huawei.com/Ascend910B3"
    one = ContainerShape(name="c", limits={name: 1, f"{name}-memory": 8000})
    everywhere = card_config(DeviceConfigObserved(namespace="hami", name="m", soft_split=True))
    soft = replace(gang(1, one, annotations={"huawei.com/vnpu-mode": "hami-core"}), config=everywhere)
    assert len(place(fleet.cards, fleet.nodes, [soft], fleet.trail).placements) == count


def test_memory_that_is_free_only_in_sum_does_not_count_as_room() -> None:
    """32 cards with 17,000 MiB taken each leave 504,576 MiB, and not one request for 16,000."""
    fleet = Fleet(n1=[card(f"c{i:02}") for i in range(32)])
    first = place(fleet.cards, fleet.nodes, [gang(32, container(gpu=1, mem=17000, cores=40))], fleet.trail)
    fleet.cards.propose("w", 1, first.placements)
    placed = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=16000, cores=40))], fleet.trail)
    assert placed.reason == WAITING_FOR_CARDS
    assert "largest free piece 15768 MiB on one card of 32768 MiB, 504576 MiB free in sum" in placed.message
    assert "32 CardInsufficientMemory" in placed.message


def test_a_third_job_without_cores_is_refused_where_two_halves_used_them_up() -> None:
    fleet = Fleet(n1=[card("a")])
    first = place(fleet.cards, fleet.nodes, [gang(2, container(gpu=1, mem=16000, cores=50))], fleet.trail)
    fleet.cards.propose("w", 1, first.placements)
    placed = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=500))], fleet.trail)
    assert "1 CardComputeUnitsExhausted" in placed.message


def test_spread_over_nodes_takes_the_emptiest_and_the_first_by_name_of_equals() -> None:
    fleet = Fleet(n2=[card("b")], n1=[card("a")])
    shaped = gang(2, container(gpu=1, mem=1000), annotations={"hami.io/node-scheduler-policy": "spread"})
    placed = place(fleet.cards, fleet.nodes, [shaped], fleet.trail)
    assert [each.node for each in placed.placements] == ["n1", "n2"]


@pytest.mark.parametrize("policy", ["binpack", "fullest", ""])
def test_a_policy_that_there_is_not_packs_nodes(policy: str) -> None:
    fleet = Fleet(n2=[card("b")], n1=[card("a")])
    shaped = gang(2, container(gpu=1, mem=1000), annotations={"hami.io/node-scheduler-policy": policy})
    placed = place(fleet.cards, fleet.nodes, [shaped], fleet.trail)
    assert [each.node for each in placed.placements] == ["n1", "n1"]


def test_pod_sets_that_only_fit_with_the_larger_first_are_placed_and_told_in_the_order_of_the_workload() -> None:
    fleet = Fleet(n1=[card("a")], n2=[card("b", memory=16384)])
    spread = {"hami.io/node-scheduler-policy": "spread"}
    small = gang(1, container(gpu=1, mem=16000, cores=10), name="small", annotations=spread)
    large = gang(1, container(gpu=1, mem=32000, cores=10), name="large", annotations=spread)
    placed = place(fleet.cards, fleet.nodes, [small, large], fleet.trail)
    assert [(each.pod_set, each.node) for each in placed.placements] == [("small", "n2"), ("large", "n1")]


def test_pods_have_percent_of_a_chip_that_is_split_by_software_and_all_of_it_together() -> None:
    chip = Card(uuid="a", slots=4, memory=65536, cores=20, model="Ascend910B3", vendor="Ascend910B3")
    fleet = Fleet(n1=[chip])
    fleet.cards.register(DevicesRegistered(node="n1", cards=(chip,), soft_split=True))
    name = "huawei.com/Ascend910B3"
    one = ContainerShape(name="c", limits={name: 1, f"{name}-memory": 8000, f"{name}-core": 50})
    soft = {"huawei.com/vnpu-mode": "hami-core"}
    placed = place(fleet.cards, fleet.nodes, [gang(2, one, annotations=soft)], fleet.trail)
    assert [share.cores for pod in placed.placements for shares in pod.containers for share in shares] == [50, 50]
    fleet.cards.propose("team/a", 1, placed.placements)
    assert not fleet.cards.overfull(["n1"])
    third = place(fleet.cards, fleet.nodes, [gang(1, one, annotations=soft)], fleet.trail)
    assert (third.placements, third.reason) == ((), WAITING_FOR_CARDS)


@pytest.mark.parametrize(
    ("one", "asked", "limit", "given"),
    [
        (
            Card(uuid="a", slots=4, memory=65536, model="DCU-K100", vendor="DCU"),
            {"hygon.com/dcunum": 1},
            "hygon.com/dcumem",
            65536,
        ),
        (
            Card(uuid="a", slots=4, memory=32768, model="Iluvatar-MR-V100", vendor="MR-V100"),
            {"iluvatar.ai/MR-V100-vgpu": 1},
            "iluvatar.ai/MR-V100.vMem",
            128,
        ),
        (
            Card(uuid="a", slots=4, memory=196592, cores=304, model="AMD-Instinct-MI300X", vendor="AMD"),
            {"amd.com/gpu": 1, "amd.com/gpucores": 30},
            "amd.com/gpucores",
            30,
        ),
        (
            Card(uuid="a", slots=2, memory=0, cores=3, model="AWSNeuron", vendor="AWSNeuron"),
            {"aws.amazon.com/neuroncore": 2},
            "aws.amazon.com/neuroncore",
            2,
        ),
    ],
)
def test_a_limit_of_a_namespace_counts_what_a_card_of_any_vendor_gives(
    one: Card, asked: dict[str, int], limit: str, given: int
) -> None:
    twin = replace(one, uuid="b", index=1)
    for pods, allowed in ((1, given), (2, 2 * given)):
        for hard, placed in ((allowed, pods), (allowed - 1, 0)):
            fleet = Fleet(n1=[one, twin])
            fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={f"limits.{limit}": hard}))
            found = place(fleet.cards, fleet.nodes, [gang(pods, ContainerShape(name="c", limits=asked))], fleet.trail)
            assert len(found.placements) == placed, (pods, hard)
            fleet.cards.propose("/w", 1, found.placements)
            more = place(fleet.cards, fleet.nodes, [gang(1, ContainerShape(name="c", limits=asked))], fleet.trail)
            assert more.placements == () or not placed


def test_what_a_pod_has_of_one_vendor_does_not_count_in_the_limit_of_another() -> None:
    fleet = Fleet(n1=[card("a"), Card(uuid="b", slots=4, memory=65536, model="DCU-K100", vendor="DCU")])
    fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={"limits.nvidia.com/gpumem": 16000}))
    other = ContainerShape(name="d", limits={"hygon.com/dcunum": 1, "hygon.com/dcumem": 8000})
    placed = place(fleet.cards, fleet.nodes, [gang(1, other, container(gpu=1, mem=16000))], fleet.trail)
    assert [[share.memory for share in shares] for shares in placed.placements[0].containers] == [[8000], [16000]]


def served(by: int, main: int) -> Gang:
    """A pod whose sidecar serves its main container, each with so much memory of a card."""
    sidecar = replace(container("server", gpu=1, mem=by), restartable=True)
    shape = PodShape(
        init_containers=(container("loader", gpu=1, mem=9000), sidecar), containers=(container(gpu=1, mem=main),)
    )
    return Gang(pod_set=PodSet(name="main", count=1, shape=shape), count=1, flavor=None)


def test_a_sidecar_has_its_cards_beside_those_of_the_containers_that_it_runs_beside() -> None:
    fleet = Fleet(n1=[card("a")])
    assert place(fleet.cards, fleet.nodes, [served(20000, 20000)], fleet.trail).reason == EXCEEDS_CARDS
    placed = place(fleet.cards, fleet.nodes, [served(20000, 12000)], fleet.trail)
    assert (placed.placements[0].init, placed.placements[0].sidecars) == (2, (1,))
    fleet.cards.propose("team/a", 1, placed.placements)
    assert fleet.cards.used["a"].memory == 32000


def test_a_limit_of_a_namespace_counts_a_sidecar_beside_the_containers_that_it_runs_beside() -> None:
    for limit, count in ((32000, 1), (31999, 0)):
        fleet = Fleet(n1=[card("a"), card("b")])
        fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={"limits.nvidia.com/gpumem": limit}))
        assert len(place(fleet.cards, fleet.nodes, [served(20000, 12000)], fleet.trail).placements) == count


@pytest.mark.parametrize(("limit", "count"), [(13000, 1), (12999, 0)])
def test_a_limit_of_a_namespace_counts_what_an_init_container_has_of_other_cards(limit: int, count: int) -> None:
    fleet = Fleet(n1=[card("a"), card("b")])
    fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={"limits.nvidia.com/gpumem": limit}))
    loader = container("loader", gpu=2, mem=5000)
    shape = PodShape(init_containers=(loader, loader), containers=(container(gpu=1, mem=8000),))
    pod = Gang(pod_set=PodSet(name="main", count=1, shape=shape), count=1, flavor=None)
    placed = place(fleet.cards, fleet.nodes, [pod], fleet.trail)
    assert len(placed.placements) == count, "one card counts with the container, the other with what loads before it"
    fleet.cards.propose("/w", 1, placed.placements)
    assert limits_of(fleet.cards, "", HAMI.resources)["nvidia.com/gpumem"].used == 13000 * count


@pytest.mark.parametrize(("limit", "other"), [(13000, "a"), (12999, "b")])
def test_a_limit_of_a_namespace_counts_the_most_that_a_pod_has_of_each_card_at_a_time(limit: int, other: str) -> None:
    """8000 of the one card, where the init container was, and 5000 of the other; else all goes on the one."""
    fleet = Fleet(n1=[card("a"), card("b")])
    fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={"limits.nvidia.com/gpumem": limit}))
    containers = (container(gpu=1, mem=5000), container("other", gpu=1, mem=5000))
    shape = PodShape(init_containers=(container("loader", gpu=1, mem=8000),), containers=containers)
    pod = Gang(pod_set=PodSet(name="main", count=1, shape=shape), count=1, flavor=None)
    (placed,) = place(fleet.cards, fleet.nodes, [pod], fleet.trail).placements
    assert [shares[0].uuid for shares in placed.containers] == ["b", "b", other]


def test_cards_that_go_together_are_found_within_a_limit_that_holds_no_more_of_them() -> None:
    def chip(index: int) -> Card:
        return Card(uuid=f"c{index}", index=index, slots=1, memory=65536, model="Ascend910C", vendor="Ascend910C")

    name = "huawei.com/Ascend910C"
    for limit, count in ((2 * 65536, 1), (2 * 65536 - 1, 0)):
        fleet = Fleet(n1=[chip(index) for index in (0, 1, 3)])
        fleet.cards.care.set_quota(CardQuotaObserved(namespace="", name="q", hard={f"limits.{name}-memory": limit}))
        pair = gang(1, ContainerShape(name="c", limits={name: 2}))
        placed = place(fleet.cards, fleet.nodes, [pair], fleet.trail).placements
        assert [[share.uuid for share in one.containers[0]] for one in placed] == [["c1", "c0"]] * count
