"""What a seed makes of a platform: queues, flavors, nodes and cards, and what its users do; all of it data."""

import random
from functools import partial

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.settings import PodsReadyRule, SettingsObserved
from ops.production.log.memory import IDS_KNOWN_FOR
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node, plain_node
from ops.sandbox.simulate.elastic_jobs import with_elastic_jobs
from ops.sandbox.simulate.fault_plan import rolls
from ops.sandbox.simulate.users import CLASSES, CORES, GPU, MEMORY, NAMESPACE, UserAction, actions_of, job_of

KUEUE = "kueue.x-k8s.io/v1beta2"
CARD_MIB = 32768
CHECK, CHECK_CONTROLLER = "slow", "example.com/slow"


class SeedPlatform(msgspec.Struct, kw_only=True):
    """The platform of one seed."""

    objects: list[JsonObject]
    settings: SettingsObserved
    actions: list[UserAction]
    queues: list[str]
    cards: dict[str, list[str]]
    """By node, its cards."""
    nodes: list[str]
    layout: list[tuple[str, ...]]
    """The services of each process."""
    ids_known_for: Millis
    """So long the bus knows a message's id."""
    snapshots_every: int
    """After so many commits a saved world is shared."""
    namespaces: dict[str, str] = {}
    """By local queue its namespace, where that is not the one of all."""
    replicas: int = 2
    """So many processes run the services of each."""
    leases: bool = False
    """Whether these hold leases; else each of them tries."""
    partitions: int = 1
    """Among so many partitions its trees are placed."""
    nodes_go: bool = False
    """Nodes that are lost may also be deleted or tainted, and not only fall silent."""


ALL = ("watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier")
LAYOUTS = (
    (ALL,),
    (ALL,),
    (("watcher", "applier"), ("queue-manager", "admitter", "preemptor", "accountant")),
    (("watcher",), ("queue-manager", "admitter"), ("preemptor", "accountant"), ("applier",)),
)


def platform_of(seed: int, span: Millis) -> SeedPlatform:
    """The platform of a seed, whose users are at work for so long."""
    chance = random.Random(f"{seed}/platform")  # noqa: S311 - a world, not a secret
    with_cards = chance.random() < 0.7  # noqa: PLR2004
    objects: list[JsonObject] = [priority_class(name, value) for name, value in CLASSES.items()]
    nodes, cards = _nodes(chance, objects) if with_cards else _plain_nodes(chance, objects)
    checked = chance.random() < 0.2  # noqa: PLR2004
    if checked:
        objects.append(_check())
    queues, most = _queues(chance, objects, with_cards=with_cards, checked=checked)
    settings = SettingsObserved(
        fair_sharing=chance.random() < 0.4,  # noqa: PLR2004
        pods_ready=PodsReadyRule(timeout=chance.choice((3000, 60_000)), backoff_base=2000, backoff_max=20_000)
        if chance.random() < 0.15  # noqa: PLR2004
        else None,
    )
    actions = actions_of(chance, queues, span, most, make=partial(job_of, chance, with_cards=with_cards))
    return SeedPlatform(
        objects=objects,
        settings=settings,
        actions=with_elastic_jobs(seed, actions, span, most) if with_cards else actions,
        queues=queues,
        cards=cards,
        nodes=nodes,
        layout=list(chance.choice(LAYOUTS)),
        ids_known_for=chance.choice((1000, 10_000, IDS_KNOWN_FOR)),
        snapshots_every=1 if rolls(seed) else chance.choice((3, 10, 1000)),
    )


def _nodes(chance: random.Random, objects: list[JsonObject]) -> tuple[list[str], dict[str, list[str]]]:
    cards: dict[str, list[str]] = {}
    for number in range(chance.choice((2, 2, 3))):
        name, count = f"n{number}", chance.choice((1, 2))
        objects.append(
            gpu_node(name, product="V100", zone="a", cards=count, memory_mib=CARD_MIB, model="NVIDIA-V100", split=4)
        )
        cards[name] = [f"GPU-{name}-{index}" for index in range(count)]
    return list(cards), cards


def _plain_nodes(chance: random.Random, objects: list[JsonObject]) -> tuple[list[str], dict[str, list[str]]]:
    names = [f"n{number}" for number in range(chance.choice((2, 3)))]
    for name in names:
        node = plain_node(name, cpu="8")
        node["metadata"]["labels"]["zone"] = "a"
        objects.append(node)
    return names, {}


def _queues(
    chance: random.Random, objects: list[JsonObject], *, with_cards: bool, checked: bool
) -> tuple[list[str], dict[str, int]]:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    flavors = ["one", "two"] if chance.random() < 0.3 else ["one"]  # noqa: PLR2004
    for flavor in flavors:
        objects.append(
            kueue_object("ResourceFlavor", flavor, {"nodeLabels": {"zone": "a"}, "tolerations": tolerations})
        )
    nested = chance.random() < 0.3  # noqa: PLR2004
    if nested:
        objects.append(kueue_object("Cohort", "team", {"parentName": "root"}))
    queues, most = [f"q{number}" for number in range(chance.choice((1, 2, 2, 3)))], dict[str, int]()
    for name in queues:
        most[name] = units = chance.choice((1, 2, 2, 3))
        limit = chance.choice((None, None, 1))
        cohort = chance.choice(("team", "team", "root" if nested else "team", ""))
        spec: JsonObject = {
            "namespaceSelector": {},
            "queueingStrategy": chance.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
            "preemption": preemption_of(chance, alone=not cohort),
            "resourceGroups": [_group(flavors, units, limit if cohort else None, with_cards=with_cards)],
        }
        if cohort:
            spec["cohortName"] = cohort
            spec["fairSharing"] = {"weight": chance.choice(("1", "1", "2"))}
        if checked and chance.random() < 0.5:  # noqa: PLR2004
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
        objects.append(kueue_object("ClusterQueue", name, spec))
        objects.append(kueue_object("LocalQueue", name, {"clusterQueue": name}, NAMESPACE))
    return queues, most


def preemption_of(chance: random.Random, *, alone: bool) -> JsonObject:
    """Whom a queue preempts, by chance."""
    found: JsonObject = {
        "withinClusterQueue": chance.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
        "reclaimWithinCohort": "Never" if alone else chance.choice(("Never", "LowerPriority", "Any")),
    }
    if not alone and found["reclaimWithinCohort"] != "Never" and chance.random() < 0.3:  # noqa: PLR2004
        found["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": 50}
    return found


def _group(flavors: list[str], units: int, limit: int | None, *, with_cards: bool) -> JsonObject:
    each = {GPU: 1, MEMORY: 16384, CORES: 50} if with_cards else {"cpu": 1}

    def quota(resource: str, amount: int) -> JsonObject:
        found: JsonObject = {"name": resource, "nominalQuota": str(units * amount)}
        return found if limit is None else {**found, "borrowingLimit": str(limit * amount)}

    return {
        "coveredResources": list(each),
        "flavors": [
            {"name": flavor, "resources": [quota(name, amount) for name, amount in each.items()]} for flavor in flavors
        ],
    }


def _check() -> JsonObject:
    return {
        **kueue_object("AdmissionCheck", CHECK, {"controllerName": CHECK_CONTROLLER}),
        "status": {"conditions": [{"type": "Active", "status": "True", "reason": "Active", "message": ""}]},
    }


def priority_class(name: str, value: int) -> JsonObject:
    """A WorkloadPriorityClass."""
    return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}


def kueue_object(kind: str, name: str, spec: JsonObject, namespace: str = "") -> JsonObject:
    """An object of Kueue's."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}
