"""Nodes of a world and its topology: which hosts there are, what is on them, where those lie who hold quota, and where others ask to lie."""

import random
from collections.abc import Collection, Mapping, Sequence

from events.json_object import JsonObject
from tests.peers.cycles.drawn_queues import CARDS, CPU
from tests.peers.cycles.world import BALANCED, ELASTIC, FAILED, LABEL, LAYERS, SLICED, TAINT, TOGETHER

TOPOLOGY = "t"
BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
_LEVELS = ((BLOCK, RACK, HOST), (BLOCK, RACK, HOST), (RACK, HOST), (HOST,), (BLOCK, RACK), (BLOCK,))
_MOST_LAYERS = 3


class DrawnTopology:
    """The nodes of all flavors that have the topology, and the room that is left on each while holders are drawn."""

    def __init__(self, chance: random.Random, features: Collection[str], flavors: Sequence[str]) -> None:
        self._chance, self._features = chance, features
        self.levels = chance.choice(_LEVELS)
        self.may_fail = FAILED in features and self.levels[-1] == HOST
        """Whether more hosts fail under those who run: of wider domains nobody sees it."""
        self.fails_alone = self.may_fail and chance.random() < 0.5
        """Whether one host fails at most, and nobody waits: else others of the cycle may have wanted the same host for Kueue.

        Rule: docs/rules/topology.md#second-pass
        """
        self.takes_few = chance.random() < 0.3
        """Whether some nodes take few pods: Kueue does not count those of others of the same cycle, so then one alone is drawn that waits.

        Rule: docs/rules/topology.md#other-domains
        """
        self.flavors = [one for one in flavors if chance.random() < 0.85]
        """Those that are placed by topology; others have quota alone."""
        self.nodes = tuple(node for flavor in self.flavors for node in self._nodes(flavor))
        self._room = {
            node["metadata"]["name"]: {name: int(amount) for name, amount in node["status"]["allocatable"].items()}
            for node in self.nodes
        }
        self.pods = tuple(pod for node in self.nodes for pod in self._pods_on(node))

    def topologies(self) -> tuple[JsonObject, ...]:
        return ({"metadata": {"name": TOPOLOGY}, "spec": {"levels": [{"nodeLabel": one} for one in self.levels]}},)

    def _nodes(self, flavor: str) -> list[JsonObject]:
        chance = self._chance
        size = chance.choice((1, 2, 2, 4))
        return [
            self._node(
                flavor, f"{flavor}-b{block}", f"{flavor}-b{block}r{rack}", f"{flavor}-b{block}r{rack}h{host}", size
            )
            for block in range(chance.choice((1, 2, 2, 3)))
            for rack in range(chance.choice((1, 1, 2, 3)))
            for host in range(chance.choice((1, 2, 2, 3)))
        ]

    def _node(self, flavor: str, block: str, rack: str, name: str, size: int) -> JsonObject:
        chance = self._chance
        labels = {LABEL: flavor, BLOCK: block, RACK: rack, HOST: name}
        if chance.random() < 0.03:
            del labels[chance.choice(self.levels)]
        spec: JsonObject = {}
        if chance.random() < 0.05:
            spec["unschedulable"] = True
        if chance.random() < 0.1:
            spec["taints"] = [{"key": TAINT, "value": chance.choice(("x", "y")), "effect": "NoSchedule"}]
        own = chance.choice((size, size, size, 1, 2, 3))
        room = {
            CPU: str(own),
            CARDS: str(chance.choice((own, own, 2, 8))),
            "pods": str(chance.choice((10, 10, 1, 2) if self.takes_few else (10,))),
        }
        ready = "False" if chance.random() < 0.05 else "True"
        return {
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
            "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": ready}]},
        }

    def _pods_on(self, node: JsonObject) -> list[JsonObject]:
        """Pods that no queue knows of."""
        if self._chance.random() >= 0.15:
            return []
        name = node["metadata"]["name"]
        self._take(name, {CPU: 1}, 1)
        container = {"name": "c", "image": "i", "resources": {"requests": {CPU: "1"}}}
        return [
            {
                "metadata": {"name": f"other-{name}", "namespace": "other", "uid": f"other-{name}"},
                "spec": {"nodeName": name, "containers": [container]},
                "status": {"phase": "Running"},
            }
        ]

    def place(self, pods: JsonObject, flavor: str) -> JsonObject | None:
        """Have pods of a holder lie somewhere, say what they have asked for and where that is; None where there is no room for them any more."""
        needed = {
            one: int(amount)
            for one, amount in pods["template"]["spec"]["containers"][0]["resources"]["requests"].items()
        }
        found: dict[str, int] = {}
        open_nodes = [one for one in self.nodes if one["metadata"]["labels"][LABEL] == flavor and self._is_open(one)]
        self._chance.shuffle(open_nodes)
        for node in open_nodes:
            name = node["metadata"]["name"]
            while sum(found.values()) < pods["count"] and self._fits(name, needed):
                self._take(name, needed, 1)
                found[name] = found.get(name, 0) + 1
        if sum(found.values()) < pods["count"]:
            for name, held in found.items():
                self._take(name, needed, -held)
            return None
        pods["topologyRequest"] = self._asked_by(found)
        return self._assignment(found)

    def _asked_by(self, found: Mapping[str, int]) -> JsonObject:
        """What they may have asked for who lie there."""
        labels = [one["metadata"]["labels"] for one in self.nodes if one["metadata"]["name"] in found]
        whole = [level for level in self.levels if len({one[level] for one in labels}) == 1]
        if FAILED not in self._features or ELASTIC in self._features or self._chance.random() < 0.4:
            return {"unconstrained": True}
        if whole and self._chance.random() < 0.6:
            return {"required": self._chance.choice(whole)}
        return {"preferred": self._chance.choice(self.levels)}

    def fail(self, assignment: JsonObject) -> str:
        """Have one of the hosts fail on which pods lie; its name."""
        name: str = self._chance.choice(assignment["slices"][0]["valuesPerLevel"][-1]["individual"]["roots"])
        node = next(one for one in self.nodes if one["metadata"]["name"] == name)
        node["status"]["conditions"][0]["status"] = "False"
        self.may_fail = not self.fails_alone
        return name

    def _is_open(self, node: JsonObject) -> bool:
        """Whether somebody may lie there: also on a host that has failed since, but in no wider domain that would be overfull by that.

        Rule: docs/rules/topology.md#usage
        """
        whole = all(level in node["metadata"]["labels"] for level in self.levels)
        lost = "unschedulable" in node["spec"] or node["status"]["conditions"][0]["status"] != "True"
        return whole and (self.levels[-1] == HOST or not lost)

    def _fits(self, name: str, needed: Mapping[str, int]) -> bool:
        room = self._room[name]
        return room["pods"] >= 1 and all(room.get(resource, 0) >= amount for resource, amount in needed.items())

    def _take(self, name: str, needed: Mapping[str, int], pods: int) -> None:
        room = self._room[name]
        room["pods"] -= pods
        for resource, amount in needed.items():
            room[resource] = room.get(resource, 0) - amount * pods

    def _assignment(self, found: Mapping[str, int]) -> JsonObject:
        """By the host alone where the lowest level is that, as Kueue writes it."""
        levels = [HOST] if self.levels[-1] == HOST else list(self.levels)
        labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in self.nodes}
        counts: dict[tuple[str, ...], int] = {}
        for name, pods in found.items():
            domain = tuple(labels[name][level] for level in levels)
            counts[domain] = counts.get(domain, 0) + pods
        domains = sorted(counts)
        return {
            "levels": levels,
            "slices": [
                {
                    "domainCount": len(domains),
                    "valuesPerLevel": [
                        {"individual": {"roots": [one[place] for one in domains]}} for place in range(len(levels))
                    ],
                    "podCounts": {"individual": [counts[one] for one in domains]},
                }
            ],
        }

    def ask(self, sets: Sequence[JsonObject]) -> None:
        """Say where pod sets that wait are to lie, some of them together."""
        chance = self._chance
        if ELASTIC in self._features:
            # Kueue 0.17 refuses any other request then, also of jobs that are not elastic (docs/rules/topology.md#elastic).
            for one in sets:
                one["topologyRequest"] = {"unconstrained": True}
            return
        if TOGETHER in self._features and len(sets) > 1 and chance.random() < 0.7:
            asked = {chance.choice(("required", "preferred")): chance.choice(self.levels), "podSetGroupName": "g"}
            leader, workers = sets[0], sets[1]
            leader["count"] = 1
            leader["topologyRequest"] = dict(asked)
            workers["topologyRequest"] = {**asked, **self._slices(workers["count"], asked)}
            return
        for one in sets:
            if chance.random() < 0.8:
                one["topologyRequest"] = self._request(one["count"])

    def _request(self, count: int) -> JsonObject:
        chance = self._chance
        match chance.choice(("required", "preferred", "unconstrained", "slices")):
            case "unconstrained":
                return {"unconstrained": True}
            case "slices" if SLICED in self._features or LAYERS in self._features:
                asked: JsonObject = (
                    {}
                    if chance.random() < 0.3
                    else {chance.choice(("required", "preferred")): chance.choice(self.levels)}
                )
                return {**asked, **self._slices(count, asked, always=True)}
            case "preferred":
                return {"preferred": chance.choice(self.levels)}
            case _:
                return {"required": chance.choice(self.levels)}

    def _slices(self, count: int, asked: Mapping[str, str], *, always: bool = False) -> JsonObject:
        """Slices of pods, in one layer or in some, below what is asked for all of them."""
        chance, features = self._chance, self._features
        if not always and (SLICED not in features or chance.random() < 0.5):
            return {}
        above = next((asked[one] for one in ("required", "preferred") if one in asked), self.levels[0])
        below = list(self.levels[self.levels.index(above) :])
        if LAYERS not in features or chance.random() < 0.4:
            size = chance.choice(_divisors(count))
            return {"podSetSliceRequiredTopology": chance.choice(below), "podSetSliceSize": size}
        layers: list[JsonObject] = []
        size = count
        for level in sorted(
            chance.sample(below, min(len(below), _MOST_LAYERS, chance.choice((1, 2, 2, 3)))), key=below.index
        ):
            size = chance.choice(_divisors(size))
            layers.append({"topology": level, "size": size})
        return {"podsetSliceRequiredTopologyConstraints": layers}

    def gates(self) -> dict[str, bool]:
        gates: dict[str, bool] = {}
        if ELASTIC in self._features:
            gates["ElasticJobsViaWorkloadSlicesWithTAS"] = True
        if LAYERS in self._features:
            gates["TASMultiLayerTopology"] = True
        if BALANCED in self._features:
            gates["TASBalancedPlacement"] = True
        return gates


def _divisors(count: int) -> list[int]:
    return [one for one in range(1, count + 1) if count % one == 0]
