"""The generator files of Kueue's scheduler benchmark, and the facts that they stand for."""

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from events.catalogue import Fact
from events.event import Millis
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quantity import to_units
from events.quota import (
    ClusterQueueObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.workload import WorkloadSpec, WorkloadSubmitted
from ops.files.reading import Unreadable, yaml_file
from ops.sandbox.bench.load_topology import Constraint, FlavorOfLoad, TopologyOfLoad, topology_facts, topology_request

RESOURCE, NAMESPACE = "cpu", "bench"


class LoadUnreadable(Exception):
    """The file is not a load that can be generated."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class WorkloadClass(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Workloads of one kind: what each asks for, how long it runs, how urgent it is."""

    class_name: str
    runtime_ms: Millis
    priority: int = 0
    request: str | int
    """Of each pod."""
    pod_count: int = 1
    tas_constraint: Constraint = ""
    tas_level: str = ""
    slice_size: int = 0

    @property
    def asked(self) -> int:
        """What all of its pods ask for, in the units of the resource."""
        return _cpu(self.request) * self.pod_count

    def pod_set(self) -> PodSet:
        """Its pods, and where they want to lie."""
        return PodSet(
            name="main",
            count=self.pod_count,
            shape=PodShape(containers=(ContainerShape(name="c", requests={RESOURCE: _cpu(self.request)}),)),
            topology=topology_request(self.tas_constraint, self.tas_level, self.slice_size),
        )


class WorkloadsSet(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """So many rounds of workloads, one round every interval."""

    count: int
    creation_interval_ms: Millis = 0
    workloads: tuple[WorkloadClass, ...]


class QueuesSet(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """So many cluster queues alike, each with workloads of its own."""

    class_name: str
    count: int
    nominal_quota: str | int
    borrowing_limit: str | int | None = None
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    within_cluster_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    workloads_sets: tuple[WorkloadsSet, ...] = ()


class CohortsSet(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """So many cohorts alike."""

    class_name: str
    count: int
    queues_sets: tuple[QueuesSet, ...]


class GeneratedLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generator file."""

    cohorts: tuple[CohortsSet, ...]
    topology: TopologyOfLoad | None = None
    flavor: FlavorOfLoad = msgspec.field(name="resourceFlavor", default=FlavorOfLoad(name="default"))


class Arrival(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A workload that is submitted at a time, and how long it runs once it is admitted."""

    at: Millis
    fact: WorkloadSubmitted
    kind: str
    runtime: Millis
    asked: int


def read_load(path: Path) -> GeneratedLoad:
    """The load in a file. Raises `LoadUnreadable`."""
    try:
        load = msgspec.convert(yaml_file(path), type=GeneratedLoad)
        for _, _, queues in queues_of(load):
            for amount in (queues.nominal_quota, queues.borrowing_limit or 0, *_requests(queues)):
                _cpu(amount)
        return load
    except Unreadable as problem:
        raise LoadUnreadable(path, problem.what) from problem
    except msgspec.ValidationError as problem:
        text = str(problem).replace("Object contains unknown field", "cannot be generated: it has the unknown field")
        raise LoadUnreadable(path, text) from problem
    except ValueError as problem:
        raise LoadUnreadable(path, str(problem)) from problem


def platform_of(load: GeneratedLoad) -> Iterator[Fact]:
    """The topology, the flavor, the namespace and all queues."""
    yield NamespaceObserved(name=NAMESPACE)
    if load.topology is not None:
        yield from topology_facts(load.topology)
    yield load.flavor.fact()
    for cohort, name, queues in queues_of(load):
        limit = None if queues.borrowing_limit is None else _cpu(queues.borrowing_limit)
        quota = Quota(resource=RESOURCE, nominal=_cpu(queues.nominal_quota), borrowing_limit=limit)
        yield ClusterQueueObserved(
            name=name,
            cohort=cohort,
            namespaces=LabelSelector(),
            preemption=PreemptionRules(
                within_cluster_queue=queues.within_cluster_queue, reclaim_within_cohort=queues.reclaim_within_cohort
            ),
            groups=(
                ResourceGroup(resources=(RESOURCE,), flavors=(FlavorQuotas(flavor=load.flavor.name, quotas=(quota,)),)),
            ),
        )
        yield LocalQueueObserved(namespace=NAMESPACE, name=name, cluster_queue=name)


def capacity_of(load: GeneratedLoad) -> int:
    """What all queues own together, in the units of the resource."""
    return sum(_cpu(queues.nominal_quota) for _, _, queues in queues_of(load))


def arrivals_of(load: GeneratedLoad, seed: int, *, at_once: bool) -> list[Arrival]:
    """Every workload in the order of its arrival; those of one moment in an order that the seed decides."""
    chance = random.Random(seed)  # noqa: S311 - a load, not a secret
    found: list[tuple[Millis, float, Arrival]] = []
    for _, queue, queues in queues_of(load):
        for index, workloads in enumerate(queues.workloads_sets):
            for round_ in range(workloads.count):
                at = 0 if at_once else round_ * workloads.creation_interval_ms
                for kind in workloads.workloads:
                    name = f"{queue}-{index}-{kind.class_name}-{round_}"
                    found.append((at, chance.random(), _arrival(queue, name, kind, at)))
    found.sort(key=lambda one: one[:2])
    return [arrival for _, _, arrival in found]


def _arrival(queue: str, name: str, kind: WorkloadClass, at: Millis) -> Arrival:
    return Arrival(
        at=at,
        kind=kind.class_name,
        runtime=kind.runtime_ms,
        asked=kind.asked,
        fact=WorkloadSubmitted(
            workload=f"{NAMESPACE}/{name}",
            uid=name,
            created_at=at,
            spec=WorkloadSpec(queue=queue, priority=kind.priority, pod_sets=(kind.pod_set(),)),
        ),
    )


def divided(load: GeneratedLoad, divisor: int) -> GeneratedLoad:
    """The same queues with so many times fewer workloads of each class, but at least one."""
    replace = msgspec.structs.replace
    return replace(
        load,
        cohorts=tuple(
            replace(
                cohorts,
                queues_sets=tuple(
                    replace(
                        queues,
                        workloads_sets=tuple(
                            replace(one, count=max(one.count // divisor, 1)) for one in queues.workloads_sets
                        ),
                    )
                    for queues in cohorts.queues_sets
                ),
            )
            for cohorts in load.cohorts
        ),
    )


def queues_of(load: GeneratedLoad) -> Iterator[tuple[str, str, QueuesSet]]:
    """Each cluster queue: its cohort, its name and what it is like."""
    for cohorts in load.cohorts:
        for c in range(cohorts.count):
            for queues in cohorts.queues_sets:
                for q in range(queues.count):
                    cohort = f"{cohorts.class_name}-{c}"
                    yield cohort, f"{cohort}-{queues.class_name}-{q}", queues


def _requests(queues: QueuesSet) -> Iterator[str | int]:
    return (kind.request for workloads in queues.workloads_sets for kind in workloads.workloads)


def _cpu(amount: str | int) -> int:
    return to_units(RESOURCE, str(amount))
