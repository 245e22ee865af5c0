from events.settings import SettingsObserved
from projections.topology.requests.gates import TopologyGates, topology_gates

NAMES = {
    "TASProfileMixed": "mixed_profile",
    "TASBalancedPlacement": "balanced",
    "TASRespectNodeAffinityPreferred": "preferred_affinity",
    "TASHandleOverlappingFlavors": "shared_hosts",
    "ElasticJobsViaWorkloadSlicesWithTAS": "elastic",
    "SkipReassignmentForPodOwnedWorkloads": "keep_pod_owned",
    "TASAssignmentsEncodingByHostnamePrefix": "hostname_prefixes",
}


def test_gates_have_the_defaults_of_kueue_and_say_what_is_set() -> None:
    assert topology_gates(SettingsObserved()) == TopologyGates()
    for gate, name in NAMES.items():
        turned = not getattr(TopologyGates(), name)
        assert topology_gates(SettingsObserved(gates={gate: turned})) == TopologyGates(**{name: turned})
