"""Elastic jobs of random lives: they ask for more pods and for fewer, waiting and admitted, several times in a row.

Rule: docs/rules/elastic.md
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import PodObserved
from events.settings import SettingsObserved
from events.workload import (
    PodsGone,
    PodsReady,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.workloads.lifecycle import Workload, chain_of
from projections.workloads.slices import holder_of, slices_of
from tests.laws.beside import Beside, Happenings

_PODS = 8
"""So many names pods have."""


class ElasticJobs(Beside):
    """Most jobs with an owner are elastic."""

    name = "elastic"

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case WorkloadSubmitted(owner=owner) if owner is not None and self.chance.random() < 0.6:
                return replace(fact, spec=_elastic(fact.spec))
            case WorkloadChanged() if (one := self._elastic(fact.workload)) is not None:
                return replace(fact, workload=chain_of(one), spec=_elastic(fact.spec))
            case PodsGone() | PodsReady() | PodsReclaimed() | WorkloadFinished() | WorkloadDeleted():
                one = self._elastic(fact.workload)
                own = one is None or (isinstance(fact, WorkloadDeleted) and self.chance.random() < 0.3)
                return fact if own or one is None else replace(fact, workload=chain_of(one))
            case SettingsObserved() if self.chance.random() < 0.05:
                return replace(fact, gates={**fact.gates, "ElasticJobsViaWorkloadSlices": False})
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.size, 8), (self.pod, 3), (self.end_pod, 2))

    def size(self) -> None:
        """A job asks for another size, or for one after the other before anybody has looked."""
        one = self.life.one(lambda one: one.spec.elastic and not one.finished)
        if one is None:
            return
        newest = slices_of(self.life.world, chain_of(one))[-1]
        sets = newest.resizing.wanted or newest.spec.pod_sets
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            which = self.chance.randrange(len(sets))
            counts = [each.count for each in sets]
            counts[which] = max(1, counts[which] + self.chance.choice((-3, -2, -1, -1, 1, 1, 2, 3)))
            sets = tuple(replace(each, count=count) for each, count in zip(sets, counts, strict=True))
            spec = replace(newest.spec, pod_sets=sets, slice_name="", replaces="")
            self.life.tell(WorkloadChanged(workload=one.key, spec=spec, generation=one.generation + 1))

    def pod(self) -> None:
        """A pod waits for its slice and its cards, or has those of one of its places."""
        one = self.life.one(lambda one: one.spec.elastic and not one.finished)
        if one is None:
            return
        chain = chain_of(one)
        runs = self.life.world.workloads[holder_of(self.life.world, chain)]
        name = f"e{self.chance.randrange(_PODS)}"
        pod = PodObserved(
            namespace=one.namespace,
            name=name,
            uid=f"{name} of {chain}",  # A pod never belongs to another job.
            workload=chain,
            pod_set=self.chance.choice(one.spec.pod_sets).name,
            elastic=True,
        )
        places = runs.devices.placements if runs.devices is not None else ()
        if runs.admitted and places and self.chance.random() < 0.6:
            place = self.chance.choice(places)
            pod = replace(
                pod,
                pod_set=place.pod_set,
                node=place.node,
                phase=self.chance.choice(("Pending", "Running", "Running", "Succeeded")),
                shares=place.containers,
                terminating=self.chance.random() < 0.2,
            )
        else:
            pod = replace(
                pod,
                gated=self.life.platform.cards,
                cardless=not self.life.platform.cards,
                waits_for_slice=self.chance.random() < 0.5,
                created_at=self.life.hosts.at,
            )
        self.life.tell(pod)

    def end_pod(self) -> None:
        name = f"e{self.chance.randrange(_PODS)}"
        found = [key for key in sorted(self.life.world.pods) if key.endswith(f"/{name}")]
        for key in found[:1]:
            self.life.tell(ObjectRemoved(kind="Pod", namespace=key.partition("/")[0], name=name))

    def _elastic(self, key: str) -> Workload | None:
        one = self.life.world.workloads.get(key)
        return one if one is not None and one.spec.elastic else None


def _elastic(spec: WorkloadSpec) -> WorkloadSpec:
    """Without what no elastic job may ask for (docs/rules/elastic.md#refused)."""
    sets = tuple(
        replace(
            one,
            minimum=None,
            topology=one.topology
            if one.topology is None
            else replace(one.topology, required="", slices=(), unconstrained=None if one.topology.preferred else True),
        )
        for one in spec.pod_sets
    )
    return replace(spec, elastic=True, pod_sets=sets)
