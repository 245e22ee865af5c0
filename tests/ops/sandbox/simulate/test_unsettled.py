"""A history is not judged while something in its cluster has yet to come to its end."""

from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Store
from ops.sandbox.simulate.laws import unsettled


def test_a_pod_that_was_told_to_end_is_waited_for() -> None:
    store = Store()
    resources = Resources(store, lambda: 0)
    pods = resources.kind("", "v1", "pods")
    pod = {
        "metadata": {"name": "slow", "finalizers": ["example.com/slow"]},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    resources.create(pods, "default", pod)
    assert not unsettled(store)
    resources.delete(pods, ("default", "slow"))
    assert unsettled(store) == ["pod default/slow never goes: it was told to end"]
