"""Problems of a pod that HAMi's webhook would refuse, or whose setting it would silently drop."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, parse_quantity
from projections.devices.annotations.allocated_cards import CARD_POLICY, NODE_POLICY
from projections.devices.annotations.steering import (
    BINPACK,
    CARD_POLICIES,
    NODE_POLICIES,
    SCORING_WEIGHTS,
    SPREAD,
    BadWeights,
    parse_weights,
)
from projections.devices.card_config import CardConfig
from projections.devices.requests.admission_rule import (
    DEFAULT_SCHEDULER,
    HAMI_SCHEDULER,
    IGNORE,
    NODE_ASSIGNED,
    PRIVILEGED,
    WEBHOOK,
    Applicant,
    is_ignored,
    judge,
)
from projections.devices.requests.mutation import ContainerRequest
from projections.devices.requests.request_problems import request_problems
from services.validation.problem import Problem, warning

_FIELDS = {
    PRIVILEGED: ("spec.containers", "ask for no card, or run no container privileged"),
    NODE_ASSIGNED: ("spec.nodeName", "leave it out; a nodeSelector says where it may run"),
}


def hami_problems(
    template: JsonMapping,
    field: str,
    known: Sequence[Problem],
    config: CardConfig,
    *,
    namespace: JsonMapping | None,
) -> list[Problem]:
    """All that HAMi would refuse or ignore in a pod template at `field`, without what `known` reports already; `namespace` is the job's."""
    spec = object_at(template, "spec")
    annotations = object_at(template, "metadata", "annotations")
    known_fields = {one.field for one in known}
    found: list[Problem] = []
    for part in ("initContainers", "containers"):
        for index, one in enumerate(objects_at(spec, part)):
            found.extend(_container(one, annotations, f"{field}.spec.{part}[{index}].resources", known_fields, config))
    return [
        *found,
        *_weights(annotations, field),
        *_policies(annotations, field),
        *_unseen(template, field, namespace or {}, config),
        *_refused(spec, annotations, field, config),
    ]


def _container(
    container: JsonMapping, annotations: Mapping[str, str], field: str, known_fields: set[str], config: CardConfig
) -> list[Problem]:
    resources = object_at(container, "resources")
    section = "limits" if resources.get("limits") else "requests"
    asked = _asked(container)
    return [
        Problem(
            field=f"{field}.{section}.{one.resource}",
            code="CardRequestNotRead",
            what=one.message,
            consequence="HAMi refuses the pod, or lets it start as if it asked for no card",
        )
        for one in request_problems(asked.limits, asked.requests, annotations, config)
        if not any(each.startswith(f"{field}.{section}") for each in known_fields)
    ]


def _weights(annotations: Mapping[str, str], field: str) -> list[Problem]:
    try:
        parse_weights(annotations.get(SCORING_WEIGHTS, "slot=1,core=1,memory=1"))
    except BadWeights as bad:
        path = f"{field}.metadata.annotations[{SCORING_WEIGHTS}]"
        consequence = "no node takes the pod"
        return [Problem(field=path, code="ScoringWeightsNotRead", what=str(bad), consequence=consequence)]
    return []


def _policies(annotations: Mapping[str, str], field: str) -> list[Problem]:
    """Policies that HAMi does not know, and takes for others without a word; cards may have several with commas between."""
    chain = annotations.get(CARD_POLICY, SPREAD).split(",")
    words = chain if len(chain) == 1 else [word.strip() for word in chain]
    asked = (
        (CARD_POLICY, not set(words) <= {*CARD_POLICIES}, SPREAD, CARD_POLICIES),
        (NODE_POLICY, annotations.get(NODE_POLICY, BINPACK) not in NODE_POLICIES, BINPACK, NODE_POLICIES),
    )
    return [
        warning(
            f"{field}.metadata.annotations[{name}]",
            "SchedulerPolicyNotKnown",
            f"{annotations[name]!r} names a policy that there is not",
            f"what is not known does not count; where nothing is left, it is as under {instead}",
            " or ".join(known),
        )
        for name, unknown, instead, known in asked
        if unknown
    ]


def _unseen(template: JsonMapping, field: str, namespace: JsonMapping, config: CardConfig) -> list[Problem]:
    """A pod that asks for cards, and that HAMi does not place: by its scheduler, its label, or the label of its namespace."""
    spec = object_at(template, "spec")
    asked = [_asked(one) for part in ("initContainers", "containers") for one in objects_at(spec, part)]
    scheduler = str(spec.get("schedulerName") or DEFAULT_SCHEDULER)
    if scheduler == HAMI_SCHEDULER or all(config.names.isdisjoint({*one.limits, *one.requests}) for one in asked):
        return []
    if scheduler != DEFAULT_SCHEDULER:
        return [
            warning(
                f"{field}.spec.schedulerName",
                "NotPlacedByHami",
                f"{scheduler} is to place a pod that asks for cards, and HAMi leaves such pods alone",
                "no card is given to it, though one is reserved",
                f"leave it out, or {HAMI_SCHEDULER}; if HAMi's own scheduler bears that name, it is right as it is",
            )
        ]
    own, around = object_at(template, "metadata", "labels"), object_at(namespace, "metadata")
    if is_ignored(own):
        return [_ignored(f"{field}.metadata.labels[{WEBHOOK}]", "the label")]
    if is_ignored(object_at(around, "labels")):
        return [_ignored("metadata.namespace", f"the label {WEBHOOK}: {IGNORE} of namespace {around.get('name')}")]
    return []


def _ignored(field: str, label: str) -> Problem:
    return warning(
        field,
        "IgnoredByHami",
        f"{label} keeps HAMi from a pod that asks for cards",
        "the default scheduler places it, and no card is given to it, though one is reserved",
        f"leave the label out, or write out all that HAMi would add, schedulerName: {HAMI_SCHEDULER} with it",
    )


def _refused(spec: JsonMapping, annotations: Mapping[str, str], field: str, config: CardConfig) -> list[Problem]:
    containers = [*objects_at(spec, "initContainers"), *objects_at(spec, "containers")]
    verdict = judge(
        Applicant(
            init_containers=tuple(_asked(one) for one in objects_at(spec, "initContainers")),
            containers=tuple(_asked(one) for one in objects_at(spec, "containers")),
            privileged=any(object_at(one, "securityContext").get("privileged") for one in containers),
            annotations=annotations,
            scheduler=str(spec.get("schedulerName") or DEFAULT_SCHEDULER),
            node=str(spec.get("nodeName") or ""),
        ),
        config.by_word,
        {},
        scheduler=HAMI_SCHEDULER,
        force=True,
        defaults=config.defaults,
    )
    if verdict.code not in _FIELDS:
        return []
    at, instead = _FIELDS[verdict.code]
    consequence = "HAMi's webhook refuses the pod"
    code = "CardsRefused"
    return [Problem(field=f"{field}.{at}", code=code, what=verdict.message, consequence=consequence, instead=instead)]


def _asked(container: JsonMapping) -> ContainerRequest:
    resources = object_at(container, "resources")
    limits, requests = object_at(resources, "limits"), object_at(resources, "requests")
    return ContainerRequest(limits=_amounts(limits), requests=_amounts(requests))


def _amounts(found: JsonMapping) -> dict[str, Fraction]:
    amounts: dict[str, Fraction] = {}
    for name, text in found.items():
        try:
            amounts[str(name)] = Fraction(parse_quantity(str(text)))
        except BadQuantity:
            continue  # Reported where quantities are checked.
    return amounts
