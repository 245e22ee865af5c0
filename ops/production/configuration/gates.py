"""Which feature gates the file may name: Kueue's, by their names of now and of before, each with those that it needs.

Rule: docs/rules/objects.md#feature-gates
"""

from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from projections.feature_gates import DEFAULTS

RENAMED = {
    "DRAExtendedResources": "KueueDRAIntegrationExtendedResource",
    "DynamicResourceAllocation": "KueueDRAIntegration",
}
"""Gates of Kueue 0.17 that are called otherwise now."""
LOCKED = frozenset(
    {
        "HierarchicalCohorts",
        "LendingLimit",
        "LocalQueueDefaulting",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "MultiKueueBatchJobWithManagedBy",
        "ObjectRetentionPolicies",
        "PropagateBatchJobLabelsToWorkload",
        "SanitizePodSets",
    }
)
"""Gates of what Kueue always does by now: they may only be on."""
WITHOUT_MEANING = frozenset(
    {
        "CleanupProvisioningRequestsOnEviction",
        "DeferRayServiceFinalizationForRedisCleanup",
        "FastQuotaReleaseInPodIntegration",
        "LWSImmutableGroupSize",
        "MetricForWorkloadCreationLatency",
        "MetricsForCohorts",
        "MultiKueueAllowInsecureKubeconfigs",
        "MultiKueueIncrementalDispatcherConfig",
        "MultiKueueKubeConfigPathValidation",
        "MultiKueueRedoAdmissionOnEvictionInWorker",
        "MultiKueueWaitForWorkloadAdmitted",
        "PodIntegrationValidateGroupOwner",
        "RemoveFinalizersWithStrictPatch",
        "SchedulerLibraryIntegration",
        "SchedulerLongRequeueInterval",
        "SchedulerTimestampPreemptionBuffer",
        "ShortWorkloadNames",
        "SkipAncestorCheckForDeletedWorkloads",
        "SkipFinalizersForPodsSuspendedByParent",
        "SparkApplicationIntegration",
        "TASCacheNodeMatchResults",
        "TASCacheTopologyTree",
        "TASCachingRemainingResources",
        "TLSOptions",
        "ValidateRayAndSparkJobUpdates",
        "VectorizedResourceRequests",
        "VisibilityOnDemand",
        "WorkloadIdentifierAnnotations",
        "WorkloadRequestUseMergePatch",
    }
)
"""Gates of Kueue's that nothing here asks: taken, and named as such."""
_TOPOLOGY, _REPLACEMENT, _CLAIMS = "TopologyAwareScheduling", "TASFailedNodeReplacement", "KueueDRAIntegration"
NEEDS: Mapping[str, tuple[str, ...]] = {
    "ElasticJobsViaWorkloadSlicesWithTAS": ("ElasticJobsViaWorkloadSlices", _TOPOLOGY),
    "FlavorFungibilityPreserveScanProgress": ("FlavorFungibility",),
    "KueueDRAIntegrationConsumableCapacity": (_CLAIMS,),
    "KueueDRAIntegrationExtendedResource": (_CLAIMS,),
    "KueueDRAIntegrationPartitionableDevices": (_CLAIMS,),
    "TASFailedNodeReplacementFailFast": (_TOPOLOGY, _REPLACEMENT),
    "TASReplaceNodeDueToNotReadyOverFixedTime": (_TOPOLOGY, _REPLACEMENT),
    "TASReplaceNodeOnPodTermination": (_TOPOLOGY, _REPLACEMENT),
    **{name: (_TOPOLOGY,) for name in (_REPLACEMENT, "TASBalancedPlacement", "TASHandleOverlappingFlavors")},
    **{name: (_TOPOLOGY,) for name in ("TASMultiLayerTopology", "TASProfileMixed", "TASReplaceNodeOnNodeTaints")},
    "TASRecomputeAssignmentWithinSchedulingCycle": (_TOPOLOGY,),
    "TASRespectNodeAffinityPreferred": (_TOPOLOGY,),
}
"""By gate: those without which nobody may turn it on."""
_AT_ONCE = ("AllAlpha", "AllBeta")


class NamedGates(msgspec.Struct, frozen=True, kw_only=True):
    """The gates of a file by their names of now, and what in it has no meaning here."""

    gates: dict[str, bool]
    ignored: tuple[str, ...]


def named_gates(found: Mapping[str, bool]) -> NamedGates:
    """The gates of the file. Raises `ValueError` naming the one that can't be so, in Kueue's words."""
    gates: dict[str, bool] = {}
    ignored: list[str] = []
    for name, on in sorted(found.items()):
        at, now = f"featureGates.{name}", RENAMED.get(name, name)
        if now in DEFAULTS:
            if found.get(now, on) != on:
                also = f"is called {now} now, which says {str(not on).lower()}"
                raise ValueError(f"{at}: {also}: leave one of both out")
            gates[now] = on
        elif name in WITHOUT_MEANING:
            ignored.append(at)
        elif name in LOCKED and not on:
            raise ValueError(f"{at}: cannot set feature gate {name} to false, feature is locked to true")
        elif name not in LOCKED:
            raise ValueError(f"{at}: {_unknown(name)}")
    _check_needs(gates)
    return NamedGates(gates=dict(sorted(gates.items())), ignored=tuple(ignored))


def _check_needs(gates: Mapping[str, bool]) -> None:
    """Those that are merely on by default follow what they need without a word."""
    for name, on in gates.items():
        for needed in NEEDS.get(name, ()) if on else ():
            if not gates.get(needed, DEFAULTS[needed]):
                raise ValueError(f"featureGates.{name}: requires {needed} to be enabled")


def _unknown(name: str) -> str:
    if name in _AT_ONCE:
        return "is not done: name each feature gate that you want"
    near = get_close_matches(name, sorted({*DEFAULTS, *RENAMED, *LOCKED, *WITHOUT_MEANING}), n=1)
    instead = f"write {near[0]}, or leave it out" if near else "leave it out"
    return f"there is no such feature gate: {instead}"
