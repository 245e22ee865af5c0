"""Jobs, namespaces and classes of Kubernetes itself."""

from events.api.meta import ApiCondition, ApiStruct, ObjectMeta, Quantity
from events.api.pods import PodTemplate


class JobSpec(ApiStruct, frozen=True, kw_only=True):
    """A Job's specification."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    template: PodTemplate = PodTemplate()


class JobStatus(ApiStruct, frozen=True, kw_only=True):
    """How a Job stands."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    start_time: str | None = None
    conditions: tuple[ApiCondition, ...] | None = None


class ApiJob(ApiStruct, frozen=True, kw_only=True):
    """A Job."""

    metadata: ObjectMeta
    spec: JobSpec
    status: JobStatus = JobStatus()


class ApiNamespace(ApiStruct, frozen=True, kw_only=True):
    """A namespace."""

    metadata: ObjectMeta


class ApiPriorityClass(ApiStruct, frozen=True, kw_only=True):
    """A PriorityClass or WorkloadPriorityClass."""

    metadata: ObjectMeta
    value: int
    global_default: bool = False
    description: str = ""


class ApiRuntimeOverhead(ApiStruct, frozen=True, kw_only=True):
    """What each pod of a runtime class costs on top."""

    pod_fixed: dict[str, Quantity] | None = None


class ApiRuntimeClass(ApiStruct, frozen=True, kw_only=True):
    """A RuntimeClass."""

    metadata: ObjectMeta
    overhead: ApiRuntimeOverhead | None = None


class ApiLimitRangeItem(ApiStruct, frozen=True, kw_only=True):
    """Bounds and defaults."""

    type: str
    min: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None


class LimitRangeSpec(ApiStruct, frozen=True, kw_only=True):
    """A LimitRange's specification."""

    limits: tuple[ApiLimitRangeItem, ...] = ()


class NamespaceQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    """A ResourceQuota's specification."""

    hard: dict[str, Quantity] | None = None


class ApiResourceQuota(ApiStruct, frozen=True, kw_only=True):
    """A ResourceQuota."""

    metadata: ObjectMeta
    spec: NamespaceQuotaSpec = NamespaceQuotaSpec()


class ApiLimitRange(ApiStruct, frozen=True, kw_only=True):
    """A LimitRange."""

    metadata: ObjectMeta
    spec: LimitRangeSpec


class ApiConfigMap(ApiStruct, frozen=True, kw_only=True):
    """A ConfigMap, as far as it is text."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None
