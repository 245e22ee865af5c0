"""What administrators have set up, as the cluster last showed it: the part of the world that every room may look at."""

from collections.abc import Mapping
from typing import Protocol, get_args

import msgspec

from events.control import ObjectRefused
from events.multikueue import MultiKueueClusterObserved, MultiKueueConfigObserved
from events.quota import (
    AdmissionCheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    ConfigurationFact,
    FlavorObserved,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    RuntimeClassObserved,
)
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from projections.limit_ranges import NamespaceLimits
from projections.object_versions import ObjectVersions
from projections.work_queue import WorkQueue


class ConfigurationTables(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of each kind, as they are stored; of `Configuration`, what can't be derived."""

    cluster_queues: dict[str, ClusterQueueObserved]
    cohorts: dict[str, CohortObserved]
    local_queues: dict[str, LocalQueueObserved]
    flavors: dict[str, FlavorObserved]
    topologies: dict[str, TopologyObserved] = {}
    priority_classes: dict[str, PriorityClassObserved]
    namespaces: dict[str, NamespaceObserved]
    checks: dict[str, AdmissionCheckObserved]
    limit_ranges: dict[str, LimitRangeObserved]
    multikueue_configs: dict[str, MultiKueueConfigObserved] = {}
    multikueue_clusters: dict[str, MultiKueueClusterObserved] = {}
    runtime_classes: dict[str, RuntimeClassObserved]


TABLES: Mapping[str, str] = {
    get_args(one.type)[1].kind: one.name for one in msgspec.structs.fields(ConfigurationTables)
}
"""By kind of object, the table of the world that holds those; a kind that is observed has one."""


class ConfigurationObjects:
    """The objects of each kind in a world; the folds put them there."""

    cluster_queues: dict[str, ClusterQueueObserved]
    cohorts: dict[str, CohortObserved]
    local_queues: dict[str, LocalQueueObserved]
    flavors: dict[str, FlavorObserved]
    topologies: dict[str, TopologyObserved]
    priority_classes: dict[str, PriorityClassObserved]
    namespaces: dict[str, NamespaceObserved]
    checks: dict[str, AdmissionCheckObserved]
    limit_ranges: dict[str, LimitRangeObserved]
    multikueue_configs: dict[str, MultiKueueConfigObserved]
    multikueue_clusters: dict[str, MultiKueueClusterObserved]
    runtime_classes: dict[str, RuntimeClassObserved]

    def __init__(self) -> None:
        for table in TABLES.values():
            setattr(self, table, {})
        self.limits: dict[str, NamespaceLimits] = {}


class Configuration(Protocol):
    """Settings, queues and all that they refer to, each as it was last observed; only `projections/folds` changes them."""

    settings: SettingsObserved
    """The configuration in force."""
    cluster_queues: dict[str, ClusterQueueObserved]
    cohorts: dict[str, CohortObserved]
    local_queues: dict[str, LocalQueueObserved]
    """By `namespace/name`, as all objects in namespaces are."""
    local_queues_of: dict[str, dict[str, None]]
    """Keys of the local queues that lead to each cluster queue."""
    flavors: dict[str, FlavorObserved]
    topologies: dict[str, TopologyObserved]
    checks: dict[str, AdmissionCheckObserved]
    namespaces: dict[str, NamespaceObserved]
    priority_classes: dict[str, PriorityClassObserved]
    """By kind and name: those of workloads and those of pods may have the same name."""
    limit_ranges: dict[str, LimitRangeObserved]
    limits: dict[str, NamespaceLimits]
    """The same by namespace, with what they say together."""
    multikueue_configs: dict[str, MultiKueueConfigObserved]
    multikueue_clusters: dict[str, MultiKueueClusterObserved]
    runtime_classes: dict[str, RuntimeClassObserved]
    versions: ObjectVersions
    """Which version of each object was folded last."""
    refused: dict[str, ObjectRefused]
    """Objects that could not be understood, by `kind/namespace/name`."""
    refused_work: WorkQueue
    """Those of them to be looked at: a hint."""


def table_of(world: Configuration, kind: str) -> dict[str, ConfigurationFact] | None:
    """The objects of a kind; None where it is no kind of these."""
    return None if kind not in TABLES else getattr(world, TABLES[kind])


def refused_because(refused: ObjectRefused) -> str:
    """Why an object was refused, and what to write instead, in words."""
    return "; ".join(
        f"{one.field}: {one.message}" + (f" (write {one.instead})" if one.instead else "") for one in refused.problems
    )
