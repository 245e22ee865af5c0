"""Pods of random lives that hang while they are being deleted, on hosts that are out of reach, and are ended by force in time.

Rule: docs/rules/eviction.md#failure-recovery
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import NodeObserved, PodObserved
from events.selector import Taint
from events.settings import SettingsObserved
from projections.devices.placement.hanging_pods import UNREACHABLE
from projections.workloads.lifecycle import chain_of
from tests.laws.beside import Beside, Happenings

_PODS = 4
_NODES = ("n0", "n1")


class HangingPods(Beside):
    """Hosts are out of reach now and then."""

    name = "hanging pods"
    often = 0.25

    def platform(self) -> list[Fact]:
        return [NodeObserved(name=name) for name in _NODES]

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                recovers = self.chance.random() < 0.9
                return replace(fact, gates={**fact.gates, "FailureRecoveryPolicy": recovers})
            case NodeObserved() if self.chance.random() < 0.4:
                taint = Taint(key=UNREACHABLE, effect=self.chance.choice(("NoSchedule", "NoExecute")))
                return replace(fact, taints=(*fact.taints, taint))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.hang, 5), (self.end, 1), (self.host, 2))

    def hang(self) -> None:
        one = self.life.one(lambda one: one.admission is not None)
        if one is None:
            return
        name = f"h{self.chance.randrange(_PODS)}"
        deleted = self.chance.random() < 0.8
        self.life.tell(
            PodObserved(
                namespace=one.namespace,
                name=name,
                uid=f"{name} of {one.key}",
                workload=chain_of(one) if one.spec.elastic else one.key,
                elastic=one.spec.elastic,
                pod_set=one.spec.pod_sets[0].name,
                node=self.chance.choice(_NODES),
                phase=self.chance.choice(("Running", "Running", "Failed")),
                cardless=True,
                terminating=deleted,
                forcible=deleted,
                gone_by=self.life.hosts.at + self.chance.choice((0, 30_000)) if deleted else 0,
            )
        )

    def end(self) -> None:
        found = [one for _, one in sorted(self.life.world.pods.items()) if one.name.startswith("h")]
        if found:
            one = self.chance.choice(found)
            self.life.tell(ObjectRemoved(kind="Pod", namespace=one.namespace, name=one.name))

    def host(self) -> None:
        self.life.tell(*self.life.platform.node_facts(self.chance.choice(_NODES)))
