"""How pods of one kind are spread: over zones, where there are several, and over hosts."""

from collections.abc import Mapping

from events.json_object import JsonObject

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WHEREVER = {ZONE: "ScheduleAnyway", HOST: "ScheduleAnyway"}
"""A pod that stands beside another of its kind is better than one that waits."""
ONE_A_HOST = {ZONE: "ScheduleAnyway", HOST: "DoNotSchedule"}
"""Two servers on one host are lost together, so a third waits for a host; a cluster may well have fewer than three zones."""


def spread(labels: Mapping[str, str], otherwise: Mapping[str, str]) -> list[JsonObject]:
    """The constraints of pods with these labels; by key, what becomes of a pod for which there is no even place."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": {"matchLabels": dict(labels)},
        }
        for key, action in otherwise.items()
    ]
