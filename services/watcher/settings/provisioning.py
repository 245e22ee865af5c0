"""ProvisioningRequestConfigs, and the ProvisioningRequests that a cluster autoscaler answers, as facts."""

from events.api.labels import DECISION, MANAGED
from events.api.meta import ApiCondition, ApiStruct, ObjectMeta, OwnerReference
from events.api.provisioning import ApiProvisioningRequestConfig, RetryStrategy
from events.catalogue import Fact
from events.json_object import JsonMapping
from events.provisioning import (
    Answer,
    MergePolicy,
    ProvisioningConfigObserved,
    ProvisioningRequestObserved,
    SelectorFromDetail,
)
from services.watcher.fields.object_reading import read


class _Spec(ApiStruct, frozen=True, kw_only=True):
    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None


class _Status(ApiStruct, frozen=True, kw_only=True):
    conditions: tuple[ApiCondition, ...] | None = None
    provisioning_class_details: dict[str, str] | None = None


class _Request(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()


def provisioning_config(value: JsonMapping) -> Fact:
    """The fact of a ProvisioningRequestConfig as it is. Raises `Refused`."""
    found = read(value, ApiProvisioningRequestConfig)
    spec = found.spec
    retry = spec.retry_strategy or RetryStrategy()
    updates = spec.pod_set_updates.node_selector or () if spec.pod_set_updates is not None else ()
    return ProvisioningConfigObserved(
        name=found.metadata.name,
        class_name=spec.provisioning_class_name,
        parameters=dict(sorted((spec.parameters or {}).items())),
        managed_resources=spec.managed_resources or (),
        backoff_limit=retry.backoff_limit_count,
        backoff_base=retry.backoff_base_seconds * 1000,
        backoff_max=retry.backoff_max_seconds * 1000,
        selectors=tuple(
            SelectorFromDetail(key=one.key, detail=one.value_from_provisioning_class_detail) for one in updates
        ),
        merge=None if spec.pod_set_merge_policy is None else MergePolicy(spec.pod_set_merge_policy),
    )


def provisioning_request(value: JsonMapping) -> list[Fact]:
    """A ProvisioningRequest, if it was made for a workload; anybody may make others. Raises `Refused`."""
    found = read(value, _Request)
    meta = found.metadata
    owner = next((one for one in meta.owner_references or () if _is_workload(one)), None)
    if owner is None or (meta.labels or {}).get(MANAGED) != "true":
        return []
    return [
        ProvisioningRequestObserved(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            workload=f"{meta.namespace}/{owner.name}",
            class_name=found.spec.provisioning_class_name,
            parameters=dict(sorted((found.spec.parameters or {}).items())),
            answers={
                one.type: Answer(true=one.status == "True", message=one.message)
                for one in sorted(found.status.conditions or (), key=lambda one: one.type)
            },
            details=dict(sorted((found.status.provisioning_class_details or {}).items())),
            decision=(meta.annotations or {}).get(DECISION, ""),
        )
    ]


def _is_workload(owner: OwnerReference) -> bool:
    return owner.kind == "Workload" and owner.api_version.partition("/")[0] == "kueue.x-k8s.io"
