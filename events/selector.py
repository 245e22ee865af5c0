"""Label selectors, node selector terms, taints and tolerations: what decides whether a pod may go to a node."""

from enum import StrEnum

from events.event import Value


class Operator(StrEnum):
    """How a requirement compares a label (Kubernetes' label and node selectors)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Requirement(Value, frozen=True, kw_only=True):
    """One comparison of one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class LabelSelector(Value, frozen=True, kw_only=True):
    """All of its requirements must hold; an empty one matches everything."""

    labels: dict[str, str] = {}
    expressions: tuple[Requirement, ...] = ()


class NodeTerm(Value, frozen=True, kw_only=True):
    """One term of a required node affinity: all of its requirements must hold."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    """Comparisons of fields of the node itself, of which Kubernetes has one: `metadata.name`."""


class PreferredNodeTerm(Value, frozen=True, kw_only=True):
    """A term that pods would like their node to meet, and how much."""

    weight: int
    term: NodeTerm


class Effect(StrEnum):
    """What a taint does to a pod that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Value, frozen=True, kw_only=True):
    """A mark on a node that keeps pods away."""

    key: str
    value: str = ""
    effect: Effect


class Toleration(Value, frozen=True, kw_only=True):
    """A pod's leave to ignore a taint; an empty key with `Exists` tolerates all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None
