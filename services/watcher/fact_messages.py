"""Facts as messages: under which subject, under which id, and about which version of which object."""

import hashlib
from collections.abc import Sequence

from events.catalogue import Fact
from events.codec import encode
from events.commit import Sighting
from events.control import ObjectMended, ObjectRemoved, ResourceVersionsRestarted
from events.device import NodeUsageObserved
from events.event import Millis
from events.json_object import JsonObject
from events.multikueue import ClustersNamed
from events.object_version import ObjectVersion
from events.pod import PodAccounted
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.subjects import CLUSTER
from events.workload import (
    CheckReported,
    DecidedElsewhere,
    PreemptionGateReported,
    WorkloadDeleted,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.object_versions import ACCOUNTED, NODE_USAGE
from services.runtime.cluster_port import Listed, Resource, Sight
from services.runtime.fact_message import fact_message
from services.runtime.outbox import OutboxMessage
from services.watcher.object_keys import object_of, place_of
from services.watcher.routes import Routes
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View

_DIGEST = 6


def sight_trigger(resource: Resource, sight: Sight) -> str:
    """What names a sight, the same for every replica."""
    return f"{resource.kind}:{sight.version}" if isinstance(sight, Listed) else object_trigger(sight.object)


def object_trigger(value: JsonObject) -> str:
    """What names an object as it stands, the same for every replica."""
    meta = value["metadata"]
    return f"{meta.get('uid', '')}:{meta.get('resourceVersion', '')}"


class FactWriter:
    """Makes messages of the facts of one view."""

    def __init__(self, view: View, seen: SeenVersions, routes: Routes) -> None:
        self._view, self._seen, self._routes = view, seen, routes

    def sightings(
        self, trigger: str, facts: Sequence[Fact], at: Millis, *, lost: ObjectVersion | None, epoch: int
    ) -> list[Sighting]:
        """The facts derived from one sight, with their ids: every replica gives the same fact the same id.

        `trigger` names the sight, `lost` the object that it says is gone.
        """
        begun = {one.workload for one in facts if isinstance(one, WorkloadSubmitted)}
        return [self._sighting(trigger, fact, at, begun, lost, epoch) for fact in facts]

    def _sighting(
        self, trigger: str, fact: Fact, at: Millis, begun: set[str], lost: ObjectVersion | None, epoch: int
    ) -> Sighting:
        place, part = self._place(fact)
        about: ObjectVersion | None = None
        if lost is not None and place == lost.place and not part:
            about = lost
        elif place:
            ended = isinstance(fact, WorkloadDeleted) and place.startswith("PodGroup/") and fact.workload not in begun
            about = self._seen.about(place, part, epoch=epoch, gone=ended)
        digest = hashlib.blake2b(encode(fact), digest_size=_DIGEST).hexdigest()
        name = f"{trigger}:{type(fact).__name__}:{digest}" + (f":{epoch}" if epoch else "")
        return Sighting(id=name, at=at, author="watcher", about=about, fact=fact)

    def letter(self, sighting: Sighting) -> OutboxMessage:
        """What the outbox stores of a sighting; a later one of the same object takes its place while neither is stored."""
        fact, about = sighting.fact, sighting.about
        message = fact_message(sighting, self._tree(fact), to=self._routes.of(fact))
        traced = fact.uid if isinstance(fact, WorkloadSubmitted) else ""
        return OutboxMessage(type(fact).__name__ if about is None else about.place, message, traced)

    def _place(self, fact: Fact) -> tuple[str, str]:  # noqa: PLR0911 - one case after the other
        """The object that a fact is about, and the part of it."""
        match fact:
            case SettingsObserved() | ResourceVersionsRestarted():
                return "", ""
            case ObjectRemoved() | ObjectMended():
                return f"{fact.kind}/{fact.namespace}/{fact.name}", ""
            case PodAccounted():
                return f"Pod/{fact.namespace}/{fact.name}", ACCOUNTED
            case NodeUsageObserved():
                return f"Node//{fact.node}", NODE_USAGE
            case CheckReported() | PreemptionGateReported() | ClustersNamed() | WorkloadSwitched() | DecidedElsewhere():
                return f"Workload/{fact.workload}", ""
            case WorkloadDeleted():
                return self._view.left.get(fact.workload, ""), ""
            case _:
                place = object_of(place_of(fact))
                if place:
                    return place, ""
                reported = self._view.workloads.get(getattr(fact, "workload", ""))
                return ("", "") if reported is None else (reported.source, "")

    def _tree(self, fact: Fact) -> str:
        """The quota tree that a fact belongs to, as far as the watcher knows: by the ClusterQueue of its LocalQueue."""
        key = "" if isinstance(fact, PriorityClassObserved) else getattr(fact, "workload", "")
        if not key:
            return CLUSTER
        reported = self._view.workloads.get(key)
        queue = fact.spec.queue if isinstance(fact, WorkloadSubmitted) else reported.spec.queue if reported else ""
        local_queue = self._view.facts.get(f"LocalQueue/{key.partition('/')[0]}/{queue}")
        cluster_queue = getattr(local_queue, "cluster_queue", "")
        owner = self._view.facts.get(f"ClusterQueue//{cluster_queue}")
        return getattr(owner, "cohort", "") or cluster_queue or CLUSTER
