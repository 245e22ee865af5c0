"""UIDs in embedded clusters, by which whoever speaks to several tells what is the same object."""

from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster


def uid(identity: str | None = None) -> str:
    cluster = EmbeddedCluster(identity=identity, controllers=False)
    return next(iter(cluster.store.of("namespaces").values()))["metadata"]["uid"]


def test_the_same_object_in_two_clusters_has_two_uids() -> None:
    assert uid() != uid()
    assert uid("w1") != uid("w2")


def test_a_history_that_is_played_again_has_the_same_uids() -> None:
    assert uid("w1") == uid("w1")
