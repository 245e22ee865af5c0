"""Of each object the newest version stands, whoever tells of it, and in which order."""

import random

import msgspec
import pytest
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import encode
from events.commit import Sighting
from events.control import ObjectRemoved, ResourceVersionsRestarted
from events.device import NodeObserved, NodeUsageObserved
from events.object_version import ObjectVersion, version_number
from events.pod import PodAccounted
from events.quota import ClusterQueueObserved, FlavorObserved
from events.subjects import FACTS
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.object_versions import NODE_USAGE, REMEMBERED, FoldedFacts, ObjectVersions, SavedVersion
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.trail import Trail
from projections.world import World
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from tests.stories.small_world import job, queue


def of_queue(version: int, **more: int) -> ObjectVersion:
    return ObjectVersion(
        kind="ClusterQueue",
        name="cq",
        version=version,
        gone=bool(more.get("gone")),
        **{name: number for name, number in more.items() if name != "gone"},
    )


class Log:
    """Facts as they are stored, and the world that they fold to."""

    def __init__(self) -> None:
        self.world, self.sequence, self.at = World(), 0, 1000
        self.stored: list[Sighting] = []

    def tell(self, about: ObjectVersion | None, fact: Fact) -> None:
        self.sequence += 1
        sighting = Sighting(id=str(self.sequence), at=self.at, author="watcher", about=about, fact=fact)
        self.stored.append(sighting)
        evolve_sighting(self.world, sighting, LogPosition(partition=FACTS, sequence=self.sequence, at=self.at))

    @property
    def nominal(self) -> int | None:
        found = self.world.cluster_queues.get("cq")
        return None if found is None else found.groups[0].flavors[0].quotas[0].nominal


def test_an_older_quota_is_not_folded_over_a_newer_one() -> None:
    log = Log()
    log.tell(of_queue(7), queue("cq", nominal=8))
    log.tell(of_queue(9), queue("cq", nominal=4))
    log.tell(of_queue(8), queue("cq", nominal=99))
    assert log.nominal == 4
    log.tell(of_queue(10), queue("cq", nominal=5))
    assert log.nominal == 5


def test_facts_without_a_version_fold_as_ever() -> None:
    log = Log()
    log.tell(of_queue(9), queue("cq", nominal=4))
    log.tell(None, queue("cq", nominal=8))
    assert log.nominal == 8
    log.tell(of_queue(0), queue("cq", nominal=3))
    assert log.nominal == 3, "a version that is no number can't be compared"


def test_what_was_deleted_stays_deleted_and_may_come_back() -> None:
    log = Log()
    log.tell(of_queue(7), queue("cq", nominal=8))
    log.tell(of_queue(9, gone=1), ObjectRemoved(kind="ClusterQueue", name="cq"))
    for late in (8, 9):
        log.tell(of_queue(late), queue("cq", nominal=99))
    assert log.nominal is None
    log.tell(of_queue(12), queue("cq", nominal=2))
    log.tell(of_queue(9, gone=1), ObjectRemoved(kind="ClusterQueue", name="cq"))
    log.tell(of_queue(11, gone=1), ObjectRemoved(kind="ClusterQueue", name="cq"))
    assert log.nominal == 2, "the one that was deleted was another"


def test_a_job_that_was_deleted_is_not_told_of_again() -> None:
    log = Log()
    one = job("a")
    place = {"kind": "Job", "namespace": "team", "name": "a"}
    log.tell(ObjectVersion(**place, uid="1", version=5), one)
    log.tell(ObjectVersion(**place, uid="1", version=8, gone=True), WorkloadDeleted(workload=one.workload))
    log.tell(ObjectVersion(**place, uid="1", version=5), one)
    assert not log.world.workloads


def test_a_meaning_that_rests_on_older_queues_and_classes_is_the_older_one() -> None:
    log = Log()
    log.tell(of_queue(7, context=20), queue("cq", nominal=8))
    log.tell(of_queue(7, context=15), queue("cq", nominal=99))
    assert log.nominal == 8
    log.tell(of_queue(8, context=15), queue("cq", nominal=3))
    assert log.nominal == 3, "what the object says itself counts more"


def test_all_facts_of_one_sight_fold() -> None:
    log = Log()
    log.tell(of_queue(7), queue("cq", nominal=8))
    log.tell(of_queue(7), FlavorObserved(name="beside"))
    assert log.world.flavors


def test_that_a_pod_is_accounted_for_does_not_keep_the_pod_from_being_told_of() -> None:
    log = Log()
    place = {"kind": "Pod", "namespace": "n", "name": "p"}
    log.tell(ObjectVersion(**place, part="accounted", version=90), PodAccounted(namespace="n", name="p", uid="u"))
    assert not log.world.versions.outdated(ObjectVersion(**place, version=80))
    log.tell(ObjectVersion(**place, version=95, gone=True), ObjectRemoved(kind="Pod", namespace="n", name="p"))
    log.tell(ObjectVersion(**place, part="accounted", version=91), PodAccounted(namespace="n", name="p", uid="u"))
    assert not log.world.accounted


def test_what_pods_hold_of_a_node_is_newer_or_older_by_the_pods_and_goes_with_the_node() -> None:
    log = Log()
    node = ObjectVersion(kind="Node", name="n", version=90)
    log.tell(node, NodeObserved(name="n"))
    for version, pods in ((50, 2), (40, 1)):
        held = NodeUsageObserved(node="n", requests={"pods": pods})
        log.tell(replace(node, part=NODE_USAGE, version=version), held)
    assert log.world.node_usage == {"n": {"pods": 2}}
    log.tell(replace(node, version=95, gone=True), ObjectRemoved(kind="Node", namespace="", name="n"))
    assert list(log.world.versions.known) == ["Node//n"]


def test_after_a_restore_of_the_cluster_versions_begin_anew() -> None:
    log = Log()
    log.tell(of_queue(900), queue("cq", nominal=8))
    log.tell(None, ResourceVersionsRestarted(epoch=1, kind="ClusterQueue", listed=40, known=900))
    log.tell(of_queue(30, epoch=1), queue("cq", nominal=2))
    log.tell(of_queue(901), queue("cq", nominal=99))
    log.tell(None, ResourceVersionsRestarted(epoch=1, kind="Node", listed=41, known=900))
    log.tell(of_queue(29, epoch=1), queue("cq", nominal=98))
    assert log.nominal == 2


def test_what_is_gone_is_forgotten_after_a_time_of_the_logs_own() -> None:
    log = Log()
    for number in range(50):
        about = ObjectVersion(kind="Job", namespace="n", name=str(number), version=number + 1, gone=True)
        log.tell(about, ObjectRemoved(kind="Job", namespace="n", name=str(number)))
    assert len(log.world.versions.known) == 50
    log.at += 2 * REMEMBERED
    log.tell(
        ObjectVersion(kind="Job", namespace="n", name="x", version=99, gone=True), ObjectRemoved(kind="Job", name="x")
    )
    assert len(log.world.versions.known) == 1


@pytest.mark.parametrize("text", ["", "abc", "-4", "1.5", "٣", "9" * 20, None, 7])
def test_a_version_that_is_no_plain_number_compares_with_nothing(text: object) -> None:
    assert version_number(text) == 0
    assert version_number("0012") == 12


def told_at_random(seed: int) -> list[Sighting]:
    chance, log = random.Random(seed), Log()
    for _ in range(120):
        log.at += chance.randrange(0, REMEMBERED // 20)
        name, version = f"j{chance.randrange(4)}", chance.randrange(1, 60)
        place = {"kind": "Job", "namespace": "team", "name": name, "version": version}
        match chance.randrange(6):
            case 0:
                log.tell(ObjectVersion(**place, gone=True), WorkloadDeleted(workload=f"team/{name}"))
            case 1:
                log.tell(None, ResourceVersionsRestarted(epoch=chance.randrange(3), kind="Job", listed=1, known=2))
            case 2:
                log.tell(of_queue(version, context=chance.randrange(3)), queue("cq", nominal=version))
            case _:
                log.tell(ObjectVersion(**place, epoch=chance.randrange(2)), job(name))
    return log.stored


@pytest.mark.parametrize("seed", range(15))
def test_every_fold_takes_the_same_facts_live_taken_back_from_a_snapshot_and_from_zero(seed: int) -> None:
    stored = told_at_random(seed)
    entries = [
        Entry(stream=FACTS, sequence=i, subject="", message_id="", data=encode(one)) for i, one in enumerate(stored, 1)
    ]
    chance = random.Random(seed)
    straight, wavering = PartitionFold("LOG_0"), PartitionFold("LOG_0")
    straight.offer(FACTS, entries)
    straight.fold_inputs()
    wavering.offer(FACTS, entries)
    while wavering.fold_inputs(chance.randrange(1, 40)):
        if chance.random() < 0.3:
            wavering.rewind()
    assert state_hash(straight.world) == state_hash(wavering.world)
    half = PartitionFold("LOG_0")
    half.offer(FACTS, entries[:60])
    half.fold_inputs()
    half.world.settle()
    again = world_of(tables_of(half.world))
    assert state_hash(again) == state_hash(half.world)
    reader = FoldedFacts()
    folded = [reader.folds(one) for one in stored]
    for number, one in enumerate(stored):
        place = LogPosition(partition=FACTS, sequence=number + 1, at=one.at)
        if number >= 60:
            evolve_sighting(again, one, place)
    assert state_hash(again) == state_hash(straight.world)
    assert len(folded) == len(stored) and not all(folded)
    assert isinstance(
        stored[0].fact, ClusterQueueObserved | WorkloadSubmitted | WorkloadDeleted | ResourceVersionsRestarted
    )


def test_versions_that_were_saved_come_back_as_they_were_and_their_bytes_are_of_those_that_are_held() -> None:
    versions = ObjectVersions(Trail())
    for about, at in ((of_queue(7, context=3), 1), (replace(of_queue(9, gone=1), name="over"), 5)):
        versions.take(about, FlavorObserved(name="any"), at)
    saved = msgspec.json.encode(versions.saved)
    assert saved == msgspec.json.encode(versions.known)
    again = ObjectVersions(Trail())
    again.restore(msgspec.json.decode(saved, type=dict[str, SavedVersion]), 0)
    assert again.known == versions.known
    again.forget_long_gone(5 + 2 * REMEMBERED)
    assert list(again.known) == ["ClusterQueue//cq"]
