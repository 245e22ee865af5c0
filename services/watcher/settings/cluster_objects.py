"""The kinds of which every object makes one fact, whatever else there is: queues, flavors, classes, namespaces and the like."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from events.amount import UNLIMITED
from events.api.jobs import ApiLimitRange, ApiNamespace, ApiPriorityClass, ApiRuntimeClass
from events.api.kueue import (
    ApiClusterQueue,
    ApiCohort,
    ApiLocalQueue,
    ApiResourceFlavor,
    ConcurrentAdmissionSpec,
    FairSharingSpec,
    MigrationSpec,
    PastUsageStatus,
    PreemptionSpec,
    ResourceGroupSpec,
)
from events.api.labels import (
    BUDGET,
    BUDGET_APPROVED,
    BUDGET_PER_USER,
    BUDGET_POLICY,
    DEVICE_POLICY,
    MAX_CONCURRENT_WORKLOADS,
    MINIMUM_RUNTIME,
    NEVER_PREEMPT,
    PREEMPTION_CLAIMS,
    PREEMPTION_COOLDOWN,
    QUOTA_CHECK_STRATEGY,
)
from events.api.meta import ObjectMeta
from events.api.topology import ApiTopology
from events.budget import Budget
from events.catalogue import Fact
from events.json_object import JsonMapping, object_at
from events.quantity import BadQuantity, parse_quantity
from events.quota import (
    AdmissionMode,
    BorrowWithinCohort,
    CheckRule,
    ClusterQueueObserved,
    CohortObserved,
    ConcurrentAdmission,
    DevicePolicy,
    FlavorObserved,
    FlavorPreference,
    FlavorQuotas,
    FlavorSearch,
    Fungibility,
    LimitRangeItem,
    LimitRangeObserved,
    LocalQueueObserved,
    MigrationMode,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    PriorityClassObserved,
    QueueingStrategy,
    Quota,
    ResourceGroup,
    RuntimeClassObserved,
    StopPolicy,
    Weight,
)
from events.settings import QuotaCheckStrategy
from events.timestamp import parse_timestamp
from events.topology import TopologyObserved
from events.whole_number import whole_number
from services.runtime.cluster_port import Resource
from services.watcher.fields.budget_text import (
    APPROVED_EXAMPLE,
    BUDGET_EXAMPLE,
    LIMITS_EXAMPLE,
    POLICY_EXAMPLE,
    approvals,
    budget,
    budget_limits,
    with_policy,
)
from services.watcher.fields.check_states import admission_check
from services.watcher.fields.object_reading import annotated, created_at, is_held, read
from services.watcher.fields.pod_shapes import selector, taints, tolerations
from services.watcher.fields.problems import Refused, problem
from services.watcher.fields.quantities import amounts, duration, units
from services.watcher.nodes.nodes import card_quota
from services.watcher.settings.multikueue import multikueue_cluster, multikueue_config
from services.watcher.settings.provisioning import provisioning_config


def cluster_queue(value: JsonMapping) -> Fact:
    """The fact of a ClusterQueue as it is. Raises `Refused`."""
    found = read(value, ApiClusterQueue)
    spec, meta = found.spec, found.metadata
    fungibility = spec.flavor_fungibility
    return ClusterQueueObserved(
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        created_at=created_at(meta),
        cohort=spec.cohort_name,
        groups=groups(spec.resource_groups or ()),
        strategy=QueueingStrategy(spec.queueing_strategy),
        namespaces=selector(spec.namespace_selector, "spec.namespaceSelector"),
        fungibility=Fungibility()
        if fungibility is None
        else Fungibility(
            when_can_borrow=FlavorSearch(fungibility.when_can_borrow),
            when_can_preempt=FlavorSearch(fungibility.when_can_preempt),
            preference=FlavorPreference(fungibility.preference or FlavorPreference.BORROWING_OVER_PREEMPTION),
        ),
        preemption=_preemption(spec.preemption, meta, object_at(value, "spec", "preemption")),
        checks=tuple(
            CheckRule(name=rule.name, flavors=rule.on_flavors or ())
            for rule in (
                spec.admission_checks_strategy.admission_checks or () if spec.admission_checks_strategy else ()
            )
        ),
        stop=StopPolicy(spec.stop_policy or "None"),
        weight=weight(spec.fair_sharing),
        admission_mode=AdmissionMode(spec.admission_scope.admission_mode)
        if spec.admission_scope
        else AdmissionMode.NONE,
        undeclared=annotated(meta, QUOTA_CHECK_STRATEGY, QuotaCheckStrategy, QuotaCheckStrategy.BLOCK_UNDECLARED),
        max_concurrent=annotated(meta, MAX_CONCURRENT_WORKLOADS, _number, None, 'a whole number, e.g. "7"'),
        budget=_budget(meta),
        concurrent=_concurrent(spec.concurrent_admission_policy),
        terminating=meta.deletion_timestamp is not None,
        held=is_held(meta),
    )


def _number(text: str) -> int:
    found = whole_number(text)
    if found is None:
        raise ValueError(text)
    return found


def _concurrent(policy: ConcurrentAdmissionSpec | None) -> ConcurrentAdmission | None:
    """How a queue lets in on several flavors at once; a policy that says nothing prefers better flavors."""
    if policy is None:
        return None
    migration = policy.migration or MigrationSpec()
    last = migration.constraints.last_acceptable_flavor_name if migration.constraints is not None else None
    mode = MigrationMode(migration.mode or MigrationMode.TRY_PREFERRED_FLAVORS)
    return ConcurrentAdmission(mode=mode, last_acceptable=last or "")


def cohort(value: JsonMapping) -> Fact:
    """The fact of a Cohort as it is. Raises `Refused`."""
    found = read(value, ApiCohort)
    return CohortObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        parent=found.spec.parent_name,
        groups=groups(found.spec.resource_groups or ()),
        weight=weight(found.spec.fair_sharing),
    )


def local_queue(value: JsonMapping) -> Fact:
    """The fact of a LocalQueue as it is, with the past usage that its status shows. Raises `Refused`."""
    found = read(value, ApiLocalQueue)
    sharing = found.status.fair_sharing
    past = (sharing.admission_fair_sharing_status if sharing is not None else None) or PastUsageStatus()
    return LocalQueueObserved(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        uid=found.metadata.uid,
        cluster_queue=found.spec.cluster_queue,
        stop=StopPolicy(found.spec.stop_policy or "None"),
        weight=weight(found.spec.fair_sharing),
        consumed=amounts(past.consumed_resources or {}, "status.fairSharing.admissionFairSharingStatus"),
        consumed_at=parse_timestamp(past.last_update) if past.last_update else 0,
        terminating=found.metadata.deletion_timestamp is not None,
    )


def flavor(value: JsonMapping) -> Fact:
    """The fact of a ResourceFlavor as it is. Raises `Refused`."""
    found = read(value, ApiResourceFlavor)
    return FlavorObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        node_labels=dict(sorted((found.spec.node_labels or {}).items())),
        node_taints=taints(found.spec.node_taints or (), "spec.nodeTaints"),
        tolerations=tolerations(found.spec.tolerations or ()),
        topology=found.spec.topology_name or "",
        device_policy=annotated(found.metadata, DEVICE_POLICY, DevicePolicy, None, "Ignore, Warn or Cap"),
        terminating=found.metadata.deletion_timestamp is not None,
        held=is_held(found.metadata),
    )


def topology(value: JsonMapping) -> Fact:
    """The fact of a Topology as it is. Raises `Refused`."""
    found = read(value, ApiTopology)
    return TopologyObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        levels=tuple(one.node_label for one in found.spec.levels),
        terminating=found.metadata.deletion_timestamp is not None,
        held=is_held(found.metadata),
    )


def priority_class(value: JsonMapping) -> Fact:
    """A PriorityClass, or a WorkloadPriorityClass."""
    found = read(value, ApiPriorityClass)
    return PriorityClassObserved(
        name=found.metadata.name,
        value=found.value,
        workload=value.get("kind") == "WorkloadPriorityClass",
        default=found.global_default,
    )


def namespace(value: JsonMapping) -> Fact:
    """The fact of a Namespace: its labels, and its budget. Raises `Refused`."""
    found = read(value, ApiNamespace)
    labels = {**(found.metadata.labels or {}), "kubernetes.io/metadata.name": found.metadata.name}
    return NamespaceObserved(
        name=found.metadata.name,
        labels=dict(sorted(labels.items())),
        budget=_budget(found.metadata),
    )


def limit_range(value: JsonMapping) -> Fact:
    """The fact of a LimitRange as it is. Raises `Refused`."""
    found = read(value, ApiLimitRange)
    return LimitRangeObserved(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        items=tuple(
            LimitRangeItem(
                kind=one.type,
                minimum=amounts(one.min, "spec.limits.min"),
                maximum=amounts(one.max, "spec.limits.max"),
                default=amounts(one.default, "spec.limits.default"),
                default_request=amounts(one.default_request, "spec.limits.defaultRequest"),
            )
            for one in found.spec.limits
        ),
    )


def runtime_class(value: JsonMapping) -> Fact:
    """The fact of a RuntimeClass: the overhead of its pods. Raises `Refused`."""
    found = read(value, ApiRuntimeClass)
    fixed = found.overhead.pod_fixed if found.overhead else None
    return RuntimeClassObserved(name=found.metadata.name, overhead=amounts(fixed, "overhead.podFixed"))


def groups(found: tuple[ResourceGroupSpec, ...]) -> tuple[ResourceGroup, ...]:
    """Resource groups of a ClusterQueue or Cohort, amounts in the units of quota. Raises `Refused`."""
    return tuple(
        ResourceGroup(
            resources=group.covered_resources,
            flavors=tuple(
                FlavorQuotas(
                    flavor=one.name,
                    quotas=tuple(
                        _quota(quota.name, quota, f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}]")
                        for k, quota in enumerate(one.resources)
                    ),
                )
                for j, one in enumerate(group.flavors)
            ),
        )
        for i, group in enumerate(found)
    )


def _quota(resource: str, found: Any, field: str) -> Quota:
    def limit(text: Any, name: str) -> int | None:
        return None if text is None else units(resource, text, f"{field}.{name}")

    if str(found.nominal_quota) == str(UNLIMITED):
        return Quota(resource=resource, nominal=UNLIMITED)
    return Quota(
        resource=resource,
        nominal=units(resource, found.nominal_quota, f"{field}.nominalQuota"),
        borrowing_limit=limit(found.borrowing_limit, "borrowingLimit"),
        lending_limit=limit(found.lending_limit, "lendingLimit"),
    )


def weight(found: FairSharingSpec | None) -> Weight:
    """A fair-sharing weight, exactly. Raises `Refused`."""
    if found is None or found.weight is None:
        return Weight()
    try:
        exact = parse_quantity(found.weight)
    except BadQuantity as bad:
        raise Refused([problem("spec.fairSharing.weight", str(bad), "a number of at least 0")]) from bad
    return Weight(numerator=exact.numerator, denominator=exact.denominator)


def _preemption(found: PreemptionSpec | None, meta: ObjectMeta, said: JsonMapping) -> PreemptionRules:
    spec = found or PreemptionSpec()
    within = spec.borrow_within_cohort
    return PreemptionRules(
        within_cluster_queue=PreemptionPolicy(spec.within_cluster_queue),
        reclaim_within_cohort=PreemptionPolicy(spec.reclaim_within_cohort),
        reclaim_left_out=found is not None and "reclaimWithinCohort" not in said,
        borrow_within_cohort=None
        if within is None
        else BorrowWithinCohort(
            policy=PreemptionPolicy(within.policy), max_priority_threshold=within.max_priority_threshold
        ),
        minimum_runtime=annotated(meta, MINIMUM_RUNTIME, duration, 0),
        cooldown=annotated(meta, PREEMPTION_COOLDOWN, duration, 0),
        claims=annotated(meta, PREEMPTION_CLAIMS, "true".__eq__, False),  # noqa: FBT003
        marks_ignored=annotated(meta, NEVER_PREEMPT, _denied, False, "true or false"),  # noqa: FBT003
    )


def _denied(text: str) -> bool:
    """Whether jobs of the queue are not to protect themselves. Raises `ValueError`: what is to forbid is not guessed."""
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "false"


def _budget(meta: ObjectMeta) -> Budget | None:
    found: Budget | None = annotated(meta, BUDGET, budget, None, BUDGET_EXAMPLE)
    if found is None:
        for name in (BUDGET_POLICY, BUDGET_PER_USER, BUDGET_APPROVED):
            if name in (meta.annotations or {}):
                instead = f"{BUDGET} as well, or take it away"
                raise Refused(
                    [problem(f"metadata.annotations[{name}]", f"there is no {BUDGET} that it is about", instead)]
                )
        return None
    plain = found
    with_it: Budget = annotated(meta, BUDGET_POLICY, lambda text: with_policy(plain, text), plain, POLICY_EXAMPLE)
    return replace(
        with_it,
        each_user=annotated(meta, BUDGET_PER_USER, budget_limits, None, LIMITS_EXAMPLE),
        approved=annotated(meta, BUDGET_APPROVED, lambda text: approvals(text, plain.period), (), APPROVED_EXAMPLE),
    )


class ObservedKind(msgspec.Struct, frozen=True):
    """A kind of object, and its objects as facts. Raises `Refused`."""

    resource: Resource
    read: Callable[[JsonMapping], Fact]


def _of_kueue(
    kind: str, plural: str, read_as: Callable[[JsonMapping], Fact], *, namespaced: bool = False
) -> ObservedKind:
    return ObservedKind(
        Resource(group="kueue.x-k8s.io", version="v1beta2", plural=plural, kind=kind, namespaced=namespaced), read_as
    )


def _of_cluster(group: str, kind: str, plural: str, read_as: Callable[[JsonMapping], Fact]) -> ObservedKind:
    return ObservedKind(Resource(group=group, plural=plural, kind=kind, namespaced=False), read_as)


OBSERVED = (
    _of_cluster("", "Namespace", "namespaces", namespace),
    _of_cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses", priority_class),
    _of_kueue("WorkloadPriorityClass", "workloadpriorityclasses", priority_class),
    _of_kueue("Topology", "topologies", topology),
    _of_kueue("ResourceFlavor", "resourceflavors", flavor),
    _of_kueue("Cohort", "cohorts", cohort),
    _of_kueue("ProvisioningRequestConfig", "provisioningrequestconfigs", provisioning_config),
    _of_kueue("MultiKueueConfig", "multikueueconfigs", multikueue_config),
    _of_kueue("MultiKueueCluster", "multikueueclusters", multikueue_cluster),
    _of_kueue("AdmissionCheck", "admissionchecks", admission_check),
    _of_kueue("ClusterQueue", "clusterqueues", cluster_queue),
    _of_kueue("LocalQueue", "localqueues", local_queue, namespaced=True),
    ObservedKind(Resource(plural="limitranges", kind="LimitRange"), limit_range),
    ObservedKind(Resource(plural="resourcequotas", kind="ResourceQuota"), card_quota),
    _of_cluster("node.k8s.io", "RuntimeClass", "runtimeclasses", runtime_class),
)
"""In the order of their first lists."""
SIMPLE = {one.resource.kind: one.read for one in OBSERVED}
