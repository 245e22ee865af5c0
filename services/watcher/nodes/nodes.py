"""Nodes and pods as facts: where cards are, and who holds them."""

from collections.abc import Mapping

from events.api.jobs import ApiResourceQuota
from events.api.labels import CARD_CORDON, CARDS_GATE, ELASTIC_JOB, FORCIBLE, POD_SET, WORKLOAD, WORKLOAD_SLICE_NAME
from events.api.pods import ApiNode, ApiPod, PodTemplate
from events.catalogue import Fact
from events.control import ObjectProblem, ObjectRefused
from events.device import CardQuotaObserved, DevicesRegistered, NodeLockObserved, NodeObserved, PodObserved
from events.json_object import JsonMapping
from events.timestamp import parse_timestamp
from events.whole_number import whole_number
from projections.devices.annotations.allocated_cards import ASSIGNED_NODE, pod_shares
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.devices.annotations.steering import names_in
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.fit.card_checks import SOFT_SPLIT_NODE
from projections.devices.fit.node_scores import LOSSES, SCORES
from projections.devices.registration.handshake import is_unanswered
from projections.devices.registration.node_cards import cards_on
from projections.devices.registration.node_lock import NODE_LOCK, parse_node_lock
from projections.devices.registration.register_annotation import CORDON, PAIR_SCORES, decode_pair_scores
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.vendors.vendor import Vendor
from services.jobs.kinds.table import COMPLETION_INDEX
from services.jobs.pod_sets.scheduling_gates import waits_at
from services.watcher.fields.object_reading import created_at, read
from services.watcher.fields.pod_shapes import pod_shape, taints
from services.watcher.fields.pod_topology import pod_topology
from services.watcher.fields.problems import Refused, problem
from services.watcher.fields.quantities import readable_amounts

BIND_PHASE = "hami.io/bind-phase"


def node_facts(value: JsonMapping, config: CardConfig = HAMI, before: Fact | None = None) -> list[Fact]:
    """A Node: what it is, and the cards of every vendor that it registers; `before` is what was told of its cards.

    A registration that can't be read is reported as refused; the node and the cards of other vendors are reported all the
    same, and the vendor's cards stay as they were.
    """
    found = read(value, ApiNode)
    meta = found.metadata
    told = next((one for one in found.status.conditions or () if one.type == "Ready"), None)
    ready = told is not None and told.status == "True"
    since = told.last_transition_time if told is not None and not ready else None
    facts: list[Fact] = [
        NodeObserved(
            name=meta.name,
            uid=meta.uid,
            labels=dict(sorted((meta.labels or {}).items())),
            taints=taints(found.spec.taints or (), "spec.taints"),
            ready=ready,
            not_ready_since=parse_timestamp(since) if since else 0,
            unreported=told is None,
            unschedulable=found.spec.unschedulable,
            allocatable=readable_amounts(found.status.allocatable),
        )
    ]
    registered, problems = _registered(found, config, before if isinstance(before, DevicesRegistered) else None)
    facts.append(registered)
    try:
        facts.append(_lock(meta.name, (meta.annotations or {}).get(NODE_LOCK, "")))
    except BadAnnotation as bad:
        what = f"{bad}; HAMi binds no pod here"
        problems.append(problem(f"metadata.annotations[{NODE_LOCK}]", what, "take the annotation away"))
    if problems:
        facts.append(ObjectRefused(kind="Node", namespace="", name=meta.name, uid=meta.uid, problems=tuple(problems)))
    return facts


def pod_fact(value: JsonMapping, config: CardConfig = HAMI, *, claims: bool = False) -> Fact | None:
    """A Pod that holds cards or asks for some, is placed by topology, is of an elastic job or may be ended by force; None for any other.

    With `claims`, also one that claims devices.
    """
    found = read(value, ApiPod)
    meta, annotations = found.metadata, found.metadata.annotations or {}
    shape = pod_shape(PodTemplate(metadata=meta, spec=found.spec), "pod")
    asked = pod_card_requests(shape, config).containers
    words = [{request.vendor for request in requests} for requests in asked]
    try:
        shares = pod_shares(annotations, config.vendors, asked=words, init=len(shape.init_containers))
    except BadAnnotation as bad:
        raise Refused([problem(f"metadata.annotations[{bad.key}]", str(bad))]) from bad
    cardless = not shares and not any(asked)
    topology = pod_topology(found)
    elastic = bool(annotations.get(WORKLOAD_SLICE_NAME))
    forcible = meta.deletion_timestamp is not None and annotations.get(FORCIBLE) == "true"
    claiming = claims and bool(found.spec.resource_claims or found.status.extended_resource_claim_status)
    if cardless and topology is None and not elastic and not forcible and not claiming:
        return None
    workload = annotations.get(WORKLOAD_SLICE_NAME) or annotations.get(WORKLOAD, "")
    bound = bool(found.spec.node_name)
    gated = waits_at(value, CARDS_GATE)
    return PodObserved(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=found.spec.node_name,
        phase=found.status.phase,
        workload=f"{meta.namespace}/{workload}" if workload else "",
        pod_set=(meta.labels or {}).get(POD_SET, ""),
        shares=shares,
        init=len(shape.init_containers),
        sidecars=shape.sidecars,
        init_done=any(one.type == "Initialized" and one.status == "True" for one in found.status.conditions or ()),
        terminating=meta.deletion_timestamp is not None,
        gone_by=parse_timestamp(meta.deletion_timestamp) if meta.deletion_timestamp else 0,
        assigned="" if bound or not shares else annotations.get(ASSIGNED_NODE, ""),
        bind_failed=not bound and bool(shares) and annotations.get(BIND_PHASE) == "failed",
        gated=gated,
        created_at=created_at(meta) if gated else 0,
        completion_index=whole_number(annotations.get(COMPLETION_INDEX, "")) if gated else None,
        topology=topology,
        cardless=cardless,
        elastic=elastic,
        waits_for_slice=waits_at(value, ELASTIC_JOB),
        forcible=forcible,
    )


def card_quota(value: JsonMapping) -> Fact:
    """What a ResourceQuota says of what may be cards: limits of resources that are not Kubernetes' own."""
    found = read(value, ApiResourceQuota)
    hard = {name: text for name, text in (found.spec.hard or {}).items() if name.startswith("limits.") and "/" in name}
    return CardQuotaObserved(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        hard=readable_amounts({n: hard[n] for n in sorted(hard)}),
    )


def _registered(
    found: ApiNode, config: CardConfig, before: DevicesRegistered | None
) -> tuple[DevicesRegistered, list[ObjectProblem]]:
    """The cards of a node, and what of them can't be read and is as it was `before`."""
    name, annotations = found.metadata.name, found.metadata.annotations or {}
    allocatable = readable_amounts(found.status.allocatable)
    capacity = {**allocatable, **readable_amounts(found.status.capacity)}
    known = before.cards if before is not None else ()
    read = cards_on(name, annotations, capacity, found.metadata.labels, config.vendors, before=known)
    unread = list(read.unread)
    vendors = {card.vendor for card in read.cards}
    scores = annotations.get(PAIR_SCORES, "")
    try:
        pair_scores = decode_pair_scores(scores) if scores else {}
    except BadAnnotation as bad:
        unread.append(bad)
        pair_scores = before.pair_scores if before is not None else {}
    cordoned = {*names_in(annotations.get(CORDON, "")), *names_in(annotations.get(CARD_CORDON, ""))}
    registered = DevicesRegistered(
        node=name,
        cards=read.cards,
        cordoned=tuple(sorted(cordoned)),
        pair_scores=pair_scores,
        silent=tuple(v.word for v in config.vendors if v.word in vendors and _silent(v, annotations, allocatable)),
        soft_split=annotations.get(SOFT_SPLIT_NODE) == "true",
        never_soft_split=annotations.get(SOFT_SPLIT_NODE, "true") != "true",
        link_scores={name: annotations[name] for name in (LOSSES, SCORES) if name in annotations},
    )
    instead = "what the vendor's device plugin writes"
    return registered, [problem(f"metadata.annotations[{bad.key}]", str(bad), instead) for bad in unread]


def _lock(node: str, text: str) -> NodeLockObserved:
    """HAMi's lock on a node. Raises `BadAnnotation`."""
    if not text:
        return NodeLockObserved(node=node)
    lock = parse_node_lock(text)
    return NodeLockObserved(node=node, since=lock.since, namespace=lock.namespace, pod=lock.name)


def _silent(vendor: Vendor, annotations: Mapping[str, str], allocatable: Mapping[str, int]) -> bool:
    """Whether the vendor's plugin does not answer HAMi and the node offers none of its cards.

    Rule: docs/rules/devices.md#handshake
    """
    if not vendor.handshake or allocatable.get(vendor.resources.count, 0) > 0:
        return False
    return is_unanswered(annotations.get(vendor.handshake, ""))
