"""Why no flavor can serve a workload: the reasons, from closest to fitting to farthest, and which of several is reported."""

from collections.abc import Iterable, Mapping

from events.quota import ClusterQueueObserved

NO_MATCHING_FLAVOR = "NoMatchingFlavor"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
WAITING_FOR_QUOTA = "WaitingForQuota"
PLACEMENT_FAILED = "TopologyPlacementFailed"

_SEVERITY = ("", PLACEMENT_FAILED, WAITING_FOR_QUOTA, EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR)


def mildest(reasons: Iterable[str]) -> str:
    """Of the reasons why flavors fail the one that is closest to fitting; empty when there are none."""
    return min(reasons, key=_SEVERITY.index, default="")


def worst(reasons: Iterable[str]) -> str:
    """Of the reasons why something fails the worst; empty when there are none."""
    return max(reasons, key=_SEVERITY.index, default="")


def reported_reason(queue: ClusterQueueObserved, failing: Mapping[str, str], uncovered: str = "") -> str:
    """The reason of a refusal, of the flavors that were tried and fail and why each does.

    Rule: docs/rules/flavors.md#refusal-reason

    Of each resource group the mildest, over all groups the worst. As in Kueue a flavor speaks for every group that it
    is in, and counts although another one serves its group.
    """
    groups = [mildest(failing[one.flavor] for one in group.flavors if one.flavor in failing) for group in queue.groups]
    return worst((uncovered, *groups)) or NO_MATCHING_FLAVOR
