"""What is particular to a vendor: units, pairs, groups, whole cards, the pod's terms."""

import pytest
from msgspec.structs import replace

from events.card import Card, CardRequest
from projections.devices.annotations.terms import terms_of
from projections.devices.card_use import CardState, CardUse, NodeCards
from projections.devices.fit.card_checks import OVER_QUOTA, TOO_FEW_ON_NODE, WRONG_MODEL
from projections.devices.fit.pick import pick_cards
from projections.devices.fit.pod_count import NOT_COUNTED
from projections.devices.fit.pod_fit import asking, fit_asking
from projections.devices.namespace_quota import Limit
from projections.devices.vendors.table import BOARD, BY_WORD, DIE, STRATEGY, VENDORS
from tests.projections.devices.makers import ask, card, fit_pod, one_kind


def node(*cards: Card, **used: CardUse) -> NodeCards:
    return NodeCards(node="n", cards=cards, used=used)


def ascend(uuid: str, index: int, word: str = "Ascend910B3", network: int | None = None) -> Card:
    custom: dict[str, int | str] = {} if network is None else {"NetworkID": network}
    return Card(uuid=uuid, index=index, slots=4, memory=65536, cores=20, model=word, vendor=word, custom=custom)


def uuids(on: NodeCards, request: CardRequest, **annotations: str) -> list[str]:
    fit = fit_pod(on, [request], 0, annotations)
    return [] if fit.shares is None else [share.uuid for share in fit.shares[0]]


def test_amd_counts_percent_in_the_request_and_compute_units_on_the_card() -> None:
    mi300 = Card(uuid="a", slots=10, memory=196592, cores=304, model="AMD-Instinct-MI300X", vendor="AMD")
    fit = fit_pod(node(mi300), [CardRequest(vendor="AMD", count=1, cores=30)], 0, {})
    assert fit.shares is not None
    share = fit.shares[0][0]
    assert (share.vendor, share.memory, share.cores) == ("AMD-Instinct-MI300X", 196592, 91)


def test_a_percentage_of_memory_is_rounded_down_on_the_card_and_more_cores_than_it_has_are_all_of_them() -> None:
    for request, given in (
        (ask(percent=33), (330, 0)),
        (ask(percent=99, cores=100), (990, 100)),
        (ask(percent=100, cores=150), (1001, 100)),
    ):
        fit = fit_pod(node(card("a", memory=1001)), [request], 0, {})
        assert fit.shares is not None
        assert [(one.memory, one.cores) for one in fit.shares[0]] == [given]


def test_cards_of_one_super_pod_are_given_in_pairs_of_one_board() -> None:
    boards = [ascend(f"c{index}", index, "Ascend910C") for index in (0, 2, 3, 5)]
    assert sorted(uuids(node(*boards), CardRequest(vendor="Ascend910C", count=2))) == ["c2", "c3"]
    fit = fit_pod(node(*boards), [CardRequest(vendor="Ascend910C", count=4)], 0, {})
    assert (fit.shares, fit.refusals, fit.cards) == (None, {"AllocatedCardsInsufficientRequest": 2}, 4)


def test_one_chip_alone_is_given_whether_the_other_of_its_board_is_free_or_not() -> None:
    boards = [ascend(f"c{index}", index, "Ascend910C") for index in (0, 3)]
    assert uuids(node(*boards), CardRequest(vendor="Ascend910C", count=1)) == ["c3"]


def test_of_more_pairs_than_are_asked_for_one_is_given() -> None:
    boards = [ascend(f"c{index}", index, "Ascend910C") for index in (0, 1, 2, 3)]
    assert sorted(uuids(node(*boards), CardRequest(vendor="Ascend910C", count=2))) == ["c2", "c3"]


def test_a_pair_of_which_the_limits_of_a_namespace_hold_one_chip_is_refused_for_them() -> None:
    boards = node(*(ascend(f"c{index}", index, "Ascend910C") for index in (0, 1, 3)))
    pair = [CardRequest(vendor="Ascend910C", count=2, memory=65536)]
    name = BY_WORD["Ascend910C"].resources.memory
    for left, given in ((2 * 65536, 1), (2 * 65536 - 1, 0)):
        pod = asking({}, pair, limits={name: Limit(used=7, limit=left + 7)})
        fit = fit_asking(boards, one_kind(pair), 0, pod)
        assert len(fit.shares or ()) == given
        assert fit.refusals == ({} if given else {OVER_QUOTA: 3})


def test_cards_of_one_request_come_from_the_largest_network() -> None:
    cards = [ascend("a", 0, network=0), ascend("b", 1, network=1), ascend("c", 2, network=1), ascend("d", 3, network=2)]
    assert sorted(uuids(node(*cards), CardRequest(vendor="Ascend910B3", count=2))) == ["b", "c"]


def test_networks_count_only_where_every_card_names_one() -> None:
    for networks in ((None, None, 1), (1, None, 0), (0, None, 1)):
        cards = [ascend(f"c{index}", index, network=network) for index, network in enumerate(networks)]
        assert uuids(node(*cards), CardRequest(vendor="Ascend910B3", count=2)) == ["c2", "c1"], (
            "the last ones, as anywhere"
        )


def test_a_card_alone_is_the_first_that_serves_whatever_network_it_is_in() -> None:
    cards = [ascend("a", 0, network=0), ascend("b", 1, network=0), ascend("c", 2, network=1)]
    assert uuids(node(*cards), CardRequest(vendor="Ascend910B3", count=1)) == ["c"]


def test_a_split_by_software_needs_a_node_that_splits_by_software() -> None:
    mode = {"huawei.com/vnpu-mode": "hami-core"}
    request = CardRequest(vendor="Ascend910B3", count=1, memory=8000, cores=5)
    on = node(ascend("a", 0))
    assert fit_pod(on, [request], 0, mode).refusals == {"ModeNotFit": 1}
    assert fit_pod(replace(on, annotations={"hami-vnpu-core": "true"}), [request], 0, mode).shares is not None


def test_cores_of_a_card_that_is_split_by_software_are_percent_though_it_registers_ai_cores() -> None:
    mode = {"huawei.com/vnpu-mode": "hami-core"}
    request = CardRequest(vendor="Ascend910B3", count=1, memory=8000, cores=60)
    on = replace(node(ascend("a", 0)), annotations={"hami-vnpu-core": "true"})
    assert uuids(on, request, **mode) == ["a"]
    taken = replace(on, used={"a": CardUse(1, 8000, 60)})
    assert fit_pod(taken, [request], 0, mode).refusals == {"CardInsufficientCore": 1}
    assert uuids(taken, replace(request, cores=40), **mode) == ["a"]


def test_whole_cards_are_had_by_their_slots_alone() -> None:
    biren = Card(uuid="a", slots=1, memory=32768, model="Biren", vendor="Biren")
    request = CardRequest(vendor="Biren", count=1, percent=100)
    assert uuids(node(biren), request) == ["a"]
    assert fit_pod(node(biren, a=CardUse(1, 0, 0)), [request], 0, {}).refusals == {"CardTimeSlicingExhausted": 1}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"nvidia.com/use-gpuuuid": "a, c"}, ["c"]),
        ({"nvidia.com/nouse-gpuuuid": "c"}, ["a"]),
        ({"nvidia.com/use-gpuuuid": ""}, ["c"]),
        ({"nvidia.com/use-gputype": "tesla V100-sxm2"}, ["c"]),
        ({"nvidia.com/nouse-gputype": "A100,tesla"}, []),
        ({"nvidia.com/nouse-gputype": ""}, ["c"]),
        ({"nvidia.com/use-gputype": "a100"}, []),
        ({"nvidia.com/use-gputype": "v100"}, ["c"]),
        ({"hami.io/gpu-scheduler-policy": "binpack"}, ["b"]),
        ({"hami.io/gpu-scheduler-policy": "fullest"}, ["c"]),
        ({"hami.io/gpu-scheduler-policy": "fullest,best"}, ["c"]),
        ({"hami.io/gpu-scheduler-policy": "mutex"}, ["c"]),
    ],
)
def test_annotations_steer_the_choice(annotations: dict[str, str], expected: list[str]) -> None:
    on = node(card("a"), card("b"), card("c"), a=CardUse(1, 1000, 10), b=CardUse(2, 2000, 20))
    assert uuids(on, ask(memory=1000, cores=10), **annotations) == expected


def test_a_card_is_refused_for_the_first_reason_in_the_order_of_hami() -> None:
    """It has all faults at first, and one after the other is mended."""
    faults = {"cordoned": True, "slots": 10, "memory": 32768, "cores": 100, "limit": 10, "healthy": False}
    said = {"nouse-gputype": "V100", "nouse-gpuuuid": "a", "policy": "mutex"}
    for reason, mended in (
        ("CardNotHealth", {"healthy": True}),
        ("CardCordoned", {"cordoned": False}),
        ("CardTypeMismatch", {"nouse-gputype": ""}),
        ("CardUuidMismatch", {"nouse-gpuuuid": ""}),
        ("CardTimeSlicingExhausted", {"slots": 9}),
        ("ExclusiveDeviceAllocateConflict", {"policy": "binpack"}),
        ("ResourceQuotaNotFit", {"limit": 32768}),
        ("CardInsufficientMemory", {"memory": 0}),
        ("CardInsufficientCore", {"cores": 0}),
        ("", {}),
    ):
        now, text = {name: int(faults[name]) for name in faults}, dict(said)
        on = NodeCards(
            node="n",
            cards=(card("a", healthy=bool(now["healthy"])),),
            cordoned=frozenset({"a"} if now["cordoned"] else ()),
            used={"a": CardUse(now["slots"], now["memory"], now["cores"])},
        )
        request = [ask(memory=1000, cores=10)]
        annotations = {f"nvidia.com/{name}": text[name] for name in ("nouse-gputype", "nouse-gpuuuid")}
        annotations["hami.io/gpu-scheduler-policy"] = text["policy"]
        limits = {"nvidia.com/gpumem": Limit(limit=now["limit"])}
        fit = fit_asking(on, one_kind(request), 0, asking(annotations, request, limits=limits))
        assert list(fit.refusals) == ([reason] if reason else [])
        faults |= {name: value for name, value in mended.items() if name in faults}
        said |= {name: str(value) for name, value in mended.items() if name in said}


def test_a_card_is_named_by_its_whole_uuid() -> None:
    on = node(card("GPU-1"), card("GPU-12"))
    assert uuids(on, ask(memory=1000), **{"nvidia.com/use-gpuuuid": "GPU-1"}) == ["GPU-1"]
    assert uuids(on, ask(memory=1000), **{"nvidia.com/use-gpuuuid": "GPU-"}) == []
    assert uuids(on, ask(memory=1000), **{"nvidia.com/nouse-gpuuuid": "GPU-1"}) == ["GPU-12"]


@pytest.mark.parametrize(("modes", "given"), [("hami-core", ["a"]), ("mig,hami-core", ["a"]), ("mig", []), ("", [])])
def test_a_pod_that_names_modes_gets_cards_that_are_shared_in_one_of_them(modes: str, given: list[str]) -> None:
    assert uuids(node(card("a")), ask(1, 1000), **{"nvidia.com/vgpu-mode": modes}) == given


def test_cards_of_a_pod_bound_to_one_numa_node_lie_on_one() -> None:
    on = node(card("a", numa=0), card("b", numa=1), card("c", numa=1), a=CardUse(0, 0, 0))
    assert sorted(uuids(on, ask(2, memory=1000), **{"nvidia.com/numa-bind": "true"})) == ["b", "c"]


def test_the_pair_with_the_best_link_is_taken_and_a_single_card_leaves_pairs_whole() -> None:
    on = replace(
        node(card("a"), card("b"), card("c")),
        pair_scores={"a": {"b": 100, "c": 200}, "b": {"a": 100, "c": 150}, "c": {"a": 200, "b": 150}},
    )
    policy = {"hami.io/gpu-scheduler-policy": "topology-aware"}
    assert sorted(uuids(on, ask(2, memory=1000), **policy)) == ["a", "c"]
    assert uuids(on, ask(1, memory=1000), **policy) == ["b"]


@pytest.mark.parametrize(
    ("policy", "strategy", "given"),
    [("mutex", DIE, []), ("", DIE, ["b"]), ("mutex", "card", ["b"]), ("", "card", ["b"])],
)
def test_a_die_of_a_board_in_use_is_kept_from_pods_alone_that_want_a_board_for_themselves(
    policy: str, strategy: str, given: list[str]
) -> None:
    dies = [
        Card(
            uuid=uuid,
            slots=1,
            memory=1000,
            cores=100,
            model="Vastai",
            vendor="Vastai",
            custom={STRATEGY: strategy, BOARD: board},
        )
        for uuid, board in (("a", 1), ("b", 1))
    ]
    request = CardRequest(vendor="Vastai", count=1, percent=100)
    on = node(*dies, a=CardUse(1, 0, 0))
    assert uuids(on, request, **{"hami.io/gpu-scheduler-policy": policy}) == given


def on_boards(strategy: str) -> list[Card]:
    """Three of Vastai's, of which the first two lie on one board."""
    return [
        Card(
            uuid=f"d{i}",
            index=i,
            slots=1,
            memory=0,
            model="Vastai",
            vendor="Vastai",
            custom={STRATEGY: strategy, BOARD: board},
        )
        for i, board in enumerate("112")
    ]


def test_a_die_alone_is_the_first_that_serves_and_several_come_from_one_board() -> None:
    dies = on_boards(DIE)
    assert uuids(node(*dies), CardRequest(vendor="Vastai", count=1)) == ["d2"]
    assert sorted(uuids(node(*dies), CardRequest(vendor="Vastai", count=2))) == ["d0", "d1"]


def test_boards_count_only_where_cards_are_dies() -> None:
    assert uuids(node(*on_boards("card")), CardRequest(vendor="Vastai", count=2)) == ["d2", "d1"]


def test_every_vendor_has_names_of_its_own() -> None:
    words = [vendor.word for vendor in VENDORS]
    counts = [vendor.resources.count for vendor in VENDORS]
    assert len(set(words)) == len(words)
    assert len(set(counts)) == len(counts)


def test_a_chip_whose_name_holds_that_of_another_is_not_given_for_it() -> None:
    short, long = ascend("short", 0, "Ascend910B4"), ascend("long", 1, "Ascend910B4-1")
    for asked, found in (("Ascend910B4", "short"), ("Ascend910B4-1", "long")):
        assert uuids(node(short, long), CardRequest(vendor=asked, count=1)) == [found]
    alone = fit_pod(node(long), [CardRequest(vendor="Ascend910B4", count=1)], 0, {})
    assert alone.refusals == {TOO_FEW_ON_NODE: 1}


def test_cards_of_another_vendor_than_is_asked_for_are_refused_by_their_model() -> None:
    def refusals(*cards: Card) -> dict[str, int]:
        states, terms = [CardState(one) for one in cards], terms_of(BY_WORD["AMD"], {})
        return pick_cards(
            states, ask(), terms, before=NOT_COUNTED, pair_scores={}, soft_node=False, held=frozenset()
        ).refusals

    assert refusals(card("a"), card("b")) == {WRONG_MODEL: 2}
    assert refusals() == {}
