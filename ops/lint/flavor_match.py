"""Whether a job's pods may use any flavor of its queue, whatever the quota: taints, labels, topology, resources that it counts."""

from collections.abc import Mapping

from events.api.jobs import ApiJob
from events.api.labels import QUEUE_NAME, QUOTA_CHECK_STRATEGY
from events.json_object import JsonObject, object_at
from events.json_path import FieldBroken
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, FlavorObserved
from events.settings import QuotaCheckStrategy, SettingsObserved
from events.topology import TopologyObserved
from projections.flavors.suitability import FlavorSuitability, PlanRules
from projections.quota.effective_requests import pod_requests
from services.jobs.pod_sets.pod_set import PodIndex
from services.jobs.topology.topology_request import topology_request
from services.validation.crosscheck import Objects
from services.validation.problem import Problem, warning
from services.watcher.fields.object_reading import read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import cluster_queue, flavor, topology

_TEMPLATE = "spec.template"


def flavor_problems(job: JsonObject, objects: Objects) -> list[Problem]:
    """The problem of a Job of which no flavor of its queue takes the pods; nothing where queue or flavors are not at hand.

    Rule: docs/rules/objects.md#no-flavor
    """
    try:
        queue, pods = _queue(job, objects), _pods(job)
        flavors = _flavors(objects)
        topologies = _topologies(objects)
    except (FieldBroken, Refused):
        return []  # Reported for itself.
    if queue is None or any(name not in flavors for name in queue.flavors):
        return []
    asked = sorted(name for name, amount in pod_requests(pods.shape).items() if amount)
    known = all(not flavors[name].topology or flavors[name].topology in topologies for name in queue.flavors)
    rules = PlanRules(topology=known, topologies=topologies)
    found: list[Problem] = []
    for group in queue.groups:
        wanted = [name for name in asked if name in group.resources]
        suitable = FlavorSuitability(flavors, queue, [pods], wanted, group.resources, rules)
        obstacles = [suitable.obstacle(one) for one in group.flavors]
        if wanted and obstacles and all(obstacles):
            found.append(_no_flavor(queue.name, obstacles))
    return found[:1] or _uncovered(queue, asked, objects)


def _no_flavor(queue: str, obstacles: list[str]) -> Problem:
    return Problem(
        field=f"{_TEMPLATE}.spec",
        code="NoMatchingFlavor",
        what=f"no flavor of ClusterQueue {queue} takes its pods: {'; '.join(obstacles)}",
        consequence="the job waits for ever, whatever the quota",
        instead="tolerations, nodeSelector, affinity and topology that a flavor meets, or spec.tolerations in the flavor, which gives them to all pods that it lets in",
    )


def _uncovered(queue: ClusterQueueObserved, asked: list[str], objects: Objects) -> list[Problem]:
    """The resources that no group of the queue counts, unless a configuration at hand may say otherwise."""
    counted = {name for group in queue.groups for name in group.resources}
    absent = [name for name in asked if name not in counted]
    ignored = queue.undeclared is QuotaCheckStrategy.IGNORE_UNDECLARED
    if not absent or ignored or objects.all("Configuration") or objects.all("ConfigMap"):
        return []
    return [
        warning(
            f"{_TEMPLATE}.spec",
            "ResourceNotCovered",
            f"ClusterQueue {queue.name} has no quota for {', '.join(absent)}",
            "the job waits for ever, unless the configuration excludes, transforms or ignores that (resources)",
            f"quota for it in the queue, or its annotation {QUOTA_CHECK_STRATEGY}: IgnoreUndeclared where that is not scarce",
        )
    ]


def _queue(job: JsonObject, objects: Objects) -> ClusterQueueObserved | None:
    meta = object_at(job, "metadata")
    door = f"{meta.get('namespace') or 'default'}/{object_at(meta, 'labels').get(QUEUE_NAME, '')}"
    name = object_at(objects.find("LocalQueue", door), "spec").get("clusterQueue", "")
    value = objects.find("ClusterQueue", str(name))
    fact = cluster_queue(value) if value is not None else None
    return fact if isinstance(fact, ClusterQueueObserved) else None


def _pods(job: JsonObject) -> PodSet:
    template = dict(object_at(job, "spec", "template"))
    shape = pod_shape(read(job, ApiJob).spec.template, _TEMPLATE)
    return PodSet(
        name="main", count=1, shape=shape, topology=topology_request(template, PodIndex(), SettingsObserved())
    )


def _flavors(objects: Objects) -> Mapping[str, FlavorObserved]:
    facts = (flavor(value) for value in objects.all("ResourceFlavor").values())
    return {fact.name: fact for fact in facts if isinstance(fact, FlavorObserved)}


def _topologies(objects: Objects) -> Mapping[str, TopologyObserved]:
    facts = (topology(value) for value in objects.all("Topology").values())
    return {fact.name: fact for fact in facts if isinstance(fact, TopologyObserved)}
