"""The shape of the pods that a workload is made of."""

from events.amount import Requests
from events.claims import PodClaim, PodClaims
from events.event import Value
from events.selector import NodeTerm, PreferredNodeTerm, Toleration
from events.topology import TopologyRequest


class ContainerShape(Value, frozen=True, kw_only=True):
    """What one container asks for, in units (CPU milli, all else whole)."""

    name: str
    requests: Requests = {}
    limits: Requests = {}
    restartable: bool = False
    """A sidecar: an init container that runs on beside the others."""
    privileged: bool = False


class PodShape(Value, frozen=True, kw_only=True):
    """The part of a pod template that decides where it may run and what it holds."""

    containers: tuple[ContainerShape, ...] = ()
    init_containers: tuple[ContainerShape, ...] = ()
    pod_requests: Requests = {}
    """Pod-level requests; where set, they stand for the sum over containers."""
    pod_limits: Requests = {}
    overhead: Requests = {}
    runtime_class: str = ""
    node_selector: dict[str, str] = {}
    node_terms: tuple[NodeTerm, ...] = ()
    """Required node affinity: one of the terms must hold."""
    preferred_terms: tuple[PreferredNodeTerm, ...] = ()
    """Preferred node affinity."""
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = ""
    device_annotations: dict[str, str] = {}
    """Annotations that steer the choice of cards (docs/rules/devices.md#steering)."""
    unseen_by_hami: bool = False
    """HAMi leaves its pods alone, for they bear a label that says so."""
    claims: tuple[PodClaim, ...] = ()
    """The devices that the pods claim (docs/rules/claims.md)."""
    raw_shape: str = ""
    """Digest of the other fields that matter to scheduling (docs/rules/queues.md#equivalence)."""

    @property
    def sidecars(self) -> tuple[int, ...]:
        """Which of the init containers run on beside the others, by their places."""
        return tuple(place for place, one in enumerate(self.init_containers) if one.restartable)


class PodSet(Value, frozen=True, kw_only=True):
    """Pods of one shape; `minimum` is the least count that partial admission may go down to."""

    name: str
    count: int
    minimum: int | None = None
    shape: PodShape = PodShape()
    topology: TopologyRequest | None = None
    claims: PodClaims | None = None
    """What its pods claim, counted; None where they claim nothing, or where it can't be counted."""
