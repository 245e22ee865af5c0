"""Which of Kueue's feature gates change where pods are placed in a topology.

Rule: docs/rules/topology.md#gates
"""

import msgspec

from events.settings import SettingsObserved
from projections.feature_gates import enabled


class TopologyGates(msgspec.Struct, frozen=True, kw_only=True):
    """The gates, with Kueue's defaults."""

    mixed_profile: bool = True
    """TASProfileMixed: pods that may lie anywhere fill up the domains that have least room."""
    balanced: bool = False
    """TASBalancedPlacement: pods of a preferred level are spread evenly over as few domains as possible."""
    preferred_affinity: bool = False
    """TASRespectNodeAffinityPreferred: nodes that pods prefer come first."""
    shared_hosts: bool = True
    """TASHandleOverlappingFlavors: flavors whose leaves are hosts see one another's pods."""
    elastic: bool = False
    """ElasticJobsViaWorkloadSlicesWithTAS: a workload that replaces another goes on from its places."""
    keep_pod_owned: bool = True
    """SkipReassignmentForPodOwnedWorkloads: what belongs to a single pod is not given another node."""
    hostname_prefixes: bool = True
    """TASAssignmentsEncodingByHostnamePrefix: hosts are stored by the beginnings that their names share."""


def topology_gates(settings: SettingsObserved) -> TopologyGates:
    """Kueue's feature gates on placement, as settings have them or by their defaults."""
    return TopologyGates(
        mixed_profile=enabled(settings, "TASProfileMixed"),
        balanced=enabled(settings, "TASBalancedPlacement"),
        preferred_affinity=enabled(settings, "TASRespectNodeAffinityPreferred"),
        shared_hosts=enabled(settings, "TASHandleOverlappingFlavors"),
        elastic=enabled(settings, "ElasticJobsViaWorkloadSlicesWithTAS"),
        keep_pod_owned=enabled(settings, "SkipReassignmentForPodOwnedWorkloads"),
        hostname_prefixes=enabled(settings, "TASAssignmentsEncodingByHostnamePrefix"),
    )
