"""What single vendors do in their own way: which cards go together, who may share one, what a slice takes."""

import json

import pytest
from msgspec.structs import replace

from events.card import Card, CardRequest, CardShare
from events.device_config import DeviceConfigObserved
from events.pod_set import ContainerShape
from projections.devices.card_config import card_config
from projections.devices.card_use import CardUse, NodeCards
from projections.devices.fit.kunlun_boards import together, wholeness
from projections.devices.fit.node_scores import vendor_score
from projections.devices.fit.pod_fit import asking, fit_asking
from projections.devices.placement.gang import place
from projections.devices.placement.ranking import rank
from projections.devices.requests.card_requests import read_request
from projections.devices.requests.mutation import ContainerRequest, mutate
from projections.devices.vendors.table import BY_WORD
from services.watcher.settings.device_config import hami_config
from tests.projections.devices.makers import Fleet, gang


def cards(word: str, count: int, **more: object) -> tuple[Card, ...]:
    given = {"slots": 4, "memory": 65536, "mode": "", **more}
    return tuple(
        Card(uuid=f"c{i}", index=i, model=word, vendor=word, **given)  # type: ignore[arg-type]
        for i in range(count)
    )


def found(on: NodeCards, request: CardRequest, **annotations: str) -> list[str]:
    notes = {name.replace("__", "/").replace("_", "-"): value for name, value in annotations.items()}
    fit = fit_asking(on, [[request]], 0, asking(notes, [request]))
    return sorted(share.uuid for shares in fit.shares or () for share in shares)


@pytest.mark.parametrize(
    ("free", "count", "taken"),
    [
        ({0, 1, 2, 3, 4}, 1, (4,)),
        ({0, 1, 2, 4, 5, 6, 7}, 1, (0,)),
        ({0, 4, 5, 6}, 1, (0,)),
        ({0, 1, 2, 4, 5}, 1, (0,)),
        ({0, 1, 4, 5, 6, 7}, 1, (0,)),
        ({0, 1, 2, 3, 4, 5}, 2, (4, 5)),
        ({0, 4}, 2, (0, 4)),
        ({0, 5}, 2, ()),
        ({0, 1, 4, 5}, 4, (0, 1, 4, 5)),
        ({0, 1, 2, 4, 5, 6}, 4, (0, 1, 4, 5)),
        (set(range(8)), 8, tuple(range(8))),
        (set(range(7)), 8, ()),
        (set(range(8)), 3, ()),
    ],
)
def test_cards_of_kunlunxin_go_together_so_that_what_is_left_does_too(
    free: set[int], count: int, taken: tuple[int, ...]
) -> None:
    assert together(free, count) == taken


def test_a_wing_that_is_given_whole_counts_more_than_one_that_is_broken() -> None:
    assert wholeness({0, 1}, {2}) == 1000
    assert wholeness({0, 1}, {0, 1, 2, 3}) == 3000
    assert wholeness(set(), {0, 1, 2, 3, 4}) == 1000
    assert wholeness({0, 1, 2}, {4, 5}) == 2000
    assert wholeness({0, 1, 2, 3}, {4}) == 0


@pytest.mark.parametrize(
    ("asked", "size", "cores"),
    [
        (1, 24576, 25),
        (24576, 24576, 25),
        (24577, 49152, 50),
        (49152, 49152, 50),
        (49153, 98304, 100),
        (99999, 98304, 100),
    ],
)
def test_memory_of_an_xpu_is_rounded_up_to_one_of_three_sizes(asked: int, size: int, cores: int) -> None:
    limits = {"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": asked}
    assert read_request(BY_WORD["XPU"], limits, {}) == CardRequest(vendor="XPU", count=1, memory=size, cores=cores)
    written = mutate(BY_WORD["XPU"], ContainerRequest(limits=limits), {}).asked.limits
    assert written["kunlunxin.com/vxpu-memory"] == size


def test_who_shares_an_xpu_has_as_much_of_it_as_the_others() -> None:
    on = NodeCards(node="n", cards=cards("XPU", 1, memory=98304), used={"c0": CardUse(1, 24576, 25)})
    assert found(on, CardRequest(vendor="XPU", count=1, memory=24576, cores=25)) == ["c0"]
    assert found(on, CardRequest(vendor="XPU", count=1, memory=49152, cores=50)) == []
    halved = NodeCards(node="n", cards=on.cards, used={"c0": CardUse(1, 49152, 50)})
    assert found(halved, CardRequest(vendor="XPU", count=1, memory=24576, cores=25)) == []
    full = NodeCards(node="n", cards=on.cards, used={"c0": CardUse(4, 98304, 100)})
    assert found(full, CardRequest(vendor="XPU", count=1, memory=24576, cores=25)) == []


@pytest.mark.parametrize("cores", [0, 20, 100])
def test_an_xpu_is_shared_by_its_memory_whatever_cores_it_registers(cores: int) -> None:
    fleet = Fleet(n=list(cards("XPU", 1, memory=98304, cores=cores)))
    limits = {"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": 49152}
    placed = place(fleet.cards, fleet.nodes, [gang(2, ContainerShape(name="c", limits=limits))], fleet.trail)
    assert len(placed.placements) == 2, placed.message


def test_neuron_devices_are_neighbours_and_cores_are_those_that_are_left() -> None:
    own = {"cores": 3, "slots": 2, "memory": 0, "custom": {"AWSNodeType": "trn1.32xlarge"}}
    on = NodeCards(node="n", cards=cards("AWSNeuron", 8, **own), used={"c1": CardUse(1, 0, 1)})
    assert found(on, CardRequest(vendor="AWSNeuron", count=4, cores=2)) == ["c4", "c5", "c6", "c7"]
    assert found(on, CardRequest(vendor="AWSNeuron", count=2, cores=2)) == [], "no such run on Trainium"
    small = NodeCards(node="n", cards=on.cards[1:2], used=on.used)
    request = CardRequest(vendor="AWSNeuron", count=1, cores=1)
    fit = fit_asking(small, [[request]], 0, asking({}, [request]))
    assert fit.shares is not None and fit.shares[0][0].cores == 2, "the other core, as a bit"
    assert found(small, CardRequest(vendor="AWSNeuron", count=1, cores=2)) == []


def test_neighbours_are_those_by_their_own_numbers_in_whatever_order_a_node_lists_them() -> None:
    own = {"cores": 3, "slots": 2, "memory": 0, "custom": {"AWSNodeType": "inf2.24xlarge"}}
    on = NodeCards(node="n", cards=cards("AWSNeuron", 4, **own), used={"c1": CardUse(1, 0, 1)})
    assert found(on, CardRequest(vendor="AWSNeuron", count=2, cores=2)) == ["c2", "c3"]
    assert found(replace(on, cordoned=frozenset({"c2"})), CardRequest(vendor="AWSNeuron", count=2, cores=2)) == []
    mixed = replace(on, cards=tuple(on.cards[place] for place in (0, 2, 1, 3)), used={})
    assert found(mixed, CardRequest(vendor="AWSNeuron", count=2, cores=2)) == ["c0", "c1"]


def test_a_slice_of_enflame_is_the_smallest_profile_that_covers_what_is_asked() -> None:
    profiles = json.dumps({"1g.6gb": "0", "3g.20gb": "1", "6g.40gb": "2"})
    own = {"slots": 6, "memory": 40960, "custom": {"profiles": profiles}}
    on = NodeCards(node="n", cards=cards("Enflame", 1, **own))
    vendor = BY_WORD["Enflame"]
    names = {"enflame.com/gcu-memory": 7, "enflame.com/gcu-core": 10}
    request = read_request(vendor, names, {})
    assert request is not None
    fit = fit_asking(on, [[request]], 0, asking({}, [request]))
    assert fit.shares is not None
    (share,) = fit.shares[0]
    assert (share.memory, share.cores, share.slots) == (20480, 50, 3)
    for memory, slices in ((6, 1), (7, 3), (20, 3), (21, 6), (40, 6)):
        exact = read_request(vendor, {"enflame.com/gcu-memory": memory}, {})
        assert exact is not None
        fit = fit_asking(on, [[exact]], 0, asking({}, [exact]))
        assert fit.shares is not None and fit.shares[0][0].slots == slices
    assert read_request(vendor, {"enflame.com/gcu-memory": 20480}, {}) is not None
    taken = NodeCards(node="n", cards=on.cards, used={"c0": CardUse(4, 26624, 66)})
    assert found(taken, request) == []


def test_the_cores_of_a_slice_of_enflame_are_its_part_of_the_largest_profile() -> None:
    profiles = json.dumps({"1g.6gb": "0", "3g.20gb": "1"})
    own = {"slots": 6, "memory": 20480, "custom": {"profiles": profiles, "maxSlice": 3}}
    on = NodeCards(node="n", cards=cards("Enflame", 1, **own))
    request = CardRequest(vendor="Enflame", count=1, memory=1)
    fit = fit_asking(on, [[request]], 0, asking({}, [request]))
    assert fit.shares is not None and fit.shares[0][0].cores == 33
    full = replace(on, used={"c0": CardUse(3, 6144, 99)})
    assert fit_asking(full, [[request]], 0, asking({}, [request])).refusals == {"CardInsufficientCore": 1}


@pytest.mark.parametrize(("word", "reason"), [("Metax-SGPU", "CardUnhealthy"), ("Ascend910B3", "CardNotHealth")])
def test_a_card_that_is_not_healthy_is_told_in_the_words_of_its_vendor(word: str, reason: str) -> None:
    on = NodeCards(node="n", cards=cards(word, 2, healthy=False))
    request = CardRequest(vendor=word, count=1, memory=1024, cores=10)
    assert fit_asking(on, [[request]], 0, asking({}, [request])).refusals == {reason: 2}


def test_a_cordoned_card_of_metax_is_told_as_any_other() -> None:
    on = NodeCards(node="n", cards=cards("Metax-SGPU", 1), cordoned=frozenset({"c0"}))
    request = CardRequest(vendor="Metax-SGPU", count=1, memory=1024, cores=10)
    assert fit_asking(on, [[request]], 0, asking({}, [request])).refusals == {"CardCordoned": 1}


def test_work_of_a_class_and_work_without_do_not_share_a_card_of_metax() -> None:
    tenants = {"c0": ("online",)}
    on = NodeCards(node="n", cards=cards("Metax-SGPU", 1), used={"c0": CardUse(1, 1024, 0)}, tenants=tenants)
    request = CardRequest(vendor="Metax-SGPU", count=1, memory=1024, cores=10)
    key = "metax-tech.com__sgpu_app_class"
    assert found(on, request) == []
    assert found(on, request, **{key: "offline"}) == [], "what is online suspends it"
    assert found(on, request, **{key: "online"}) == ["c0"]


def test_containers_of_a_pod_have_their_parts_of_one_card_of_moore_threads() -> None:
    request = CardRequest(vendor="Mthreads", count=1, memory=1024, cores=4)
    on = NodeCards(node="n", cards=cards("Mthreads", 2, cores=16, memory=4096))
    fit = fit_asking(on, [[request], [request]], 0, asking({}, [request]))
    assert fit.shares is not None and len({share.uuid for shares in fit.shares for share in shares}) == 1
    large = CardRequest(vendor="Mthreads", count=1, memory=3000, cores=4)
    apart = fit_asking(on, [[large], [large]], 0, asking({}, [large]))
    assert apart.shares is None and "CardNotFoundCustomFilterRule" in apart.refusals


def test_containers_of_moore_threads_have_one_card_whatever_an_init_container_had() -> None:
    pair, part = (CardRequest(vendor="Mthreads", count=count, memory=1024, cores=4) for count in (2, 1))
    on = NodeCards(node="n", cards=cards("Mthreads", 2, cores=16, memory=4096))
    fit = fit_asking(on, [[pair], [part], [part]], 1, asking({}, [part]))
    assert fit.shares is not None and len({share.uuid for shares in fit.shares[1:] for share in shares}) == 1
    again = fit_asking(on, [[pair], [part], [part]], 2, asking({}, [part]))
    assert "CardNotFoundCustomFilterRule" in again.refusals, "init containers have one card, too"
    beside = fit_asking(on, [[pair], [part]], 1, asking({}, [part]), sidecars=(0,))
    assert "CardNotFoundCustomFilterRule" in beside.refusals, "what runs on has its cards beside the others"


def test_a_die_on_a_board_that_is_in_use_is_not_given_to_a_pod_that_wants_a_board_alone() -> None:
    dies = tuple(
        Card(uuid=f"d{i}", index=i, slots=2, memory=0, model="Vastai", custom={"AIC": board, "DeviceStrategy": "die"})
        for i, board in enumerate("112")
    )
    on = NodeCards(node="n", cards=dies, used={"d0": CardUse(1)})
    mutex = {"hami.io__gpu_scheduler_policy": "mutex"}
    assert found(on, CardRequest(vendor="Vastai", count=1), **mutex) == ["d2"]
    assert found(on, CardRequest(vendor="Vastai", count=2), **mutex) == []
    assert found(replace(on, cards=dies[2:]), CardRequest(vendor="Vastai", count=1), **mutex) == ["d2"]


@pytest.mark.parametrize("strategy", ["card", "whole", ""])
def test_cards_that_are_no_dies_of_a_board_are_given_whatever_else_of_the_board_is_in_use(strategy: str) -> None:
    on = NodeCards(
        node="n",
        cards=tuple(
            Card(
                uuid=f"d{i}", index=i, slots=2, memory=0, model="Vastai", custom={"AIC": 1, "DeviceStrategy": strategy}
            )
            for i in range(2)
        ),
        used={"d0": CardUse(1)},
    )
    mutex = {"hami.io__gpu_scheduler_policy": "mutex"}
    assert found(on, CardRequest(vendor="Vastai", count=1), **mutex) == ["d1"]


@pytest.mark.parametrize(
    ("word", "limits", "refused"),
    [
        ("Mthreads", {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 3}, True),
        ("Mthreads", {"mthreads.com/vgpu": 0}, True),
        ("Mthreads", {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 4}, False),
        ("AWSNeuron", {"aws.amazon.com/neuroncore": 3}, True),
        ("AWSNeuron", {"aws.amazon.com/neuroncore": 4}, False),
        ("AWSNeuron", {"aws.amazon.com/neuron": 0}, True),
        ("Enflame", {"enflame.com/drs-gcu": 0}, True),
        ("Enflame", {"enflame.com/gcu-memory": 0, "enflame.com/gcu-core": 50}, True),
        ("Enflame", {"enflame.com/gcu-memory": 20, "enflame.com/gcu-core": 101}, True),
        ("Enflame", {"enflame.com/gcu-memory": 20, "enflame.com/gcu-core": 100}, False),
    ],
)
def test_amounts_that_no_card_can_give_are_refused(word: str, limits: dict[str, int], refused: bool) -> None:
    assert bool(mutate(BY_WORD[word], ContainerRequest(limits=limits), {}).refused) is refused


def test_several_cards_of_iluvatar_are_given_whole() -> None:
    vendor = BY_WORD["MR-V100"]
    asked = mutate(vendor, ContainerRequest(limits={vendor.resources.count: 2}), {}).asked
    request = read_request(vendor, asked.limits, {})
    assert request is not None and request.cores >= 100
    on = NodeCards(node="n", cards=cards("MR-V100", 3), used={"c0": CardUse(1, 256, 5)})
    assert found(on, request) == ["c1", "c2"]


def test_a_node_whose_cards_lie_in_one_network_is_taken_first() -> None:
    def chips(name: str, networks: int) -> list[Card]:
        own = {"slots": 1, "memory": 32768, "cores": 30, "model": "Ascend910A"}
        return [
            Card(uuid=f"{name}{i}", index=i, custom={"NetworkID": i % networks}, **own)  # type: ignore[arg-type]
            for i in range(2)
        ]

    fleet = Fleet(a=chips("a", 2), b=chips("b", 1))
    wanted = gang(1, ContainerShape(name="c", limits={"huawei.com/Ascend910A": 2}))
    placed = place(fleet.cards, fleet.nodes, [wanted], fleet.trail)
    assert [one.node for one in placed.placements] == ["b"]


def test_of_equal_nodes_the_first_by_name_is_taken_also_where_cards_add_to_their_score() -> None:
    own = {"slots": 1, "memory": 32768, "cores": 30, "model": "Ascend910A"}
    fleet = Fleet(**{name: [Card(uuid=name, custom={"NetworkID": 0}, **own)] for name in "bac"})  # type: ignore[arg-type]
    wanted = gang(2, ContainerShape(name="c", limits={"huawei.com/Ascend910A": 1}))
    placed = place(fleet.cards, fleet.nodes, [wanted], fleet.trail)
    assert [one.node for one in placed.placements] == ["a", "b"]


def test_each_container_counts_for_itself_where_its_cards_lie_in_one_network() -> None:
    apart = [[share("a", NetworkID=0), share("b", NetworkID=0)], [share("c", NetworkID=1), share("d", NetworkID=1)]]
    mixed = [[share("a", NetworkID=0), share("b", NetworkID=1)], [share("c", NetworkID=0), share("d", NetworkID=1)]]
    unknown = [[share("a", NetworkID=0), share("b", NetworkID=0)], [share("c")]]
    vendor = BY_WORD["Ascend910B3"]
    assert [vendor_score(vendor, each, (), {}, "binpack") for each in (apart, mixed, unknown)] == [20, 10, 0]


def share(uuid: str, **custom: int) -> CardShare:
    return CardShare(uuid=uuid, vendor="Ascend910B3", memory=65536, cores=0, custom=dict(custom))


@pytest.mark.parametrize(
    ("losses", "score"), [('{"1": 30, "2": 700}', 1300), ('{"1": 30}', 2000), ("broken", 2000), (None, 0)]
)
def test_a_node_of_metax_that_tells_of_no_loss_has_none(losses: str | None, score: int) -> None:
    told = {} if losses is None else {"metax-tech.com/gpu.topology.losses": losses}
    assert vendor_score(BY_WORD["Metax-GPU"], [[share("a"), share("b")]], (), told, "binpack") == score


def test_where_nodes_are_spread_a_node_of_metax_tells_what_it_loses_in_its_other_annotation() -> None:
    told = {"metax-tech.com/gpu.topology.losses": '{"1": 30}', "metax-tech.com/gpu.topology.scores": '{"1": 500}'}
    vendor = BY_WORD["Metax-GPU"]
    assert [vendor_score(vendor, [[share("a")]], (), told, policy) for policy in ("binpack", "spread")] == [1970, 1500]


def test_boards_count_for_a_node_of_vastai_only_where_its_cards_are_dies() -> None:
    vendor = BY_WORD["Vastai"]
    for strategy, score in (("die", 1), ("card", 0)):
        own = [
            CardShare(uuid=uuid, vendor="Vastai", memory=0, cores=0, custom={"AIC": 1, "DeviceStrategy": strategy})
            for uuid in "ab"
        ]
        assert vendor_score(vendor, [own], (), {}, "binpack") == score


def test_of_nodes_of_metax_the_one_that_loses_least_by_giving_so_many_cards_is_taken() -> None:
    own = {name: cards("Metax-GPU", 2, slots=1) for name in ("a", "b")}
    fleet = Fleet(**{name: [replace(one, uuid=name + one.uuid) for one in each] for name, each in own.items()})
    for name, losses in (("a", '{"1": 50}'), ("b", '{"1": 20}')):
        told = {"metax-tech.com/gpu.topology.losses": losses}
        fleet.cards.register(replace(fleet.cards.nodes[name], link_scores=told))
    wanted = gang(1, ContainerShape(name="c", limits={"metax-tech.com/gpu": 1}))
    placed = place(fleet.cards, fleet.nodes, [wanted], fleet.trail)
    assert [one.node for one in placed.placements] == ["b"]


def test_a_card_of_metax_is_known_to_be_online_by_what_the_log_has_given_of_it() -> None:
    fleet = Fleet(n=list(cards("Metax-SGPU", 1)))
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": 1, "metax-tech.com/vcore": 10}
    online = gang(1, ContainerShape(name="c", limits=limits), annotations={"metax-tech.com/sgpu-app-class": "online"})
    plain = gang(1, ContainerShape(name="c", limits=limits))
    first = place(fleet.cards, fleet.nodes, [online], fleet.trail)
    fleet.cards.propose("team/a", 1, first.placements)
    assert not place(fleet.cards, fleet.nodes, [plain], fleet.trail).placements
    assert place(fleet.cards, fleet.nodes, [online], fleet.trail).placements


METAX = "metax-tech.com__sgpu_"
METAX_ASKS = CardRequest(vendor="Metax-SGPU", count=1, memory=1024, cores=10)


def node_of(name: str, zones: list[int], used: list[int], tenants: dict[str, tuple[str, ...]]) -> NodeCards:
    own = tuple(
        Card(uuid=f"{name}{i}", index=i, slots=4, memory=65536, model="Metax-SGPU", custom={"LinkZone": zone})
        for i, zone in enumerate(zones)
    )
    return NodeCards(node=name, cards=own, used={f"{name}{i}": CardUse(1, 65536, 100) for i in used}, tenants=tenants)


@pytest.mark.parametrize(
    ("zones", "count", "taken"),
    [
        ([1, 1, 2, 2, 2], 2, [0, 1]),
        ([1, 1, 2, 2, 2], 3, [2, 3, 4]),
        ([1, 1, 2, 2, 2], 4, [0, 1, 3, 4]),
        ([1, 1, 0], 2, [0, 1]),
        ([1, 0, 2], 2, [0, 2]),
    ],
)
def test_whole_cards_of_metax_come_from_the_smallest_zone_that_has_enough_else_from_as_few_as_possible(
    zones: list[int], count: int, taken: list[int]
) -> None:
    whole = CardRequest(vendor="Metax-SGPU", count=count, cores=100, percent=100)
    on = node_of("n", zones, [], {})
    assert found(on, whole) == [f"n{one}" for one in taken]


def test_zones_of_metax_count_for_no_part_of_a_card_and_for_no_work_of_a_class() -> None:
    last = ["n1", "n2"]
    on = node_of("n", [1, 1, 2], [], {})
    whole = CardRequest(vendor="Metax-SGPU", count=2, cores=100, percent=100)
    assert found(on, whole) == ["n0", "n1"]
    assert found(on, replace(whole, cores=50)) == last, "as anywhere"
    assert found(on, whole, **{METAX + "app_class": "offline"}) == last


@pytest.mark.parametrize(("wish", "best"), [({}, "b"), ({"metax-tech.com/sgpu-topology-aware": "true"}, "a")])
def test_links_among_whole_cards_of_metax_count_for_a_node_only_where_the_pod_wants_that(
    wish: dict[str, str], best: str
) -> None:
    request = CardRequest(vendor="Metax-SGPU", count=2, cores=100, percent=100)
    nodes = [node_of("a", [1, 1, 2, 2], [], {}), node_of("b", [1, 2, 0, 0], [3], {})]
    assert rank(nodes, [[request]], 0, asking(wish, [request]), "binpack").best("binpack").node == best  # type: ignore[union-attr]


LINKED = {"metax-tech.com/sgpu-topology-aware": "true"}


def test_links_that_are_broken_count_against_a_node_of_metax_and_those_of_cards_in_use_do_not_count() -> None:
    whole = CardRequest(vendor="Metax-SGPU", count=2, cores=100, percent=100)
    three, two, one_in_use = (
        node_of("a", [1, 1, 1], [], {}),
        node_of("b", [1, 1], [], {}),
        node_of("c", [1] * 3, [0], {}),
    )
    for nodes, best in (([three, two], "b"), ([three, one_in_use], "c")):
        ranked = rank(nodes, [[whole]], 0, asking(LINKED, [whole]), "spread")
        assert ranked.best("spread").node == best  # type: ignore[union-attr]


def test_links_among_parts_of_cards_of_metax_do_not_count_for_a_node() -> None:
    half = CardRequest(vendor="Metax-SGPU", count=2, cores=50, percent=50)
    nodes = [node_of("a", [1, 1, 2, 2], [], {}), node_of("b", [1, 2, 0, 0], [3], {})]
    assert rank(nodes, [[half]], 0, asking(LINKED, [half]), "binpack").best("binpack").node == "b"  # type: ignore[union-attr]


@pytest.mark.parametrize(("text", "best"), [("", "a"), ("true", "a"), ("false", "b"), ("F", "b"), ("neither", "a")])
def test_where_hamis_configuration_wants_links_they_count_unless_the_pod_says_no(text: str, best: str) -> None:
    wish = {"metax-tech.com/sgpu-topology-aware": text} if text else {}
    request = CardRequest(vendor="Metax-SGPU", count=2, cores=100, percent=100)
    nodes = [node_of("a", [1, 1, 2, 2], [], {}), node_of("b", [1, 2, 0, 0], [3], {})]
    map_ = {"data": {"device-config.yaml": "metax: {sgpuTopologyAware: true}"}, "metadata": {"name": "m"}}
    (fact,) = hami_config(map_)
    assert isinstance(fact, DeviceConfigObserved)
    asks = asking(wish, [request], vendors=card_config(fact).by_word)
    assert rank(nodes, [[request]], 0, asks, "binpack").best("binpack").node == best  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", ["binpack", "spread"])
def test_work_that_is_online_goes_where_it_suspends_nothing_and_has_the_least_company(policy: str) -> None:
    wish = {"metax-tech.com/sgpu-app-class": "online"}
    tenants = {"a": ("offline",), "b": ("online", "online"), "c": ("online", "offline")}
    nodes = [
        NodeCards(
            node=name,
            cards=(replace(cards("Metax-SGPU", 1)[0], uuid=name),),
            used={name: CardUse(len(who), 1024, 0)},
            tenants={name: who},
        )
        for name, who in tenants.items()
    ]
    found = rank(nodes, [[METAX_ASKS]], 0, asking(wish, [METAX_ASKS]), policy)
    assert found.best(policy).node == "c"  # type: ignore[union-attr]


def test_of_nodes_where_it_suspends_nothing_work_that_is_online_goes_where_least_is_on_its_card() -> None:
    wish = {"metax-tech.com/sgpu-app-class": "online"}
    nodes = [node_of("a", [0], [], {"a0": ("online", "offline")}), node_of("b", [0], [], {"b0": ("online",)})]
    found = rank(nodes, [[METAX_ASKS]], 0, asking(wish, [METAX_ASKS]), "binpack")
    assert found.best("binpack").node == "b"  # type: ignore[union-attr]


def test_of_the_cards_of_a_node_work_that_is_online_gets_those_where_it_suspends_nothing_and_has_the_least_company() -> (
    None
):
    who = [("offline",), ("online", "online"), ("online", "offline"), (), ("offline", "offline"), ("online",)]
    on = replace(
        node_of("n", [0] * len(who), [], {f"n{place}": one for place, one in enumerate(who)}),
        used={f"n{place}": CardUse(2 if one else 0, 9000 - 3000 * len(one), 0) for place, one in enumerate(who)},
    )
    line = ["n3", "n5", "n2", "n1", "n0", "n4"]
    for count in range(1, len(line) + 1):
        online = {METAX + "app_class": "online"}
        assert found(on, replace(METAX_ASKS, count=count), **online) == sorted(line[:count])


@pytest.mark.parametrize(("quality", "fits"), [("best-effort", True), ("fixed-share", False)])
def test_a_card_of_metax_has_the_quality_of_those_who_share_it_before_it_says_so_itself(
    quality: str, *, fits: bool
) -> None:
    own = cards("Metax-SGPU", 1, custom={"QosPolicy": "fixed-share"})
    on = NodeCards(node="n", cards=own, used={"c0": CardUse(1, 1024, 10)}, qualities={"c0": "best-effort"})
    assert bool(found(on, METAX_ASKS, **{METAX + "qos_policy": quality})) == fits
    assert found(replace(on, qualities={}), METAX_ASKS, **{METAX + "qos_policy": "fixed-share"}) == ["c0"]


def test_containers_of_a_pod_share_an_idle_card_of_metax_whatever_quality_it_had_before() -> None:
    own = cards("Metax-SGPU", 1, custom={"QosPolicy": "fixed-share"})
    fit = fit_asking(NodeCards(node="n", cards=own), [[METAX_ASKS], [METAX_ASKS]], 0, asking({}, [METAX_ASKS]))
    assert fit.shares is not None


@pytest.mark.parametrize("wish", [{"app-class": "online"}, {"app-class": "offline"}, {"qos-policy": "burst-share"}])
def test_pods_of_a_gang_share_a_card_of_metax_with_each_other_and_the_log_keeps_what_others_must_match(
    wish: dict[str, str],
) -> None:
    fleet = Fleet(n=[replace(one, vendor="Metax-SGPU") for one in cards("Metax-SGPU", 1)])
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": 1, "metax-tech.com/vcore": 10}
    asks = ContainerShape(name="c", limits=limits)
    notes = {f"metax-tech.com/sgpu-{key}": value for key, value in wish.items()}
    placed = place(fleet.cards, fleet.nodes, [gang(2, asks, annotations=notes)], fleet.trail)
    assert len(placed.placements) == 2, placed.message
    fleet.cards.propose("w", 1, placed.placements)
    other = place(fleet.cards, fleet.nodes, [gang(1, asks)], fleet.trail)
    assert not other.placements, "normal work of the lowest quality does not go with any of these"
