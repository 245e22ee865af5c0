"""What is written into a ClusterQueue whose quota follows other clusters.

Rule: docs/rules/multikueue.md#quota
"""

from typing import Any

import pytest

from events.amount import UNLIMITED
from events.quota import Quota
from services.applier.queue_status.quota_patch import QuotaWanted, quota_patch

WANTED = QuotaWanted(uid="u", quotas=(Quota(resource="cpu", nominal=1_500), Quota(resource="memory", nominal=2 << 30)))


def cluster_queue(*resources: dict[str, Any], covered: tuple[str, ...] = ("cpu", "memory")) -> dict[str, Any]:
    flavor = {"name": "default", "resources": list(resources)}
    groups = [{"coveredResources": list(covered), "flavors": [flavor]}]
    return {"metadata": {"name": "cq", "uid": "u", "resourceVersion": "7"}, "spec": {"resourceGroups": groups}}


def resource(name: str, nominal: object, **limits: object) -> dict[str, Any]:
    return {"name": name, "nominalQuota": nominal, **limits}


def test_nominal_quota_is_written_on_the_version_that_was_read_and_limits_go() -> None:
    found = cluster_queue(resource("cpu", 3, borrowingLimit="1"), resource("memory", "2Gi", lendingLimit="1Gi"))
    assert quota_patch(found, WANTED) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [
                        {
                            "name": "default",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "1500m"},
                                {"name": "memory", "nominalQuota": "2Gi"},
                            ],
                        }
                    ],
                }
            ]
        },
    }


def test_what_is_there_in_other_words_is_not_written_again() -> None:
    assert quota_patch(cluster_queue(resource("cpu", "1.5"), resource("memory", "2048Mi")), WANTED) is None


def test_a_limit_alone_is_reason_enough() -> None:
    found = cluster_queue(resource("cpu", "1.5", borrowingLimit=0), resource("memory", "2Gi"))
    assert quota_patch(found, WANTED) is not None


def test_what_is_unlimited_is_written_so_that_it_is_read_so() -> None:
    wanted = QuotaWanted(uid="u", quotas=(Quota(resource="pods", nominal=UNLIMITED),))
    patch = quota_patch(cluster_queue(resource("pods", 1), covered=("pods",)), wanted)
    assert patch is not None
    written = patch["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert written == [{"name": "pods", "nominalQuota": str(UNLIMITED)}]
    assert quota_patch(cluster_queue(*written, covered=("pods",)), wanted) is None


@pytest.mark.parametrize(
    "unread",
    [
        resource("memory", "much"),
        {"name": "memory"},
        {"nominalQuota": "2Gi"},
    ],
    ids=["no quantity", "no quota", "no name"],
)
def test_what_can_t_be_read_there_is_written_over(unread: dict[str, Any]) -> None:
    right = cluster_queue(resource("cpu", "1.5"), resource("memory", "2Gi"))
    assert quota_patch(right, WANTED) is None
    assert quota_patch(cluster_queue(resource("cpu", "1.5"), unread), WANTED) is not None


def _another(uid: str) -> dict[str, Any]:
    found = cluster_queue(resource("cpu", 3), resource("memory", 1))
    return {**found, "metadata": {**found["metadata"], "uid": uid}}


def _flavors(times: int) -> dict[str, Any]:
    found = cluster_queue(resource("cpu", 3), resource("memory", 1))
    found["spec"]["resourceGroups"][0]["flavors"] *= times
    return found


def _groups(times: int) -> dict[str, Any]:
    found = cluster_queue(resource("cpu", 3), resource("memory", 1))
    return {**found, "spec": {"resourceGroups": found["spec"]["resourceGroups"] * times}}


def _split() -> dict[str, Any]:
    found = _groups(2)
    first, second = found["spec"]["resourceGroups"]
    return {**found, "spec": {"resourceGroups": [{**first, "flavors": []}, second]}}


@pytest.mark.parametrize(
    "found",
    [
        _another("a"),
        _another("z"),
        _flavors(0),
        _flavors(2),
        _groups(2),
        _split(),
        cluster_queue(resource("cpu", 3), covered=("cpu",)),
        cluster_queue(resource("cpu", 3), covered=("cpu", "memory", "pods")),
        {**_flavors(1), "spec": {}},
    ],
    ids=[
        "another of that name",
        "yet another",
        "no flavor",
        "two flavors",
        "two groups",
        "two groups, one of them empty",
        "covers less",
        "covers more",
        "no groups",
    ],
)
def test_an_object_that_has_changed_since_is_left_alone_until_that_is_decided_about(found: dict[str, Any]) -> None:
    assert quota_patch(found, WANTED) is None
