"""MultiKueue: the worker clusters that a manager cluster dispatches workloads to (docs/rules/objects.md#versions)."""

from typing import Annotated, Literal

from msgspec import Meta

from events.api.meta import ApiCondition, ApiStruct, ObjectMeta


class KubeConfigSource(ApiStruct, frozen=True, kw_only=True):
    """Where the kubeconfig of a cluster is stored."""

    location: str
    location_type: Literal["Secret", "Path"] = "Secret"


class ClusterProfileRef(ApiStruct, frozen=True, kw_only=True):
    """A ClusterProfile."""

    name: str


class ClusterSource(ApiStruct, frozen=True, kw_only=True):
    """How a cluster is reached: by a kubeconfig or by a ClusterProfile, one of the two."""

    kube_config: KubeConfigSource | None = None
    cluster_profile_ref: ClusterProfileRef | None = None


class MultiKueueClusterSpec(ApiStruct, frozen=True, kw_only=True):
    """A MultiKueueCluster's specification."""

    cluster_source: ClusterSource


class MultiKueueClusterStatus(ApiStruct, frozen=True, kw_only=True):
    """Whether the cluster can be reached."""

    conditions: tuple[ApiCondition, ...] | None = None


class ApiMultiKueueCluster(ApiStruct, frozen=True, kw_only=True):
    """A MultiKueueCluster."""

    metadata: ObjectMeta
    spec: MultiKueueClusterSpec
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()


class MultiKueueConfigSpec(ApiStruct, frozen=True, kw_only=True):
    """A MultiKueueConfig's specification."""

    clusters: Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)]
    quota_management: Literal["Manual", "Automated"] | None = None


class ApiMultiKueueConfig(ApiStruct, frozen=True, kw_only=True):
    """A MultiKueueConfig."""

    metadata: ObjectMeta
    spec: MultiKueueConfigSpec
