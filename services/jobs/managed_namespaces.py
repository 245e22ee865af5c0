"""In which namespaces jobs are managed, by what is known of them: the name always is."""

from collections.abc import Mapping

from events.selector import LabelSelector
from projections.nodes.affinity import selects

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label by which every namespace bears its own name."""


def asks_for_labels(selector: LabelSelector | None) -> bool:
    """Whether a selector asks for more than names, so that the labels of a namespace have to be known."""
    asked = () if selector is None else (*selector.labels, *(one.key for one in selector.expressions))
    return any(one != NAMESPACE_NAME for one in asked)


def is_managed(selector: LabelSelector | None, name: str, labels: Mapping[str, str]) -> bool:
    """Whether jobs are managed in a namespace with these labels; without a selector they are in all."""
    return selector is None or selects(selector, {**labels, NAMESPACE_NAME: name})
