"""Pod templates as the shapes that admission reads."""

import hashlib

import msgspec

from events.api.meta import MatchExpression, Selector
from events.api.pods import ApiContainer, ApiTaint, ApiToleration, NodeSelectorTerm, PodSpec, PodTemplate
from events.claims import PodClaim
from events.pod_set import ContainerShape, PodShape
from events.selector import Effect, LabelSelector, NodeTerm, Operator, PreferredNodeTerm, Requirement, Taint, Toleration
from projections.devices.requests.admission_rule import is_ignored
from projections.devices.vendors.table import VENDORS
from services.watcher.fields.problems import Refused, problem
from services.watcher.fields.quantities import amounts

_STEERING = (
    "hami.io/",
    *sorted(
        {
            f"{name.partition('/')[0]}/"
            for vendor in VENDORS
            # Some vendors have their annotations under another domain than their resources.
            for name in (vendor.resources.count, *vendor.steering())
        }
        - {"hami.io/"}
    ),
)
"""How annotations begin that steer which cards a pod gets: HAMi's own, and those of each vendor."""


def pod_shape(template: PodTemplate, field: str) -> PodShape:
    """The shape of a template's pods. Raises `Refused`."""
    spec = template.spec
    annotations = template.metadata.annotations or {}
    return PodShape(
        containers=_containers(spec.containers, f"{field}.spec.containers"),
        init_containers=_containers(spec.init_containers or (), f"{field}.spec.initContainers"),
        pod_requests=amounts(spec.resources.requests if spec.resources else None, f"{field}.spec.resources.requests"),
        pod_limits=amounts(spec.resources.limits if spec.resources else None, f"{field}.spec.resources.limits"),
        overhead=amounts(spec.overhead, f"{field}.spec.overhead"),
        runtime_class=spec.runtime_class_name or "",
        node_selector=dict(sorted((spec.node_selector or {}).items())),
        node_terms=_node_terms(spec),
        preferred_terms=_preferred_terms(spec),
        tolerations=tolerations(spec.tolerations or ()),
        scheduler_name=spec.scheduler_name,
        device_annotations={name: annotations[name] for name in sorted(annotations) if name.startswith(_STEERING)},
        unseen_by_hami=is_ignored(template.metadata.labels or {}),
        claims=tuple(
            PodClaim(
                name=one.name,
                template=one.resource_claim_template_name or "",
                claim=one.resource_claim_name or "",
            )
            for one in spec.resource_claims or ()
        ),
        raw_shape=hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:16],
    )


def tolerations(found: tuple[ApiToleration, ...]) -> tuple[Toleration, ...]:
    """Tolerations in the log's words."""
    return tuple(
        Toleration(
            key=one.key,
            operator=one.operator or "Equal",
            value=one.value,
            effect=one.effect,
            seconds=one.toleration_seconds,
        )
        for one in found
    )


def taints(found: tuple[ApiTaint, ...], field: str) -> tuple[Taint, ...]:
    """Taints in the log's words. Raises `Refused`."""
    result: list[Taint] = []
    for index, one in enumerate(found):
        if one.effect not in tuple(Effect):
            raise Refused([problem(f"{field}[{index}].effect", f"unknown effect {one.effect!r}", ", ".join(Effect))])
        result.append(Taint(key=one.key, value=one.value, effect=Effect(one.effect)))
    return tuple(result)


def selector(found: Selector | None, field: str) -> LabelSelector | None:
    """A label selector in the log's words. Raises `Refused`."""
    if found is None:
        return None
    return LabelSelector(
        labels=dict(sorted((found.match_labels or {}).items())),
        expressions=tuple(requirement(one, f"{field}.matchExpressions") for one in found.match_expressions or ()),
    )


def requirement(found: MatchExpression, field: str) -> Requirement:
    """One comparison of a selector, as it is written at `field`. Raises `Refused`."""
    if found.operator not in tuple(Operator):
        raise Refused([problem(f"{field}.operator", f"unknown operator {found.operator!r}", ", ".join(Operator))])
    return Requirement(key=found.key, operator=Operator(found.operator), values=found.values or ())


def _containers(found: tuple[ApiContainer, ...], field: str) -> tuple[ContainerShape, ...]:
    return tuple(
        ContainerShape(
            name=one.name,
            requests=amounts(one.resources.requests if one.resources else None, f"{field}[{index}].resources.requests"),
            limits=amounts(one.resources.limits if one.resources else None, f"{field}[{index}].resources.limits"),
            restartable=one.restart_policy == "Always",
            privileged=bool(one.security_context and one.security_context.privileged),
        )
        for index, one in enumerate(found)
    )


def _node_terms(spec: PodSpec) -> tuple[NodeTerm, ...]:
    node = spec.affinity.node_affinity if spec.affinity else None
    required = node.required_during_scheduling_ignored_during_execution if node else None
    return tuple(_node_term(term) for term in (required.node_selector_terms if required else ()))


def _preferred_terms(spec: PodSpec) -> tuple[PreferredNodeTerm, ...]:
    node = spec.affinity.node_affinity if spec.affinity else None
    preferred = node.preferred_during_scheduling_ignored_during_execution if node else None
    return tuple(PreferredNodeTerm(weight=one.weight, term=_node_term(one.preference)) for one in preferred or ())


def _node_term(term: NodeSelectorTerm) -> NodeTerm:
    return NodeTerm(
        expressions=tuple(requirement(one, "affinity") for one in term.match_expressions or ()),
        fields=tuple(requirement(one, "affinity") for one in term.match_fields or ()),
    )
