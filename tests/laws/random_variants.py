"""Variants of random lives, and gates of preemption: jobs that try several flavors at once, and such as may not preempt yet.

Rules: docs/rules/variants.md, docs/rules/cycle.md#preemption-gates
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.quota import (
    ClusterQueueObserved,
    ConcurrentAdmission,
    FlavorQuotas,
    MigrationMode,
    PreemptionPolicy,
    ResourceGroup,
)
from events.settings import SettingsObserved
from events.workload import (
    GateState,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    PreemptionGateReported,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from tests.laws.beside import Beside, Happenings

_GATES = ("first", "second")
_FLAVORS = ("f0", "f1")


class Variants(Beside):
    """Most queues let jobs in on several flavors at once."""

    name = "variants"
    often = 0.25

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                return replace(fact, gates={**fact.gates, "ConcurrentAdmission": self.chance.random() < 0.95})
            case ClusterQueueObserved() if self.chance.random() < 0.7:
                lower = PreemptionPolicy.LOWER_PRIORITY
                within = lower if self.chance.random() < 0.5 else fact.preemption.within_cluster_queue
                return replace(
                    fact,
                    concurrent=self._policy(),
                    groups=tuple(map(_of_both, fact.groups)),
                    preemption=replace(fact.preemption, within_cluster_queue=within),
                )
            case WorkloadSubmitted() | WorkloadChanged():
                told = replace(fact, spec=self._allowed(fact.spec))
                return replace(told, workload=self._job(fact.workload))
            case PodsGone() | PodsReady() | PodsReclaimed() | WorkloadFinished() | WorkloadDeleted():
                return replace(fact, workload=self._job(fact.workload))
            case _:
                return fact

    def _policy(self) -> ConcurrentAdmission:
        pick = self.chance.choice
        return ConcurrentAdmission(
            mode=pick((*MigrationMode, MigrationMode.TRY_PREFERRED_FLAVORS)), last_acceptable=pick(("", "", *_FLAVORS))
        )

    def _allowed(self, spec: WorkloadSpec) -> WorkloadSpec:
        """What its job asks for, whichever variant was looked at."""
        allowed = self.chance.choice(((), (), (), ("f1",), _FLAVORS))
        return replace(spec, allowed_flavors=allowed, variant_of="")

    def _job(self, key: str) -> str:
        """The workload of the job: of variants the watcher knows nothing."""
        one = self.life.world.workloads.get(key)
        return key if one is None else one.spec.variant_of or key


def _of_both(group: ResourceGroup) -> ResourceGroup:
    """With both flavors, and some CPU in each: what is of interest begins where a job has a choice."""
    (first, *_) = group.flavors
    if first.flavor != _FLAVORS[0]:
        return group
    some = tuple(replace(one, nominal=one.nominal or 2 * (one.resource == "cpu")) for one in first.quotas)
    return replace(group, flavors=tuple(FlavorQuotas(flavor=name, quotas=some) for name in _FLAVORS))


class PreemptionGates(Beside):
    """Some jobs bear gates, which somebody opens."""

    name = "gates"
    often = 0.25

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                opens = self.chance.random() < 0.9
                return replace(fact, gates={**fact.gates, "MultiKueueOrchestratedPreemption": opens})
            case WorkloadSubmitted() | WorkloadChanged() if self.chance.random() < 0.5:
                gates = self.chance.choice((_GATES[:1], _GATES[:1], _GATES))
                return replace(fact, spec=replace(fact.spec, preemption_gates=gates))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.open, 4),)

    def open(self) -> None:
        one = self.life.one(lambda one: bool(one.spec.preemption_gates) and not one.finished)
        if one is not None:
            gate = GateState(name=self.chance.choice(_GATES), open=self.chance.random() < 0.9, since=self.life.hosts.at)
            self.life.tell(PreemptionGateReported(workload=one.key, gate=gate))
