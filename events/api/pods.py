"""Pods and pod templates, as far as admission reads them."""

from events.api.meta import ApiCondition, ApiStruct, MatchExpression, ObjectMeta, Quantity


class ApiResources(ApiStruct, frozen=True, kw_only=True):
    """What a container asks for."""

    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None


class SecurityContext(ApiStruct, frozen=True, kw_only=True):
    """Whether a container runs privileged."""

    privileged: bool | None = None


class ApiContainer(ApiStruct, frozen=True, kw_only=True):
    """One container."""

    name: str = ""
    image: str = ""
    resources: ApiResources | None = None
    restart_policy: str | None = None
    security_context: SecurityContext | None = None


class ApiToleration(ApiStruct, frozen=True, kw_only=True):
    """A toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ApiTaint(ApiStruct, frozen=True, kw_only=True):
    """A taint."""

    key: str
    value: str = ""
    effect: str


class NodeSelectorTerm(ApiStruct, frozen=True, kw_only=True):
    """One term of a node selector."""

    match_expressions: tuple[MatchExpression, ...] | None = None
    match_fields: tuple[MatchExpression, ...] | None = None


class NodeSelector(ApiStruct, frozen=True, kw_only=True):
    """Terms of which one has to match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiStruct, frozen=True, kw_only=True):
    """A term that would be liked to match, and how much."""

    weight: int
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiStruct, frozen=True, kw_only=True):
    """Node affinity; the preferred part decides only among places in a topology."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] | None = None


class Affinity(ApiStruct, frozen=True, kw_only=True):
    """Affinity of a pod."""

    node_affinity: NodeAffinity | None = None


class PodSchedulingGate(ApiStruct, frozen=True, kw_only=True):
    """A gate at which a pod waits before it is scheduled."""

    name: str = ""


class PodResourceClaim(ApiStruct, frozen=True, kw_only=True):
    """A claim of a pod, by name or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(ApiStruct, frozen=True, kw_only=True):
    """A pod's specification."""

    containers: tuple[ApiContainer, ...] = ()
    init_containers: tuple[ApiContainer, ...] | None = None
    resources: ApiResources | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[ApiToleration, ...] | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    overhead: dict[str, Quantity] | None = None
    runtime_class_name: str | None = None
    scheduler_name: str = ""
    node_name: str = ""
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class PodTemplate(ApiStruct, frozen=True, kw_only=True):
    """What pods are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ExtendedResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """The claim that was made for what a pod asks for by names of extended resources."""

    resource_claim_name: str = ""


class PodStatus(ApiStruct, frozen=True, kw_only=True):
    """How a pod stands."""

    phase: str = "Pending"
    conditions: tuple[ApiCondition, ...] | None = None
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


class ApiPod(ApiStruct, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(ApiStruct, frozen=True, kw_only=True):
    """A node's specification."""

    taints: tuple[ApiTaint, ...] | None = None
    unschedulable: bool = False


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    """How a node stands."""

    allocatable: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None
    conditions: tuple[ApiCondition, ...] | None = None


class ApiNode(ApiStruct, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
