"""Feature gates by Kueue's names: the defaults of those that matter here, and what the settings make of them."""

from events.settings import SettingsObserved

DEFAULTS: dict[str, bool] = {
    "AdmissionFairSharing": True,
    "AdmissionGatedBy": True,
    "ConcurrentAdmission": False,
    "ElasticJobsViaWorkloadSlices": True,
    "ElasticJobsViaWorkloadSlicesWithTAS": False,
    "FairSharingPreemptWithinNominal": True,
    "FairSharingPrioritizeNonBorrowing": True,
    "FailureRecoveryPolicy": False,
    "FinishOrphanedWorkloads": True,
    "FlavorFungibility": True,
    "FlavorFungibilityPreserveScanProgress": True,
    "KueueDRAIntegration": True,
    "KueueDRAIntegrationConsumableCapacity": False,
    "KueueDRAIntegrationExtendedResource": True,
    "KueueDRAIntegrationPartitionableDevices": True,
    "KueueDRARejectWorkloadsWhenDRADisabled": True,
    "MultiKueue": True,
    "MultiKueueAdaptersForCustomJobs": True,
    "MultiKueueOrchestratedPreemption": False,
    "PartialAdmission": True,
    "PriorityBoost": False,
    "PrioritizePreemptorWorkloads": False,
    "PrioritySortingWithinCohort": True,
    "QuotaCheckStrategy": True,
    "ReclaimablePods": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
    "RejectUpdatesToCQWithInvalidOnFlavors": False,
    "SchedulingEquivalenceHashing": True,
    "SkipReassignmentForPodOwnedWorkloads": True,
    "TASAssignmentsEncodingByHostnamePrefix": True,
    "TASBalancedPlacement": False,
    "TASFailedNodeReplacement": True,
    "TASFailedNodeReplacementFailFast": True,
    "TASHandleOverlappingFlavors": True,
    "TASMultiLayerTopology": True,
    "TASProfileMixed": True,
    "TASRecomputeAssignmentWithinSchedulingCycle": True,
    "TASReplaceNodeDueToNotReadyOverFixedTime": False,
    "TASReplaceNodeOnNodeTaints": True,
    "TASReplaceNodeOnPodTermination": True,
    "TASRespectNodeAffinityPreferred": False,
    "TASValidateWorkloadSliceSize": True,
    "TopologyAwareScheduling": True,
    "UnadmittedWorkloadsExplicitStatus": False,
    "UnadmittedWorkloadsObservability": True,
    "WorkloadPriorityClassDefaulting": True,
    "WorkloadValidateResourcesAreNonNegative": True,
    "WorkloadValidationForPodSetMetadata": True,
}


def enabled(settings: SettingsObserved, gate: str) -> bool:
    """Whether the gate is on under these settings."""
    return settings.gates.get(gate, DEFAULTS.get(gate, False))
