"""Racks of random lives: jobs that ask where their pods lie, and hosts that come, go, fall silent and keep pods off.

Rule: docs/rules/topology.md
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import NodeObserved, NodeUsageObserved, PodObserved
from events.pod_set import PodSet
from events.quota import FlavorObserved
from events.selector import Taint
from events.settings import SettingsObserved
from events.topology import PodTopology, TopologyObserved
from events.workload import PodSetAssignment, WorkloadChanged, WorkloadSpec, WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from projections.workloads.lifecycle import chain_of
from tests.laws.beside import Beside, Happenings
from tests.laws.test_places_over_commits import REQUESTS

HOSTS = {"n0": "r0", "n1": "r0", "n2": "r0", "n3": "r1", "n4": "r1", "n5": "r2"}
_SECOND = ("n1", "n4")
"""Hosts of the second flavor."""
_LEVELS = ("rack", HOSTNAME)
_GATES = (
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASReplaceNodeOnPodTermination",
    "TASBalancedPlacement",
    "TASProfileMixed",
)
_PODS = 8


class Racks(Beside):
    """The first flavor has a topology, the second one in some lives."""

    name = "racks"

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.stands = self.chance.random() < 0.6
        """Whether topology, flavors and labels stay as they are."""
        self.flavors = ("f0", "f1") if self.chance.random() < 0.5 else ("f0",)
        self.gates = {name: self.chance.random() < 0.5 for name in _GATES if self.chance.random() < 0.3}
        self.gates["ElasticJobsViaWorkloadSlicesWithTAS"] = self.chance.random() < 0.8

    def platform(self) -> list[Fact]:
        return [
            TopologyObserved(name="dc", levels=_LEVELS),
            *(fact for name in sorted(HOSTS)[2:] for fact in self.life.platform.node_facts(name)),
        ]

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                return replace(fact, gates={**fact.gates, **self.gates})
            case FlavorObserved() if fact.name in self.flavors:
                named = self.stands or self.chance.random() < 0.9
                return replace(fact, topology="dc" if named else "", node_labels={"card": fact.name})
            case NodeObserved():
                return self._host(fact)
            case WorkloadSubmitted() | WorkloadChanged():
                return replace(fact, spec=self._asking(fact.spec))
            case _:
                return fact

    def happenings(self) -> Happenings:
        stay = ((self.host, 4), (self.lose, 2), (self.usage, 2), (self.pod, 5), (self.end_pod, 2))
        return stay if self.stands else (*stay, (self.topology, 1))

    def host(self) -> None:
        self.life.tell(*self.life.platform.node_facts(self.chance.choice(sorted(HOSTS))))

    def lose(self) -> None:
        self.life.tell(ObjectRemoved(kind="Node", name=self.chance.choice(sorted(HOSTS))))

    def usage(self) -> None:
        """Pods of strangers come to a host, or go."""
        held = self.chance.choice(({}, {"cpu": 1, "pods": 1}, {"cpu": 3, "pods": 2}))
        self.life.tell(NodeUsageObserved(node=self.chance.choice(sorted(HOSTS)), requests=held))

    def topology(self) -> None:
        if self.chance.random() < 0.3:
            self.life.tell(ObjectRemoved(kind="Topology", name="dc"))
        else:
            self.life.tell(TopologyObserved(name="dc", levels=self.chance.choice((_LEVELS, _LEVELS, ("rack",)))))

    def pod(self) -> None:
        """A pod of a workload that is placed: it waits at its gate, is sent to a host, runs there, or ends there."""
        one = self.life.one(lambda one: one.admission is not None and any(map(_hosts, one.admission.assignments)))
        if one is None or one.admission is None:
            return
        given = self.chance.choice([each for each in one.admission.assignments if _hosts(each)])
        host = self.chance.choice(_hosts(given))
        gated, bound = self.chance.random() < 0.4, self.chance.random() < 0.7
        number = self.chance.randrange(_PODS)
        pod = PodObserved(
            namespace=one.namespace,
            name=f"t{number}",
            uid=f"t{number}",
            workload=chain_of(one) if one.spec.elastic else one.key,
            elastic=one.spec.elastic,
            pod_set=given.name,
            cardless=True,
            topology=PodTopology(gated=gated, node_selector={} if gated else {HOSTNAME: host}),
        )
        if bound and not gated:
            phase = self.chance.choice(("Running", "Running", "Running", "Succeeded", "Failed"))
            pod = replace(pod, node=host, phase=phase, terminating=self.chance.random() < 0.2)
        self.life.tell(pod)

    def end_pod(self) -> None:
        found = [one for _, one in sorted(self.life.world.pods.items()) if one.name.startswith("t")]
        if found:
            one = self.chance.choice(found)
            self.life.tell(ObjectRemoved(kind="Pod", namespace=one.namespace, name=one.name))

    def _host(self, fact: NodeObserved) -> NodeObserved:
        rack = HOSTS[fact.name] if self.stands or self.chance.random() < 0.95 else "r9"
        ready = self.chance.random() < 0.85
        taint = Taint(key="down", effect=self.chance.choice(("NoSchedule", "NoExecute")))
        return replace(
            fact,
            labels={"card": "f1" if fact.name in _SECOND else "f0", "rack": rack, HOSTNAME: fact.name},
            allocatable={"cpu": 2 + int(fact.name[1:]) % 3, "pods": 4},
            ready=ready,
            not_ready_since=0 if ready else self.life.hosts.at,
            unschedulable=self.chance.random() < 0.05,
            taints=(taint,) if self.chance.random() < 0.08 else (),
        )

    def _asking(self, spec: WorkloadSpec) -> WorkloadSpec:
        return replace(spec, pod_sets=tuple(self._placed(one) for one in spec.pod_sets))

    def _placed(self, one: PodSet) -> PodSet:
        """No slice is larger than its pod set (docs/rules/topology.md#refused-annotations)."""
        if self.chance.random() < 0.25:
            return one
        which = self.chance.choice(sorted(REQUESTS))
        if "pairs" in which:
            return replace(one, topology=REQUESTS[which], count=max(2, one.count), minimum=None)
        return replace(one, topology=REQUESTS[which])


def _hosts(given: PodSetAssignment) -> list[str]:
    return [] if given.topology is None else [one.values[-1] for one in given.topology.assignment.domains]
