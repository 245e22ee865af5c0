"""What manifests without a scenario leave out is given as it was meant: jobs go where their queue is, flavors have nodes."""

from ops.files.manifests import Document
from ops.sandbox.scenario.left_out import nodes_for, placed
from ops.sandbox.scenario.node_pools import UP_NODES, NodePool

QUEUE = "kueue.x-k8s.io/queue-name"


def job(queue: str, namespace: str = "") -> Document:
    meta = {"name": "j", "labels": {QUEUE: queue}, **({"namespace": namespace} if namespace else {})}
    return Document(file="f", line=1, value={"kind": "Job", "metadata": meta})


def door(name: str, namespace: str = "") -> Document:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return Document(file="f", line=1, value={"kind": "LocalQueue", "metadata": meta})


def flavor(name: str, **labels: str) -> Document:
    spec = {"nodeLabels": labels} if labels else {}
    value = {"kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}
    return Document(file="f", line=1, value=value)


def space_of(*documents: Document) -> str:
    return str(placed(documents)[0].value["metadata"].get("namespace", ""))


def test_a_job_without_a_namespace_goes_where_its_queue_is_if_that_is_in_one_place() -> None:
    assert space_of(job("q"), door("q", "team")) == "team"
    assert space_of(job("q"), door("other", "team")) == ""
    assert space_of(job("q"), door("q", "team"), door("q", "side")) == "", "nobody knows which is meant"
    assert space_of(job("q"), door("q")) == "", "it is there where the job goes anyway"
    assert space_of(job("q", "own"), door("q", "team")) == "own"


def test_nodes_are_made_for_flavors_that_no_node_has_the_labels_of() -> None:
    known = flavor("known", **UP_NODES[0].nodes()[0]["metadata"]["labels"])
    found = nodes_for([flavor("any"), known, flavor("spot", tier="spot"), flavor("again", tier="spot")], UP_NODES)
    assert found == (NodePool(count=2, prefix="spot", labels={"tier": "spot"}),)
    assert all(node["metadata"]["labels"]["tier"] == "spot" for node in found[0].nodes())
