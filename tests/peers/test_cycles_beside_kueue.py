"""One scheduling cycle of Kueue's own scheduler and one of kuelog, in worlds by chance."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from tests.peers.build import PEERS
from tests.peers.cycles.answer import Answer, Held, Told
from tests.peers.cycles.apart import ALONE, CHANCE, CROWDED, LED, OWNERS_FIRST, PLACED_TWICE, STUCK
from tests.peers.cycles.drawn import drawn
from tests.peers.cycles.here import decided_here
from tests.peers.cycles.program import compiled, is_built
from tests.peers.cycles.world import FEATURES, World
from tests.peers.cycles_beside_kueue import Kept, asked, asked_or_kept, compared, unmeant
from tests.peers.worlds.standing import NO_LONGER_FITS

SEEDS = range(1, 51)
BUILT = PEERS / "cycles"
"""Where `python -m tests.peers.cycles_beside_kueue` or `make peers` builds it."""


def of_no_use(_world: World) -> Iterable[Answer]:
    return ()


def first_that(letter: str, features: list[str] | None = None, asking: str = "") -> tuple[World, Answer, str]:
    """A world in which kuelog lets somebody in (`w`) or preempts somebody (`r`), what it does there, and who that is; one whose pods ask for this."""
    for seed in range(1, 1000):
        world = drawn(seed, features)
        answer = decided_here(world)
        known = {one["metadata"]["name"]: str(one["spec"]) for one in world.workloads}
        decided = answer.preempted if letter == "r" else answer.holds
        found = [name for name in decided if name.startswith(letter) and asking in known[name]]
        if found:
            return world, answer, found[0]
    raise AssertionError(letter)


def lying(answer: Answer, name: str, places: dict[str, int]) -> Answer:
    """The same answer, in which the pods of a workload lie elsewhere."""
    moved = [msgspec.structs.replace(one, places=places) for one in answer.holds[name]]
    return msgspec.structs.replace(answer, holds={**answer.holds, name: moved})


def said(world: World, there: Answer, here: Answer) -> list[str]:
    return unmeant(world, there, here, of_no_use, Counter())


@pytest.mark.parametrize("features", [None, [], list(FEATURES), ["fair", "elastic"]])
def test_a_seed_draws_the_same_world_each_time(features: list[str] | None) -> None:
    assert [drawn(seed, features) for seed in SEEDS] == [drawn(seed, features) for seed in SEEDS]


def test_worlds_have_just_the_features_that_are_asked_for() -> None:
    assert all(drawn(seed, ["zero", "fair"]).features == ("fair", "zero") for seed in SEEDS)


def test_each_feature_is_drawn_where_none_is_asked_for() -> None:
    assert {one for seed in SEEDS for one in drawn(seed).features} == {*FEATURES}


def test_names_and_identities_are_of_one_workload_each() -> None:
    for seed in SEEDS:
        found = [one["metadata"] for one in drawn(seed, FEATURES).workloads]
        assert len({one["name"] for one in found}) == len({one["uid"] for one in found}) == len(found)


def test_no_flavor_is_of_two_groups_of_resources() -> None:
    for seed in SEEDS:
        for queue in drawn(seed).cluster_queues:
            found = [flavor["name"] for group in queue["spec"]["resourceGroups"] for flavor in group["flavors"]]
            assert len({*found}) == len(found)


def test_equal_answers_are_no_difference() -> None:
    for seed in SEEDS:
        world = drawn(seed)
        answer = decided_here(world)
        assert said(world, answer, answer) == []


def test_whom_kueue_lets_in_nowhere_is_told() -> None:
    world, here, name = first_that("w", [])
    there = msgspec.structs.replace(here, holds={key: held for key, held in here.holds.items() if key != name})
    lines = said(world, there, here)
    assert lines[0].startswith(f"  {name}: Kueue None, kuelog {{'holds': ")


def test_another_victim_is_told() -> None:
    world, here, name = first_that("r", [])
    there = msgspec.structs.replace(here, preempted={})
    lines = said(world, there, here)
    assert lines[0].startswith(f"  {name}/preempted: Kueue None, kuelog '{here.preempted[name].reason}: ")


def test_what_those_are_told_that_wait_is_no_difference_but_is_printed_beside_one() -> None:
    world, here, name = first_that("w", [])
    waiting = {key: told for key, told in here.pending.items() if key != name}
    asked_otherwise = msgspec.structs.replace(here, pending={key: Told("Pending", "other words") for key in waiting})
    assert said(world, asked_otherwise, here) == []
    left = {key: held for key, held in here.holds.items() if key != name}
    told = {**asked_otherwise.pending, name: Told("Pending", "no room")}
    lines = said(world, msgspec.structs.replace(here, holds=left, pending=told), here)
    assert f"    {name} is told by Kueue: no room" in lines


def test_an_answer_that_there_is_not_is_told() -> None:
    world = drawn(1, [])
    assert said(world, Answer(error="no client"), decided_here(world)) == [
        "  Kueue's scheduler gives no answer: no client"
    ]


def test_kueues_panic_about_a_queue_without_a_cohort_is_meant_and_others_are_not() -> None:
    worlds = (drawn(seed, ["fair"]) for seed in range(1, 1000))
    alone = next(world for world in worlds if any("cohortName" not in one["spec"] for one in world.cluster_queues))
    meant = Counter[str]()
    panic = "panic: nil\nfairsharing.(*TargetClusterQueueOrdering).Iter.func1(...)"
    assert unmeant(alone, Answer(error=panic), decided_here(alone), of_no_use, meant) == []
    assert meant == {ALONE: 1}
    assert said(alone, Answer(error="panic: nil"), decided_here(alone))


def test_what_kueue_decides_as_kuelog_does_when_it_is_asked_again_is_chance() -> None:
    world, here, name = first_that("w", [])
    there = msgspec.structs.replace(here, holds={key: held for key, held in here.holds.items() if key != name})
    meant = Counter[str]()
    assert unmeant(world, there, here, lambda _world: [there, here], meant) == []
    assert meant == {CHANCE: 1}


def test_a_flavor_that_kueue_takes_for_one_that_fits_is_meant_in_a_queue_that_would_rather_preempt() -> None:
    world = drawn(89, ["partial", "gates", "flavors"])
    here = decided_here(world)
    left = {key: held for key, held in here.holds.items() if key != "w9"}
    there = msgspec.structs.replace(here, holds=left, pending={**here.pending, "w9": Told("Pending", NO_LONGER_FITS)})
    meant = Counter[str]()
    assert unmeant(world, there, here, of_no_use, meant) == []
    assert meant == {STUCK: 1}
    assert said(world, msgspec.structs.replace(there, pending={"w9": Told("Pending", "no room")}), here)


def test_a_borrower_is_passed_over_only_while_somebody_of_another_queue_is_decided_about() -> None:
    world = drawn(12, ["partial", "gates-off", "flavors", "lines"])
    here = decided_here(world)
    borrowed = Held("p0", 1, {"cpu": "x", "example.com/gpu": "x"}, {"cpu": "2", "example.com/gpu": "1"})
    there = msgspec.structs.replace(here, holds={**here.holds, "w9": [borrowed]})
    meant = Counter[str]()
    assert unmeant(world, there, here, of_no_use, meant) == []
    assert meant == {OWNERS_FIRST: 1}
    assert said(world, there, msgspec.structs.replace(here, decided=[]))
    assert said(world, there, msgspec.structs.replace(here, decided=[*here.decided, "w9"]))


def test_more_pods_on_a_host_than_it_takes_are_meant_and_others_on_another_host_are_not() -> None:
    world, here, name = first_that("w", ["topology"])
    one = here.holds[name][0]
    crowded = {place: count + 99 for place, count in one.places.items()}
    meant = Counter[str]()
    assert unmeant(world, lying(here, name, crowded), here, of_no_use, meant) == []
    assert meant == {CROWDED: 1}
    assert said(world, lying(here, name, {"elsewhere": 0}), here)


def test_a_leader_that_lies_otherwise_is_meant() -> None:
    world, here, name = first_that("w", ["topology", "groups"], "podSetGroupName")
    meant = Counter[str]()
    assert unmeant(world, lying(here, name, {}), here, of_no_use, meant) == []
    assert meant == {LED: 1}


def test_who_is_refused_beside_somebody_with_several_resources_is_meant_and_beside_others_is_not() -> None:
    outcomes = set[bool]()
    for world in (drawn(seed, ["topology"]) for seed in range(1, 200)):
        here = decided_here(world)
        name = next((one for one in here.holds if one.startswith("w")), "")
        others = [
            pods["template"]["spec"]["containers"][0]["resources"]["requests"]
            for one in world.workloads
            if one["metadata"]["name"] != name and "admission" not in one["status"]
            for pods in one["spec"]["podSets"]
        ]
        if name:
            left = {key: held for key, held in here.holds.items() if key != name}
            told = {**here.pending, name: Told("Pending", NO_LONGER_FITS)}
            meant = Counter[str]()
            lines = unmeant(world, msgspec.structs.replace(here, holds=left, pending=told), here, of_no_use, meant)
            several = any(len(one) > 1 for one in others)
            assert (lines == [], meant) == (several, Counter({PLACED_TWICE: 1} if several else {}))
            outcomes.add(several)
    assert outcomes == {True, False}


def test_answers_that_are_kept_are_of_the_worlds_that_were_drawn(tmp_path: Path) -> None:
    worlds, file = [drawn(1)], tmp_path / "answers.json"
    kept = Kept(hashlib.sha256(msgspec.json.encode(worlds)).hexdigest(), [Answer(error="kept")])
    file.write_bytes(msgspec.json.encode(kept))
    missing = tmp_path / "program"
    assert asked_or_kept(missing, worlds, file) == kept.answers
    with pytest.raises(FileNotFoundError):
        asked_or_kept(missing, [drawn(2)], file)


@pytest.mark.skipif(
    not is_built(BUILT), reason=f"{BUILT} has not the program of now: `make cycles` builds it, with Go at hand"
)
def test_kueues_scheduler_decides_as_kuelog_does(capsys: pytest.CaptureFixture[str]) -> None:
    worlds = [drawn(seed) for seed in SEEDS]
    program = compiled(BUILT)
    total = compared(worlds, asked(program, worlds), lambda world: asked(program, [world] * 4))
    assert (total.differing, capsys.readouterr().out) == (0, "")
    assert total.deciding > len(SEEDS) // 3
