"""A world as a seed draws it.

Not drawn, for it is meant to differ: flavors of a group of which some lack a label of the others, and gates that only later
versions have. Not drawn, for it takes more than a scheduler: checks, past usage, devices, jobs.
"""

import random
from collections.abc import Collection

from events.json_object import JsonObject
from tests.peers.cycles.drawn_queues import DrawnQueues
from tests.peers.cycles.drawn_topology import TOPOLOGY, DrawnTopology
from tests.peers.cycles.drawn_workloads import DrawnWorkloads
from tests.peers.cycles.world import (
    ELASTIC,
    FAIR,
    FEATURES,
    GATED,
    LABEL,
    NAME,
    NAMESPACES,
    ON_NODES,
    OTHER_GATES,
    PLACED,
    SELECTED,
    TAINT,
    WITHOUT_NODES,
    World,
)

_HAD = 0.25
"""How likely a world has a feature where nobody says which it has."""
_STRATEGIES = (
    None,
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)
_TURNED_OFF = (
    "FairSharingPreemptWithinNominal",
    "FairSharingPrioritizeNonBorrowing",
    "FlavorFungibility",
    "PartialAdmission",
    "PrioritySortingWithinCohort",
    "ReclaimablePods",
)


def drawn(seed: int, features: Collection[str] | None = None) -> World:
    """The world of a seed, with just these features or with those that it draws itself."""
    chance = random.Random(f"cycle/{seed}")
    had = tuple(one for one in WITHOUT_NODES if chance.random() < _HAD)
    placed = random.Random(f"cycle/{seed}/nodes")
    had += tuple(one for one in ON_NODES if placed.random() < _HAD)
    if features is not None:
        had = tuple(one for one in FEATURES if one in features)
    queues = DrawnQueues(chance, had)
    cohorts, cluster_queues = queues.cohorts(), queues.cluster_queues()
    spaces = ("bright", "dark") if NAMESPACES in had else ("bright",)
    local_queues = tuple(_local_queue(chance, one["metadata"]["name"], spaces) for one in cluster_queues)
    topology = DrawnTopology(chance, had, queues.groups[0][1]) if PLACED in had else None
    workloads = DrawnWorkloads(chance, had, queues, topology).of(local_queues)
    return World(
        seed=seed,
        features=had,
        fair=FAIR in had,
        strategies=chance.choice(_STRATEGIES) if FAIR in had else None,
        gates={**_gates(chance, had), **(topology.gates() if topology is not None else {})},
        namespaces=tuple({"metadata": {"name": one, "labels": {NAME: one}}} for one in spaces),
        flavors=_flavors(
            chance, queues.flavors, plain=SELECTED not in had, placed=topology.flavors if topology is not None else ()
        ),
        cluster_queues=cluster_queues,
        cohorts=cohorts,
        local_queues=local_queues,
        workloads=workloads,
        topologies=topology.topologies() if topology is not None else (),
        nodes=topology.nodes if topology is not None else (),
        pods=topology.pods if topology is not None else (),
    )


def _gates(chance: random.Random, had: Collection[str]) -> dict[str, bool]:
    gates: dict[str, bool] = {}
    if GATED in had:
        gates["MultiKueueOrchestratedPreemption"] = True
    if ELASTIC in had:
        gates["ElasticJobsViaWorkloadSlices"] = True
    if OTHER_GATES in had:
        gates.update({one: False for one in _TURNED_OFF if chance.random() < 0.4})
    return gates


def _local_queue(chance: random.Random, name: str, spaces: tuple[str, ...]) -> JsonObject:
    return {"metadata": {"name": name, "namespace": chance.choice(spaces)}, "spec": {"clusterQueue": name}}


def _flavors(
    chance: random.Random, names: list[str], *, plain: bool, placed: Collection[str]
) -> tuple[JsonObject, ...]:
    """All with the label, by which those with a topology find their nodes, or none: keys that one flavor of a group does not have mean something else to Kueue 0.17.

    Rule: docs/rules/flavors.md#node-labels
    """
    labelled = bool(placed) or (not plain and chance.random() < 0.7)
    found = tuple(_flavor(chance, one, plain=plain, labelled=labelled) for one in names)
    for one in found:
        if one["metadata"]["name"] in placed:
            one["spec"]["topologyName"] = TOPOLOGY
    return found


def _flavor(chance: random.Random, name: str, *, plain: bool, labelled: bool) -> JsonObject:
    spec: JsonObject = {"nodeLabels": {LABEL: name}} if labelled else {}
    if not plain and chance.random() < 0.4:
        spec["nodeTaints"] = [{"key": TAINT, "value": name, "effect": chance.choice(("NoSchedule", "NoExecute"))}]
        if chance.random() < 0.3:
            spec["tolerations"] = [{"key": TAINT, "operator": "Exists"}]
    return {"metadata": {"name": name}, "spec": spec}
