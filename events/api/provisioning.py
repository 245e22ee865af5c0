"""ProvisioningRequestConfig: how a check asks the autoscaler for nodes (docs/rules/checks.md#provisioning)."""

from typing import Annotated, Literal

from msgspec import Meta

from events.api.meta import ApiStruct, ObjectMeta


class RetryStrategy(ApiStruct, frozen=True, kw_only=True):
    """How often a failed request is made again, and after how many seconds."""

    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class ApiSelectorFromDetail(ApiStruct, frozen=True, kw_only=True):
    """A node label whose value the autoscaler reports."""

    key: str
    value_from_provisioning_class_detail: str


class ProvisioningUpdates(ApiStruct, frozen=True, kw_only=True):
    """What a provisioned workload's pods get."""

    node_selector: Annotated[tuple[ApiSelectorFromDetail, ...], Meta(max_length=8)] | None = None


class ProvisioningRequestConfigSpec(ApiStruct, frozen=True, kw_only=True):
    """A ProvisioningRequestConfig's specification."""

    provisioning_class_name: str
    parameters: dict[str, str] | None = None
    managed_resources: Annotated[tuple[str, ...], Meta(max_length=100)] | None = None
    retry_strategy: RetryStrategy | None = None
    pod_set_updates: ProvisioningUpdates | None = None
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None = None


class ApiProvisioningRequestConfig(ApiStruct, frozen=True, kw_only=True):
    """A ProvisioningRequestConfig."""

    metadata: ObjectMeta
    spec: ProvisioningRequestConfigSpec
