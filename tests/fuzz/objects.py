"""Manifests of all kinds, broken at random, on the way of every object: as JSON through the watcher's view onto the log.

All deciders have their say after each. Somebody else gets in at the end, the world can be stored, and what is mended is
refused no longer.
"""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from events.catalogue import AnyEvent, Fact
from events.codec import decode_sighting, encode
from events.commit import Sighting
from events.control import ObjectRefused
from events.json_object import JsonObject
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
from services.watcher.fields.problems import is_named
from services.watcher.seen_versions import place_in
from services.watcher.view import View
from tests.services.watcher.manifests import MANIFESTS, broken
from tests.stories.small_world import Story

SETTINGS = (SettingsObserved(), SettingsObserved(fair_sharing=True, without_queue=True))


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One broken object, or one that is gone."""

    index: int
    kind: str
    value: Any
    gone: bool = False

    def __str__(self) -> str:
        return f"{self.index}: {'no more ' if self.gone else ''}{self.kind} {repr(self.value)[:3000]}"


class ObjectCourse(msgspec.Struct, frozen=True, kw_only=True):
    """How it went with one platform."""

    seed: int
    objects: tuple[Broken, ...]
    harm: str = ""
    """What happened that must not; empty when nothing did."""
    refused: dict[str, int] = {}
    """How often something was refused, by message where no field was named; under an empty one where it was."""


def objects_of(seed: int, count: int) -> list[Broken]:
    """The broken objects of a seed."""
    found: list[Broken] = []
    for index in range(count):
        chance = random.Random(f"{seed}/{index}")
        kind, value = chance.choice(MANIFESTS)
        gone = chance.random() < 0.05
        found.append(Broken(index=index, kind=kind, value=value if gone else broken(value, chance), gone=gone))
    return found


def play_objects(seed: int, objects: Sequence[Broken]) -> ObjectCourse:
    """Show a watcher the broken objects of a seed, or some of them."""
    harm, cluster = "", Cluster(SETTINGS[seed % len(SETTINGS)])
    try:
        for one in objects:
            if one.gone:
                meta = one.value["metadata"]
                cluster.tell(cluster.view.lose(one.kind, meta.get("namespace", ""), meta["name"]))
            else:
                cluster.see(one.kind, one.value)
            cluster.story.decided()
        cluster.check_others()
    except Exception as problem:  # noqa: BLE001 - whatever comes out of there is a finding
        harm = f"{type(problem).__name__}: {problem}"
    return ObjectCourse(seed=seed, objects=tuple(objects), harm=harm, refused=dict(cluster.refused))


class Cluster:
    """One watcher's view, and the world that it tells of."""

    def __init__(self, settings: SettingsObserved) -> None:
        self.view, self.story = View(settings=settings), Story(unchecked=True)
        self.story.told(settings, *_safe_platform())
        self.refused = Counter[str]()
        for kind, value in MANIFESTS:
            self.see(kind, value)
        self.story.decided()

    def see(self, kind: str, value: JsonObject) -> None:
        seen = msgspec.json.decode(msgspec.json.encode(value))
        if is_named(seen):
            self.tell(self.view.see(kind, seen))
        else:
            # Nothing can be told of it.
            self.view.see(kind, seen)

    def tell(self, facts: list[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, ObjectRefused):
                message = fact.problems[0].message
                self.refused[message if "can't be read (" in message else ""] += 1
                assert all(one.field for one in fact.problems)
            told = Sighting(id="x", at=self.story.at, author="watcher", fact=fact)
            self.story.told(decode_sighting(encode(told)).fact)

    def check_others(self) -> None:
        """Somebody else gets in, the world can be stored, and what is mended is refused no longer."""
        story = self.story
        story.told(_safe_job("after")).decided()
        assert story.world.workloads["safe/after"].admitted, "an ordinary job is not admitted"
        story.told(WorkloadFinished(workload="safe/after", reason="Succeeded")).decided()
        assert state_hash(world_of(tables_of(story.world))) == state_hash(story.world), "the world can't be stored"
        for _ in range(2):
            for kind, value in MANIFESTS:
                self.see(kind, value)
        story.decided()
        places = {place_in(kind, value) for kind, value in MANIFESTS} | {"PodGroup/default/group"}
        left = {place: one.problems for place, one in story.world.refused.items() if place in places}
        assert not left, f"what is mended is still refused: {left}"


def _safe_platform() -> list[AnyEvent]:
    """A queue of its own that nothing broken is near to."""
    quota = FlavorQuotas(flavor="plain", quotas=(Quota(resource="cpu", nominal=1000),))
    labels = {"kubernetes.io/metadata.name": "safe"}
    return [
        FlavorObserved(name="plain"),
        ClusterQueueObserved(
            name="safe",
            namespaces=LabelSelector(labels=labels),
            groups=(ResourceGroup(resources=("cpu",), flavors=(quota,)),),
        ),
        NamespaceObserved(name="safe", labels=labels),
        LocalQueueObserved(namespace="safe", name="lq", cluster_queue="safe"),
    ]


def _safe_job(name: str) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
    return WorkloadSubmitted(
        workload=f"safe/{name}",
        uid=f"uid-{name}",
        owner=Owner(kind="Job", name=name, uid=f"uid-{name}"),
        created_at=0,
        spec=WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=shape),)),
    )
