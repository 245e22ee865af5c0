"""Cards of every vendor are told as facts, in whatever form a node registers them, and only when something changes."""

from typing import Any

import msgspec
import pytest

from events.card import CardShare, MigInstance
from events.control import ObjectMended, ObjectRefused
from events.device import DevicesRegistered, NodeLockObserved, NodeObserved, PodObserved
from projections.devices.card_use import CardUse, effective_use
from services.watcher.view import View


def node(capacity: dict[str, str] | None = None, **annotations: str) -> dict[str, Any]:
    named = {_KEYS.get(key, key): value for key, value in annotations.items()}
    return {
        "metadata": {"name": "n1", "uid": "u", "annotations": named},
        "status": {"allocatable": capacity or {}, "capacity": capacity or {}},
    }


_KEYS = {
    "nvidia": "hami.io/node-nvidia-register",
    "ascend": "hami.io/node-register-Ascend910B3",
    "hygon": "hami.io/node-dcu-register",
    "amd": "hami.io/node-amd-register",
    "handshake": "hami.io/node-handshake",
    "cordon": "hami.io/device-cordon",
    "ours": "kuelog.io/card-cordon",
    "scores": "hami.io/node-nvidia-score",
    "soft": "hami-vnpu-core",
    "lock": "hami.io/mutex.lock",
}
JSON = '[{"id":"GPU-a","count":10,"devmem":32768,"devcore":100,"type":"NVIDIA-T4","mode":"hami-core","health":true}]'
TEXT = "GPU-a,10,32768,100,NVIDIA-T4,0,true:"
TWO = JSON.replace("GPU-a", "GPU-b")
ASCEND = '[{"id":"A-0","count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3","health":true,"custominfo":{"NetworkID":1}}]'


def cards(view: View, value: dict[str, Any]) -> DevicesRegistered:
    found = [fact for fact in view.see("Node", value) if isinstance(fact, DevicesRegistered)]
    assert len(found) == 1
    return found[0]


def test_json_and_the_older_text_tell_the_same_card() -> None:
    assert cards(View(), node(nvidia=JSON)).cards == cards(View(), node(nvidia=TEXT)).cards


def test_cards_of_four_vendors_on_one_node_are_told_together() -> None:
    mlu = {"cambricon.com/mlu.smlu.vcore": "100", "cambricon.com/mlu.smlu.vmemory": "192"}
    told = cards(View(), node(mlu, nvidia=JSON, ascend=ASCEND, hygon="DCU-0,4,16384,60,DCU-K100,0,true:"))
    assert [(card.uuid, card.vendor, card.memory, card.cores) for card in told.cards] == [
        ("GPU-a", "NVIDIA", 32768, 100),
        ("DCU-0", "DCU", 16384, 60),
        ("n1-cambricon-mlu-0", "MLU", 49152, 100),
        ("A-0", "Ascend910B3", 65536, 20),
    ]


def test_a_node_without_cards_says_nothing_of_cards_and_one_that_has_lost_them_says_so() -> None:
    view = View()
    assert [type(fact) for fact in view.see("Node", node())] == [NodeObserved]
    assert len(cards(view, node(nvidia=JSON)).cards) == 1
    assert cards(view, node()).cards == ()
    assert view.see("Node", node()) == []


@pytest.mark.parametrize(("offered", "count"), [({"amd.com/gpu": "8"}, 1), ({"amd.com/gpu": "0"}, 0), ({}, 0)])
def test_cards_of_amd_are_there_while_their_node_has_any_for_their_plugin_answers_no_handshake(
    offered: dict[str, str], count: int
) -> None:
    amd = JSON.replace("NVIDIA-T4", "AMD-Instinct-MI300X").replace("GPU-a", "AMD-a")
    told = cards(View(), node(offered, nvidia=JSON, amd=amd))
    assert [card.uuid for card in told.cards] == ["GPU-a", "AMD-a"][: 1 + count]


def test_a_node_that_is_not_ready_says_since_when_and_one_that_does_not_say_whether_it_is_none() -> None:
    def told(*conditions: dict[str, str]) -> tuple[bool, int, bool]:
        value = {"metadata": {"name": "n"}, "status": {"conditions": list(conditions)}}
        (found,) = [one for one in View().see("Node", value) if isinstance(one, NodeObserved)]
        return found.ready, found.not_ready_since, found.unreported

    at = {"type": "Ready", "lastTransitionTime": "1970-01-01T00:01:00Z"}
    assert told({**at, "status": "False"}) == told({**at, "status": "Unknown"}) == (False, 60_000, False)
    assert told({**at, "status": "True"}) == (True, 0, False)
    assert told({"type": "Ready", "status": "False"}) == (False, 0, False)
    assert told() == told({**at, "type": "DiskPressure", "status": "False"}) == (False, 0, True)


def test_both_cordons_count_and_scores_and_the_split_by_software_are_told() -> None:
    told = cards(
        View(), node(nvidia=JSON, cordon="GPU-a", ours="GPU-b, GPU-a", scores='[{"uuid":"GPU-a"}]', soft="true")
    )
    assert (told.cordoned, told.pair_scores, told.soft_split) == (("GPU-a", "GPU-b"), {"GPU-a": {}}, True)


@pytest.mark.parametrize(
    ("written", "split", "whole"), [(None, False, False), ("true", True, False), ("false", False, True)]
)
def test_a_node_that_says_it_does_not_split_by_software_is_told_apart_from_one_that_says_nothing(
    written: str | None, *, split: bool, whole: bool
) -> None:
    told = cards(View(), node(nvidia=JSON, **({} if written is None else {"soft": written})))
    assert (told.soft_split, told.never_soft_split) == (split, whole)


def test_what_a_node_of_metax_loses_by_giving_so_many_cards_is_told() -> None:
    value = node({"metax-tech.com/gpu": "2"})
    losses = {"metax-tech.com/gpu.topology.losses": '{"1": 50}', "metax-tech.com/gpu.topology.scores": '{"1": 2}'}
    value["metadata"]["annotations"] |= losses
    assert cards(View(), value).link_scores == losses


def test_a_handshake_is_told_only_when_it_stays_unanswered_and_no_card_is_on_offer() -> None:
    view, offered = View(), {"nvidia.com/gpu": "10"}
    assert cards(view, node(offered, nvidia=JSON, handshake="Requesting_2026-01-01 00:00:00")).silent == ()
    assert view.see("Node", node(offered, nvidia=JSON, handshake="Reported 2026-01-01 00:00:30")) == []
    gone = node({"nvidia.com/gpu": "0"}, nvidia=JSON, handshake="Requesting_2026-01-01 00:01:00")
    assert cards(view, gone).silent == ("NVIDIA",)
    assert cards(view, node(offered, nvidia=JSON, handshake="Reported 2026-01-01 00:02:00")).silent == ()


def test_a_registration_that_cannot_be_read_leaves_the_cards_as_they_were_until_it_is_mended() -> None:
    view = View()
    view.see("Node", node(nvidia=JSON))
    (refused,) = view.see("Node", node(nvidia="nonsense"))
    assert isinstance(refused, ObjectRefused)
    assert view.see("Node", node(nvidia="nonsense")) == []
    assert [type(fact) for fact in view.see("Node", node(nvidia=JSON))] == [ObjectMended]
    assert view.see("Node", node(nvidia=JSON)) == []


DCU = "DCU-0,4,16384,60,DCU-K100,0,true:"
ILL = JSON.replace("true", "false")


def test_what_one_vendor_registers_is_told_though_that_of_another_cannot_be_read_which_keeps_its_cards() -> None:
    view = View()
    view.see("Node", node(nvidia=JSON, hygon=DCU))
    told, refused = view.see("Node", node(nvidia=ILL, hygon="broken"))
    assert isinstance(told, DevicesRegistered) and isinstance(refused, ObjectRefused)
    assert [(card.uuid, card.healthy) for card in told.cards] == [("GPU-a", False), ("DCU-0", True)]
    assert [one.field for one in refused.problems] == ["metadata.annotations[hami.io/node-dcu-register]"]
    assert view.see("Node", node(nvidia=ILL, hygon="broken")) == []
    assert [type(fact) for fact in view.see("Node", node(nvidia=ILL, hygon=DCU))] == [ObjectMended]


def test_a_node_that_is_seen_first_with_a_registration_that_cannot_be_read_has_the_cards_of_the_others() -> None:
    seen = View().see("Node", node(nvidia=JSON, hygon="broken"))
    assert [type(fact) for fact in seen] == [NodeObserved, DevicesRegistered, ObjectRefused]
    (told,) = (fact for fact in seen if isinstance(fact, DevicesRegistered))
    assert [card.uuid for card in told.cards] == ["GPU-a"]


def test_scores_of_pairs_that_cannot_be_read_stay_what_they_were_and_keep_no_card_from_being_told() -> None:
    view = View()
    view.see("Node", node(nvidia=JSON, scores='[{"uuid":"GPU-a"}]'))
    told, refused = view.see("Node", node(nvidia=ILL, scores="nonsense"))
    assert isinstance(told, DevicesRegistered) and isinstance(refused, ObjectRefused)
    assert (told.cards[0].healthy, told.pair_scores) == (False, {"GPU-a": {}})


def test_all_that_cannot_be_read_of_a_node_is_told_together_and_once() -> None:
    view, value = View(), node(nvidia="nonsense", hygon="broken", lock="nonsense")
    view.see("Node", node(nvidia=JSON))
    (refused,) = view.see("Node", value)
    assert isinstance(refused, ObjectRefused) and len(refused.problems) == 3
    assert view.see("Node", value) == []


LOCK = "2026-01-01T00:00:00Z,team,p"


def test_a_lock_of_hami_is_told_when_it_comes_and_when_it_goes() -> None:
    view = View()
    assert [type(fact) for fact in view.see("Node", node(nvidia=JSON))] == [NodeObserved, DevicesRegistered]
    taken = NodeLockObserved(node="n1", since=1_767_225_600_000, namespace="team", pod="p")
    assert view.see("Node", node(nvidia=JSON, lock=LOCK)) == [taken]
    assert view.see("Node", node(nvidia=JSON, lock=LOCK)) == []
    assert view.see("Node", node(nvidia=JSON)) == [NodeLockObserved(node="n1")]
    view.see("Node", node(nvidia=JSON, lock=LOCK))
    view.lose("Node", "", "n1")
    assert [type(fact) for fact in view.see("Node", node())] == [NodeObserved]


def test_a_lock_that_cannot_be_read_is_told_once_and_the_cards_as_well() -> None:
    view = View()
    seen = [type(fact) for fact in view.see("Node", node(nvidia=JSON, lock="nonsense"))]
    assert seen == [NodeObserved, DevicesRegistered, ObjectRefused]
    assert view.see("Node", node(nvidia=JSON, lock="nonsense")) == []
    changed = [type(fact) for fact in view.see("Node", node(nvidia=TWO, lock="nonsense"))]
    assert changed == [DevicesRegistered, ObjectRefused], "what a node registers lifts what was held against it"
    view.see("Node", node(nvidia=JSON, lock="nonsense"))
    assert [type(fact) for fact in view.see("Node", node(nvidia=JSON, lock=LOCK))] == [NodeLockObserved, ObjectMended]


def pod(phase: str = "Pending", on: str = "", **annotations: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "team", "name": "p", "uid": "u", "annotations": annotations},
        "spec": {"nodeName": on, "containers": [{"name": "c"}]},
        "status": {"phase": phase},
    }


def test_what_a_pod_was_given_is_read_for_any_vendor() -> None:
    value = pod("Running", "n1", **{"hami.io/Ascend910B3-devices-allocated": "A-0,Ascend910B3,16384,5:;"})
    (told,) = View().see("Pod", value)
    assert isinstance(told, PodObserved)
    assert told.shares == ((CardShare(uuid="A-0", vendor="Ascend910B3", memory=16384, cores=5),),)


def test_which_init_containers_of_a_pod_run_on_is_told_by_their_places() -> None:
    value = pod("Running", "n1", **{"hami.io/vgpu-devices-allocated": ";GPU-a,NVIDIA,1000,10:;;"})
    value["spec"]["initContainers"] = [{"name": "loads"}, {"name": "serves", "restartPolicy": "Always"}]
    (told,) = View().see("Pod", value)
    assert isinstance(told, PodObserved) and (told.init, told.sidecars) == (2, (1,))


GPU, ALLOCATED = "nvidia.com/gpu", "hami.io/vgpu-devices-allocated"
GIVEN = CardShare(uuid="GPU-a", vendor="NVIDIA", memory=1000, cores=10)
OTHER = CardShare(uuid="GPU-b", vendor="NVIDIA", memory=500, cores=5)


def asking(init: tuple[str, ...], others: tuple[str, ...], given: str, **annotations: str) -> PodObserved:
    """A pod that runs, whose init containers and others ask for a card of these resources, or for none."""

    def containers(resources: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {"name": f"c{at}", "resources": {"limits": {one: "1"} if one else {}}} for at, one in enumerate(resources)
        ]

    value = pod("Running", "n1", **{ALLOCATED: given}, **annotations)
    value["spec"] |= {"initContainers": containers(init), "containers": containers(others)}
    value["status"]["conditions"] = [{"type": "Initialized", "status": "True"}]
    (told,) = View().see("Pod", value)
    assert isinstance(told, PodObserved)
    return told


@pytest.mark.parametrize(
    ("init", "others", "given", "shares"),
    [
        (("",), (GPU,), "GPU-a,NVIDIA,1000,10:;", ((), (GIVEN,))),
        (("",), (GPU,), ";GPU-a,NVIDIA,1000,10:;", ((), (GIVEN,))),
        ((GPU, ""), ("", GPU), "GPU-b,NVIDIA,500,5:;GPU-a,NVIDIA,1000,10:;", ((OTHER,), (), (), (GIVEN,))),
        (("",), ("amd.com/gpu", GPU), "GPU-a,NVIDIA,1000,10:;", ((), (), (GIVEN,))),
    ],
)
def test_a_share_is_that_of_the_container_that_asks_for_it_where_hami_wrote_no_place_for_the_others(
    init: tuple[str, ...], others: tuple[str, ...], given: str, shares: tuple[tuple[CardShare, ...], ...]
) -> None:
    assert asking(init, others, given).shares == shares


def test_shares_that_no_container_is_known_for_are_held_whether_the_init_containers_are_over_or_not() -> None:
    told = asking((GPU,), (GPU,), "GPU-a,NVIDIA,1000,10:;")
    assert told.shares == ((), (GIVEN,))
    used = effective_use(told.shares, told.init, sidecars=told.sidecars, init_done=told.init_done)
    assert used == {"GPU-a": CardUse(1, 1000, 10)}


def test_a_piece_of_a_card_stays_with_its_share_where_hami_wrote_no_place_for_containers_without_cards() -> None:
    pieces = '[{"gpuUUID":"GPU-a","profile":"1g.5gb","placement":{"start":6,"size":1}}]'
    told = asking(("",), (GPU,), "GPU-a,NVIDIA,1000,10:;", **{"hami.io/vgpu-mig-allocations": pieces})
    piece = MigInstance(profile="1g.5gb", start=6, size=1)
    assert told.shares == ((), (msgspec.structs.replace(GIVEN, instance=piece),))


def test_cards_given_to_a_pod_that_is_not_bound_yet_count_already() -> None:
    given = {"hami.io/vgpu-devices-allocated": "GPU-a,NVIDIA,1000,10:;", "hami.io/vgpu-node": "n1"}
    view = View()
    (told,) = view.see("Pod", pod(**given))
    assert isinstance(told, PodObserved) and (told.node, told.assigned, told.bind_failed) == ("", "n1", False)
    (told,) = view.see("Pod", pod(**given, **{"hami.io/bind-phase": "failed"}))
    assert isinstance(told, PodObserved) and told.bind_failed


def test_a_node_is_ready_when_it_says_so_and_one_that_says_nothing_is_not() -> None:
    def ready(*conditions: tuple[str, str]) -> bool:
        value = node()
        value["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions]
        (found,) = [fact for fact in View().see("Node", value) if isinstance(fact, NodeObserved)]
        return found.ready

    assert ready(("DiskPressure", "False"), ("Ready", "True"))
    assert not ready(("Ready", "Unknown"))
    assert not ready(("DiskPressure", "False"))
    assert not ready()
