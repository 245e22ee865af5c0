"""The world of a recorded case: its objects through the watcher's own translation, folded as facts."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import msgspec

from events.api.check_controllers import PROVISIONING
from events.application import DecisionApplied
from events.catalogue import AnyEvent, Decision
from events.event import Millis
from events.provisioning import ProvisioningConfigObserved
from events.quota import CheckParameters
from events.settings import (
    AdmissionFairSharing,
    FairStrategy,
    PodsReadyRule,
    RequeuingTimestamp,
    SettingsObserved,
    Transformation,
    TransformationStrategy,
)
from events.timestamp import parse_timestamp
from events.workload import WorkloadSubmitted
from projections.checks.parameters import CONFIG_GROUP
from projections.checks.provisioning import CONFIG_KIND
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.quota.columns import Usage
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.admitter.decide import one_cycle
from services.admitter.trees_together import trees_together
from services.preemptor.decide import Preemptor
from services.runtime.partition.host import Decider
from services.watcher.nodes.node_usage import NodeUsage
from services.watcher.nodes.nodes import node_facts
from services.watcher.object_keys import place_of
from services.watcher.view import View
from services.watcher.workloads.workload_objects import workload_state

Case = dict[str, Any]

_KINDS = (
    ("namespaces", "Namespace"),
    ("local_queues", "LocalQueue"),
    ("topologies", "Topology"),
    ("resource_flavors", "ResourceFlavor"),
    ("admission_checks", "AdmissionCheck"),
    ("cluster_queues", "ClusterQueue"),
    ("cohorts", "Cohort"),
)


class CaseWorld:
    """A world, and the place on its log where the next event stands."""

    def __init__(self, case: Case) -> None:
        self.world, self.view = World(), View(validates=False)
        self.now: Millis = parse_timestamp(case["now"]) if case.get("now") else 0
        self.sequence = 0
        self.recorded: dict[str, Case] = {}
        """The Workload objects as they were before anything was decided."""
        self.lined: dict[str, Workload] = {}
        """The workloads before the first cycle."""
        config = case.get("config") or {}
        settings = SettingsObserved(
            fair_sharing=bool(config.get("fair_sharing")),
            fair_strategies=tuple(
                FairStrategy(name) for name in config.get("fair_sharing_preemption_strategies") or FairStrategy
            ),
            pods_ready=_pods_ready(config),
            admission_fair_sharing=_past_usage(config),
            transformations=_transformations(config),
            gates=dict(case.get("gates_non_default") or {}),
            device_totals=False,
        )
        self.fold([settings])
        for name, kind in _KINDS:
            for value in (case.get("objects") or {}).get(name) or ():
                self.see(kind, _with_resources(value) if kind in ("ClusterQueue", "Cohort") else value)
        self._configure_provisioning()
        for value in (case.get("objects") or {}).get("nodes") or ():
            self.fold(node_facts(value))
        self._count_pods((case.get("objects") or {}).get("pods") or ())
        for value in case.get("workloads") or ():
            self.submit(value)

    def _count_pods(self, pods: Iterable[Case]) -> None:
        """What pods that no queue places hold of nodes, as the watcher sums it."""
        facts = (*self.world.flavors.values(), *self.world.nodes.values())
        held = NodeUsage({place_of(fact): fact for fact in facts})
        for fact in facts:
            held.note(fact)
        held.count_all(pods)
        self.fold(one for one in held.take_news() if one.requests)

    def _configure_provisioning(self) -> None:
        """Checks of the autoscaler are recorded as active, without the configuration that makes them so."""
        for check in list(self.world.checks.values()):
            if check.controller == PROVISIONING and check.parameters is None:
                asked = CheckParameters(group=CONFIG_GROUP, kind=CONFIG_KIND, name=check.name)
                config = ProvisioningConfigObserved(name=check.name, class_name="recorded")
                self.fold([config, msgspec.structs.replace(check, parameters=asked)])

    def by_column(self, usage: Case) -> Usage:
        """Usage that a case has by flavor and resource."""
        column = self.world.quota.column
        return {column(flavor, name): amount for flavor, found in usage.items() for name, amount in found.items()}

    def see(self, kind: str, value: Case) -> None:
        """Fold what the watcher tells of an object."""
        self.fold(self.view.see(kind, value))

    def submit(self, value: Case) -> None:
        """Fold a Workload object as it stands, whether a job is behind it or not."""
        state = workload_state(value)
        self.recorded[state.workload] = value
        # Fixtures of the scheduler name a job by label without being owned by it: nobody looks for owners there.
        spec = msgspec.structs.replace(state.spec, orphaned=False)
        fact = WorkloadSubmitted(
            workload=state.workload,
            uid=state.uid,
            owner=state.owner,
            generation=value["metadata"].get("generation", 0),
            created_at=state.created_at,
            spec=spec,
            adopted=state.adopted,
        )
        self.fold([fact])

    def submitted(self, value: Case) -> Workload:
        """The workload of a Workload object, as it is folded."""
        state = workload_state(value)
        self.submit(value)
        return self.world.workloads[state.workload]

    def decided(self, decider: Decider) -> list[Decision]:
        """What a decider says now; it is folded."""
        self.sequence += 1
        return decider.decide(self.world, LogPosition(partition="LOG_0", sequence=self.sequence, at=self.now))

    def cycle(self) -> list[Decision]:
        """One scheduling cycle in all trees, as the admitter runs it; then the preemptor has its say."""
        if not self.lined:
            self.before_the_cycle()
        self.sequence += 1
        place = LogPosition(partition="LOG_0", sequence=self.sequence, at=self.now)
        self.world.begin()
        decisions: list[Decision] = []
        for trees in trees_together(self.world):
            one_cycle(self.world, trees, place, decisions)
        return [*decisions, *self.decided(Preemptor())]

    def before_the_cycle(self) -> None:
        """The cluster shows everything that was decided so far: what is told and changed from now on is compared."""
        shown = self.sequence
        self.fold(
            [DecisionApplied(workload=key, partition="LOG_0", sequence=shown) for key in list(self.world.workloads)]
        )
        self.lined = dict(self.world.workloads)

    def fold(self, events: Iterable[AnyEvent]) -> None:
        """Fold events, each at a place of its own."""
        for event in events:
            self.sequence += 1
            evolve(self.world, event, LogPosition(partition="LOG_0", sequence=self.sequence, at=self.now))


def _past_usage(config: Case) -> AdmissionFairSharing | None:
    """How past usage fades."""
    found = config.get("admission_fair_sharing")
    if found is None:
        return None
    return AdmissionFairSharing(
        half_life=_millis(found["usageHalfLifeTime"]),
        sampling=_millis(found["usageSamplingInterval"]),
        resource_weights={name: str(weight) for name, weight in (found.get("resourceWeights") or {}).items()},
    )


def _millis(duration: str) -> Millis:
    """A duration as Go writes it, such as `1h10m0.5s`."""
    each = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
    return sum(int(Fraction(number) * each[unit]) for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", duration))


def _transformations(config: Case) -> tuple[Transformation, ...]:
    """Resources that are counted as others."""
    return tuple(
        Transformation(input=one["input"], outputs=one["outputs"], strategy=TransformationStrategy(one["strategy"]))
        for one in config.get("resource_transformations") or ()
    )


def _pods_ready(config: Case) -> PodsReadyRule | None:
    """The rule of all-or-nothing, as far as it steers an order."""
    timestamp = (config.get("workload_ordering") or {}).get("pods_ready_requeuing_timestamp")
    return None if not timestamp else PodsReadyRule(timeout=0, timestamp=RequeuingTimestamp(timestamp))


def _with_resources(value: Case) -> Case:
    """A queue or cohort without the flavors that name no resource: some recorded fixtures leave them empty."""
    spec = dict(value.get("spec") or {})
    groups = [
        {**group, "flavors": [one for one in group.get("flavors") or () if one.get("resources")]}
        for group in spec.get("resourceGroups") or ()
    ]
    spec["resourceGroups"] = [group for group in groups if group["flavors"]]
    return {**value, "spec": spec}
