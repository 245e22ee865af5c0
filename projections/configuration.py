"""What administrators have set up, as the cluster last showed it: the part of the world that every room may look at."""

from typing import Protocol

from events.control import ObjectRefused
from events.quota import (
    AdmissionCheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    RuntimeClassObserved,
)
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from projections.object_versions import Versions
from projections.trail import Trail


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
    runtime_classes: dict[str, RuntimeClassObserved]
    versions: Versions
    """Which version of each object was folded last."""
    refused: dict[str, ObjectRefused]
    """Objects that could not be understood, by `kind/namespace/name`."""


def accept(refused: dict[str, ObjectRefused], trail: Trail, kind: str, namespace: str, name: str) -> None:
    """Forget the refusal of an object (`ObjectRefused`): it is understood now, or gone."""
    trail.drop(refused, f"{kind}/{namespace}/{name}")


def refused_because(refused: ObjectRefused) -> str:
    """Why an object was refused, and what to write instead, in words."""
    return "; ".join(
        f"{one.field}: {one.message}" + (f" (write {one.instead})" if one.instead else "") for one in refused.problems
    )
