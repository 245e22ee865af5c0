"""Platforms of racks and hosts: pods that lie by topology, with cards and without, jobs that grow and shrink, and pods of strangers."""

import random

from events.api.labels import (
    ELASTIC_JOB,
    EXIT,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RUN_SECONDS,
    TERMINATION_SECONDS,
)
from events.event import Millis
from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.log.memory import IDS_KNOWN_FOR
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node, plain_node
from ops.sandbox.simulate.elastic_jobs import ONE_DOMAIN, changes_of_size, with_elastic_jobs
from ops.sandbox.simulate.fault_plan import rolls
from ops.sandbox.simulate.platform import CARD_MIB, LAYOUTS, SeedPlatform, kueue_object, preemption_of, priority_class
from ops.sandbox.simulate.users import CLASSES, CORES, GPU, MEMORY, NAMESPACE, UserAction, actions_of
from projections.topology.domains.tree import HOSTNAME

_CPU = 3
"""Of a host without cards."""
_RACK, _BLOCK, _POOL = "rack", "block", "racked"
_TOLERATIONS = [{"key": GPU, "operator": "Exists"}]


def racks_of(seed: int, span: Millis) -> SeedPlatform:
    """The platform of a seed with racks, whose users are at work for so long."""
    chance = random.Random(f"{seed}/racks")  # noqa: S311 - a world, not a secret
    site = _Site(chance)
    objects: list[JsonObject] = [priority_class(name, value) for name, value in CLASSES.items()]
    objects += [*site.objects, *_flavors(chance)]
    queues = [f"q{number}" for number in range(chance.choice((1, 2, 2)))]
    quota = [chance.choice((2, 3, 4, 6)) for _ in queues]
    for name, pods in zip(queues, quota, strict=True):
        objects += _queue(chance, name, pods, site)
    most = {name: min(pods, site.most) for name, pods in zip(queues, quota, strict=True)}
    jobs = _Jobs(chance, site)
    actions = actions_of(chance, queues, span, most, make=jobs.make)
    settings = SettingsObserved(
        fair_sharing=chance.random() < 0.2,  # noqa: PLR2004
        gates={
            "ElasticJobsViaWorkloadSlicesWithTAS": True,
            "TASBalancedPlacement": chance.random() < 0.2,  # noqa: PLR2004
            "TASFailedNodeReplacementFailFast": chance.random() < 0.7,  # noqa: PLR2004
        },
    )
    actions = sorted(
        [*actions, *changes_of_size(chance, actions, span, most), *_strangers(chance, site, span)], key=_at
    )
    if site.with_cards:
        actions = with_elastic_jobs(seed, actions, span, most)
    return SeedPlatform(
        objects=objects,
        settings=settings,
        actions=actions,
        queues=queues,
        cards=site.cards,
        nodes=site.hosts,
        layout=list(chance.choice(LAYOUTS)),
        ids_known_for=chance.choice((1000, 10_000, IDS_KNOWN_FOR)),
        snapshots_every=1 if rolls(seed) else chance.choice((3, 10, 1000)),
        nodes_go=True,
    )


class _Site:
    """The hosts of a platform, in racks, in blocks."""

    def __init__(self, chance: random.Random) -> None:
        self.with_cards = chance.random() < 0.5  # noqa: PLR2004
        self.levels = [_RACK, HOSTNAME] if chance.random() < 0.6 else [_BLOCK, _RACK, HOSTNAME]  # noqa: PLR2004
        self.hosts: list[str] = []
        self.cards: dict[str, list[str]] = {}
        self.objects: list[JsonObject] = [
            kueue_object("Topology", "site", {"levels": [{"nodeLabel": level} for level in self.levels]})
        ]
        each = chance.choice((1, 2)) if self.with_cards else 0
        racks = [chance.choice((1, 2, 2, 3)) for _ in range(chance.choice((2, 2, 3)))]
        for number, hosts in enumerate(racks):
            for _ in range(hosts):
                self._add(f"h{len(self.hosts)}", f"r{number}", f"b{number // 2}", each)
        self.most = max(racks) * (each or _CPU)
        """So many pods fit into some rack, as large as they may be, and so they do as slices of two on one host each."""
        self.in_pairs = each != 1

    def _add(self, name: str, rack: str, block: str, cards: int) -> None:
        if cards:
            node = gpu_node(
                name, product="V100", zone="a", cards=cards, memory_mib=CARD_MIB, model="NVIDIA-V100", split=4
            )
            self.cards[name] = [f"GPU-{name}-{index}" for index in range(cards)]
        else:
            node = plain_node(name, cpu=str(_CPU))
        node["metadata"]["labels"] |= {_RACK: rack, _BLOCK: block, "pool": _POOL, HOSTNAME: name}
        self.hosts.append(name)
        self.objects.append(node)


class _Jobs:
    """Jobs that ask for their places."""

    def __init__(self, chance: random.Random, site: _Site) -> None:
        self._chance, self._site = chance, site

    def make(self, name: str, queue: str, pods: int, classes: tuple[str, ...]) -> JsonObject:
        """One job, that fits if nobody else is there."""
        chance = self._chance
        notes = {**self._places(pods), RUN_SECONDS: str(chance.choice((2, 5, 10, 20, 40, 80)))}
        if chance.random() < 0.3:  # noqa: PLR2004
            notes[TERMINATION_SECONDS] = str(chance.randrange(1, 20))
        if chance.random() < 0.05:  # noqa: PLR2004
            notes[EXIT] = "1"
        elastic = not self._site.with_cards and chance.random() < 0.45  # noqa: PLR2004
        if elastic:
            notes = {key: value for key, value in notes.items() if key not in ONE_DOMAIN}
        indexed = not elastic and chance.random() < 0.5  # noqa: PLR2004
        meta: JsonObject = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {QUEUE_NAME: queue, PRIORITY_CLASS: chance.choice(classes)},
        }
        if elastic:
            meta["annotations"] = {ELASTIC_JOB: "true"}
        container = {"name": "main", "image": "x", "resources": self._resources()}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta,
            "spec": {
                "parallelism": pods,
                **({} if elastic else {"completions": pods}),
                "completionMode": "Indexed" if indexed else "NonIndexed",
                "template": {
                    "metadata": {"annotations": notes},
                    "spec": {"restartPolicy": "Never", "containers": [container]},
                },
            },
        }

    def _places(self, pods: int) -> dict[str, str]:
        roll = self._chance.random()
        if roll < 0.35:  # noqa: PLR2004
            return {PODSET_REQUIRED_TOPOLOGY: _RACK}
        if roll < 0.55:  # noqa: PLR2004
            return {PODSET_PREFERRED_TOPOLOGY: self._chance.choice(self._site.levels)}
        if roll < 0.7 and pods % 2 == 0 and self._site.in_pairs:  # noqa: PLR2004
            return {
                PODSET_PREFERRED_TOPOLOGY: _RACK,
                PODSET_SLICE_REQUIRED_TOPOLOGY: HOSTNAME if pods == 2 else _RACK,  # noqa: PLR2004
                PODSET_SLICE_SIZE: "2",
            }
        return {PODSET_UNCONSTRAINED_TOPOLOGY: "true"} if roll < 0.9 else {}  # noqa: PLR2004

    def _resources(self) -> JsonObject:
        chance = self._chance
        if not self._site.with_cards:
            return {"requests": {"cpu": chance.choice(("500m", "1"))}}
        memory, cores = chance.choice((8000, 16000, 20000, 30000)), chance.choice((10, 25, 50))
        return {"limits": {GPU: "1", MEMORY: str(memory), CORES: str(cores)}}


def _strangers(chance: random.Random, site: _Site, span: Millis) -> list[UserAction]:
    """Pods that no queue manages come to hosts, and go."""
    found: list[UserAction] = []
    for number in range(chance.choice((0, 0, 1, 3, 6))):
        pod: JsonObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"stranger-{number}",
                "namespace": NAMESPACE,
                "annotations": {RUN_SECONDS: str(chance.choice((1, 5, 20, 60)))},
            },
            "spec": {
                "restartPolicy": "Never",
                "tolerations": _TOLERATIONS,
                "nodeSelector": {HOSTNAME: chance.choice(site.hosts)},
                "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}],
            },
        }
        found.append(UserAction(at=chance.randrange(span), verb="create", job=pod["metadata"]["name"], object=pod))
    return found


def _flavors(chance: random.Random) -> list[JsonObject]:
    del chance
    spec: JsonObject = {"nodeLabels": {"pool": _POOL}, "topologyName": "site", "tolerations": _TOLERATIONS}
    return [kueue_object("ResourceFlavor", "racked", spec)]


def _queue(chance: random.Random, name: str, pods: int, site: _Site) -> list[JsonObject]:
    cohort = chance.choice(("team", "team", ""))
    each = {GPU: 1, MEMORY: 30_000, CORES: 50} if site.with_cards else {"cpu": 1}
    spec: JsonObject = {
        "namespaceSelector": {},
        "queueingStrategy": chance.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "preemption": preemption_of(chance, alone=not cohort),
        "resourceGroups": [
            {
                "coveredResources": list(each),
                "flavors": [
                    {
                        "name": "racked",
                        "resources": [
                            {"name": resource, "nominalQuota": str(pods * amount)} for resource, amount in each.items()
                        ],
                    }
                ],
            }
        ],
    }
    if cohort:
        spec["cohortName"] = cohort
    return [
        kueue_object("ClusterQueue", name, spec),
        kueue_object("LocalQueue", name, {"clusterQueue": name}, NAMESPACE),
    ]


def _at(one: UserAction) -> Millis:
    return one.at
