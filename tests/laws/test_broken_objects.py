"""Whatever objects hold, nobody dies of it: the others are still admitted, and what is mended is taken in again.

Manifests of all kinds are broken at random, go the way of every object, as JSON through the watcher's view onto the log and
into the fold, and all deciders have their say. `KUELOG_FUZZ` sets how many; a failing one is named by its seed.
"""

import os
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from events.catalogue import AnyEvent, Fact
from events.codec import decode_sighting, encode
from events.commit import Sighting
from events.control import ObjectRefused
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.watcher.problems import is_named
from services.watcher.seen import place_in
from services.watcher.view import View
from tests.services.watcher.manifests import MANIFESTS, broken
from tests.stories.small_world import Story

Plain = dict[str, Any]
EXAMPLES = int(os.environ.get("KUELOG_FUZZ", "2000"))
BATCH = 40
"""So many broken objects come into one world."""


def safe_platform() -> list[AnyEvent]:
    """A queue of its own that nothing broken is near to."""
    quota = FlavorQuotas(flavor="plain", quotas=(Quota(resource="cpu", nominal=1000),))
    return [
        NamespaceObserved(name="safe"),
        FlavorObserved(name="plain"),
        ClusterQueueObserved(
            name="safe",
            namespaces=LabelSelector(labels={"kubernetes.io/metadata.name": "safe"}),
            groups=(ResourceGroup(resources=("cpu",), flavors=(quota,)),),
        ),
        NamespaceObserved(name="safe", labels={"kubernetes.io/metadata.name": "safe"}),
        LocalQueueObserved(namespace="safe", name="lq", cluster_queue="safe"),
    ]


def safe_job(name: str) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
    return WorkloadSubmitted(
        workload=f"safe/{name}",
        uid=f"uid-{name}",
        owner=Owner(kind="Job", name=name, uid=f"uid-{name}"),
        created_at=0,
        spec=WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=shape),)),
    )


class Cluster:
    """One watcher's view, and the world that it tells of."""

    def __init__(self, settings: SettingsObserved) -> None:
        self.view, self.story = View(settings=settings), Story(unchecked=True)
        self.story.told(settings, *safe_platform())
        self.refused = Counter[str]()
        for kind, value in MANIFESTS:
            self.see(kind, value)
        self.story.decided()

    def see(self, kind: str, value: Plain) -> list[Fact]:
        seen = msgspec.json.decode(msgspec.json.encode(value))
        if not is_named(seen):
            assert self.view.see(kind, seen) is not None
            return []
        facts = self.view.see(kind, seen)
        self.tell(facts)
        return facts

    def tell(self, facts: list[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, ObjectRefused):
                message = fact.problems[0].message
                self.refused[message if "can't be read (" in message else ""] += 1
                assert all(one.field for one in fact.problems)
            told = Sighting(id="x", at=self.story.at, author="watcher", fact=fact)
            self.story.told(decode_sighting(encode(told)).fact)


SETTINGS = (
    SettingsObserved(),
    SettingsObserved(fair_sharing=True, without_queue=True),
)


@pytest.mark.parametrize("part", range(4))
def test_broken_objects_harm_nobody_else(part: int) -> None:
    refused = Counter[str]()
    for number in range(part, EXAMPLES // BATCH, 4):
        cluster = Cluster(SETTINGS[number % len(SETTINGS)])
        for step in range(BATCH):
            seed = number * BATCH + step
            chance = random.Random(seed)
            kind, value = chance.choice(MANIFESTS)
            try:
                if chance.random() < 0.05:
                    meta = value["metadata"]
                    cluster.tell(cluster.view.lose(kind, meta.get("namespace", ""), meta["name"]))
                else:
                    cluster.see(kind, broken(value, chance))
                cluster.story.decided()
            except Exception as problem:
                problem.add_note(f"seed {seed}: {kind}")
                raise
        check_others(cluster, number)
        refused += cluster.refused
    assert sum(refused.values()) > EXAMPLES // 40, "most of them break something"
    unnamed = sum(count for text, count in refused.items() if text)
    assert unnamed * 50 < sum(refused.values()), "nearly every mistake is told with its field and what is wrong there"


def check_others(cluster: Cluster, number: int) -> None:
    """Somebody else gets in, the world can be stored, and what is mended is refused no longer."""
    story = cluster.story
    story.told(safe_job(f"after-{number}")).decided()
    assert story.world.workloads[f"safe/after-{number}"].admitted, f"batch {number}"
    story.told(WorkloadFinished(workload=f"safe/after-{number}", reason="Succeeded")).decided()
    assert state_hash(world_of(tables_of(story.world))) == state_hash(story.world), f"batch {number}"
    for _ in range(2):
        for kind, value in MANIFESTS:
            cluster.see(kind, value)
    story.decided()
    places = {place_in(kind, value) for kind, value in MANIFESTS} | {"PodGroup/default/group"}
    left = {place: one.problems for place, one in story.world.refused.items() if place in places}
    assert not left, f"batch {number}"
