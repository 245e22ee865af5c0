"""Facts about queues written as the manifests that they came from, so that a field can be set by the name that people know."""

from events.amount import UNLIMITED
from events.api.labels import (
    DEVICE_POLICY,
    MAX_CONCURRENT_WORKLOADS,
    MINIMUM_RUNTIME,
    NEVER_PREEMPT,
    PREEMPTION_CLAIMS,
    PREEMPTION_COOLDOWN,
    QUOTA_CHECK_STRATEGY,
)
from events.catalogue import AnyEvent
from events.event import Millis
from events.json_object import JsonObject
from events.quantity import from_units
from events.quota import (
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LocalQueueObserved,
    PreemptionRules,
    ResourceGroup,
    Weight,
)
from events.selector import LabelSelector
from events.settings import QuotaCheckStrategy
from events.topology import TopologyObserved

API = "kueue.x-k8s.io/v1beta2"


def manifest_of(fact: AnyEvent) -> JsonObject | None:
    """The manifest of a cluster queue, cohort, local queue, flavor or topology; None for anything else."""
    match fact:
        case ClusterQueueObserved():
            return _object("ClusterQueue", fact.name, fact.uid, _queue_spec(fact), _annotations(fact))
        case CohortObserved():
            spec: JsonObject = {"parentName": fact.parent, "resourceGroups": _groups(fact.groups)}
            return _object("Cohort", fact.name, fact.uid, {**spec, **_fair(fact.weight)})
        case LocalQueueObserved():
            spec = {"clusterQueue": fact.cluster_queue, "stopPolicy": fact.stop.value, **_fair(fact.weight)}
            made = _object("LocalQueue", fact.name, fact.uid, spec)
            return {**made, "metadata": {**made["metadata"], "namespace": fact.namespace}}
        case FlavorObserved():
            policy = {DEVICE_POLICY: fact.device_policy.value} if fact.device_policy is not None else {}
            spec = {
                "nodeLabels": fact.node_labels,
                "nodeTaints": [
                    {"key": one.key, "value": one.value, "effect": one.effect.value} for one in fact.node_taints
                ],
                "tolerations": [
                    {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
                    for one in fact.tolerations
                ],
                **({"topologyName": fact.topology} if fact.topology else {}),
            }
            return _object("ResourceFlavor", fact.name, fact.uid, spec, policy)
        case TopologyObserved():
            levels = [{"nodeLabel": label} for label in fact.levels]
            return _object("Topology", fact.name, fact.uid, {"levels": levels})
        case _:
            return None


def _object(kind: str, name: str, uid: str, spec: JsonObject, annotations: dict[str, str] | None = None) -> JsonObject:
    meta: JsonObject = {"name": name, "uid": uid, "annotations": annotations or {}}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def _queue_spec(fact: ClusterQueueObserved) -> JsonObject:
    rules, fungibility = fact.preemption, fact.fungibility
    return {
        "cohortName": fact.cohort,
        "resourceGroups": _groups(fact.groups),
        "queueingStrategy": fact.strategy.value,
        **({"namespaceSelector": _selector(fact.namespaces)} if fact.namespaces is not None else {}),
        "flavorFungibility": {
            "whenCanBorrow": fungibility.when_can_borrow.value,
            "whenCanPreempt": fungibility.when_can_preempt.value,
            "preference": fungibility.preference.value,
        },
        "preemption": _preemption(rules),
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": rule.name, "onFlavors": list(rule.flavors)} for rule in fact.checks]
        },
        "stopPolicy": fact.stop.value,
        "admissionScope": {"admissionMode": fact.admission_mode.value},
        **_fair(fact.weight),
    }


def _preemption(rules: PreemptionRules) -> JsonObject:
    within = rules.borrow_within_cohort
    return {
        "withinClusterQueue": rules.within_cluster_queue.value,
        "reclaimWithinCohort": rules.reclaim_within_cohort.value,
        **(
            {}
            if within is None
            else {
                "borrowWithinCohort": {
                    "policy": within.policy.value,
                    "maxPriorityThreshold": within.max_priority_threshold,
                }
            }
        ),
    }


def _annotations(fact: ClusterQueueObserved) -> dict[str, str]:
    rules = fact.preemption
    found: dict[str, str] = {}
    if rules.minimum_runtime:
        found[MINIMUM_RUNTIME] = _duration(rules.minimum_runtime)
    if rules.cooldown:
        found[PREEMPTION_COOLDOWN] = _duration(rules.cooldown)
    if rules.marks_ignored:
        found[NEVER_PREEMPT] = "false"
    if rules.claims:
        found[PREEMPTION_CLAIMS] = "true"
    if fact.max_concurrent is not None:
        found[MAX_CONCURRENT_WORKLOADS] = str(fact.max_concurrent)
    if fact.undeclared is not QuotaCheckStrategy.BLOCK_UNDECLARED:
        found[QUOTA_CHECK_STRATEGY] = fact.undeclared.value
    return found


def _groups(groups: tuple[ResourceGroup, ...]) -> list[JsonObject]:
    return [
        {
            "coveredResources": list(group.resources),
            "flavors": [
                {
                    "name": each.flavor,
                    "resources": [
                        {
                            "name": one.resource,
                            "nominalQuota": _amount(one.resource, one.nominal),
                            **_limit("borrowingLimit", one.resource, one.borrowing_limit),
                            **_limit("lendingLimit", one.resource, one.lending_limit),
                        }
                        for one in each.quotas
                    ],
                }
                for each in group.flavors
            ],
        }
        for group in groups
    ]


def _limit(name: str, resource: str, amount: int | None) -> JsonObject:
    return {} if amount is None else {name: _amount(resource, amount)}


def _amount(resource: str, amount: int) -> str:
    return str(UNLIMITED) if amount == UNLIMITED else from_units(resource, amount)


def _selector(found: LabelSelector) -> JsonObject:
    return {
        "matchLabels": dict(found.labels),
        "matchExpressions": [
            {"key": one.key, "operator": one.operator.value, "values": list(one.values)} for one in found.expressions
        ],
    }


def _fair(weight: Weight) -> JsonObject:
    if weight == Weight():
        return {}
    text = str(weight.numerator) if weight.denominator == 1 else f"{weight.numerator * 1000 // weight.denominator}m"
    return {"fairSharing": {"weight": text}}


def _duration(millis: Millis) -> str:
    return f"{millis}ms" if millis % 1000 else f"{millis // 1000}s"
