"""Worker clusters and lists of them as facts."""

import pytest

from events.json_object import JsonObject
from events.multikueue import KubeConfigPlace, MultiKueueClusterObserved, MultiKueueConfigObserved
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import SIMPLE

CREATED, CONNECTED = 1_700_000_000_000, 1_700_000_060_000


def cluster(source: JsonObject, *conditions: JsonObject) -> JsonObject:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": "w1", "uid": "u", "generation": 2, "creationTimestamp": "2023-11-14T22:13:20Z"},
        "spec": {"clusterSource": source},
        "status": {"conditions": list(conditions)},
    }


def test_a_cluster_is_told_with_how_it_is_reached_and_whether_it_is() -> None:
    active = {"type": "Active", "status": "True", "lastTransitionTime": "2023-11-14T22:14:20Z"}
    by_secret = cluster({"kubeConfig": {"location": "w1-kubeconfig"}}, active)
    assert SIMPLE["MultiKueueCluster"](by_secret) == MultiKueueClusterObserved(
        name="w1", uid="u", generation=2, location="w1-kubeconfig", active=True, since=CONNECTED
    )
    by_path = cluster({"kubeConfig": {"location": "/etc/w1", "locationType": "Path"}})
    assert SIMPLE["MultiKueueCluster"](by_path) == MultiKueueClusterObserved(
        name="w1", uid="u", generation=2, location="/etc/w1", location_type=KubeConfigPlace.PATH, since=CREATED
    )
    by_profile = cluster({"clusterProfileRef": {"name": "west"}}, {**active, "status": "False"})
    assert SIMPLE["MultiKueueCluster"](by_profile) == MultiKueueClusterObserved(
        name="w1", uid="u", generation=2, profile="west", since=CONNECTED
    )


@pytest.mark.parametrize(
    ("text", "price"),
    [("2.5", 25_000_000_000), ("0", 0), ("-1", None), ("cheap", None), ("1e3", None), ("2\n", None), ("", None)],
)
def test_a_cluster_is_told_with_its_price_if_it_is_one_and_where_its_data_are(text: str, price: int | None) -> None:
    value = cluster({"kubeConfig": {"location": "w1"}})
    value["metadata"] |= {"annotations": {"kuelog.io/price": text}, "labels": {"kuelog.io/locality": "oslo"}}
    found = SIMPLE["MultiKueueCluster"](value)
    assert isinstance(found, MultiKueueClusterObserved) and (found.price, found.locality) == (price, "oslo")


@pytest.mark.parametrize(("management", "automated"), [(None, False), ("Manual", False), ("Automated", True)])
def test_a_list_of_clusters_is_told_with_whether_quota_is_to_follow_them(
    management: str | None, automated: bool
) -> None:
    value = {"metadata": {"name": "all", "uid": "u"}, "spec": {"clusters": ["w1"], "quotaManagement": management}}
    found = SIMPLE["MultiKueueConfig"](value)
    assert found == MultiKueueConfigObserved(name="all", uid="u", clusters=("w1",), automated=automated)


def test_a_list_of_clusters_keeps_its_order_and_has_at_least_one() -> None:
    value = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueConfig",
        "metadata": {"name": "all", "uid": "u"},
        "spec": {"clusters": ["w2", "w1"]},
    }
    assert SIMPLE["MultiKueueConfig"](value) == MultiKueueConfigObserved(name="all", uid="u", clusters=("w2", "w1"))
    with pytest.raises(Refused):
        SIMPLE["MultiKueueConfig"]({**value, "spec": {"clusters": []}})
