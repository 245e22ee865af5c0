"""What a folder of manifests without a scenario leaves out, given as whoever wrote it has it: namespaces of jobs, nodes of flavors."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject, object_at
from ops.files.manifests import Document
from ops.sandbox.scenario.node_pools import NodePool

_NODES = 2
_DEFAULT = "default"


def placed(documents: Sequence[Document]) -> list[Document]:
    """The same, with each object that names a queue and no namespace in the one namespace that has a LocalQueue of that name."""
    spaces: dict[str, set[str]] = {}
    for one in documents:
        if one.value.get("kind") == "LocalQueue":
            meta = object_at(one.value, "metadata")
            spaces.setdefault(str(meta.get("name")), set()).add(str(meta.get("namespace") or _DEFAULT))
    return [_placed(one, spaces) for one in documents]


def nodes_for(documents: Sequence[Document], there: Iterable[NodePool]) -> tuple[NodePool, ...]:
    """Nodes with the labels of each ResourceFlavor that none of the nodes that are there has."""
    labels = [node["metadata"]["labels"] for pool in there for node in pool.nodes()]
    made: list[NodePool] = []
    for one in documents:
        wanted = object_at(one.value, "spec", "nodeLabels") if one.value.get("kind") == "ResourceFlavor" else {}
        asked = {str(name): str(text) for name, text in wanted.items()}
        if asked and not any(asked.items() <= has.items() for has in labels):
            name = str(object_at(one.value, "metadata").get("name"))
            made.append(NodePool(count=_NODES, prefix=name, labels=asked))
            labels.append(asked)
    return tuple(made)


def _placed(document: Document, spaces: Mapping[str, set[str]]) -> Document:
    meta = object_at(document.value, "metadata")
    found = spaces.get(str(object_at(meta, "labels").get(QUEUE_NAME)), set())
    if meta.get("namespace") or len(found) != 1 or _DEFAULT in found:
        return document
    [space] = found
    value: JsonObject = {**document.value, "metadata": {**meta, "namespace": space}}
    return msgspec.structs.replace(document, value=value)
