"""Nodes and pods as facts: where cards are, and who holds them."""

from typing import Any

from events.api.pods import ApiNode, ApiPod, PodTemplate
from events.card import Card
from events.catalogue import Fact
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.quantity import BadQuantity, to_units
from projections.devices.annotations import (
    ALLOCATED,
    CORDON,
    REGISTER,
    BadAnnotation,
    decode_allocation,
    decode_register,
)
from projections.devices.requests import asks_for_cards
from projections.devices.steering import names_in
from services.watcher.cluster_objects import read
from services.watcher.pod_shapes import pod_shape, taints
from services.watcher.problems import Refused, problem

WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"


def node_facts(value: dict[str, Any]) -> list[Fact]:
    """A Node: what it is, and the cards that it registers."""
    found = read(value, ApiNode)
    meta, annotations = found.metadata, found.metadata.annotations or {}
    ready = all(one.status == "True" for one in found.status.conditions or () if one.type == "Ready")
    facts: list[Fact] = [
        NodeObserved(
            name=meta.name,
            uid=meta.uid,
            labels=dict(sorted((meta.labels or {}).items())),
            taints=taints(found.spec.taints or (), "spec.taints"),
            ready=ready,
            unschedulable=found.spec.unschedulable,
            allocatable=_allocatable(found),
        )
    ]
    if REGISTER in annotations:
        facts.append(
            DevicesRegistered(
                node=meta.name,
                cards=_cards(annotations[REGISTER]),
                cordoned=names_in(annotations.get(CORDON, "")),
            )
        )
    return facts


def pod_fact(value: dict[str, Any]) -> Fact | None:
    """A Pod that holds cards or asks for some; None for any other."""
    found = read(value, ApiPod)
    meta, annotations = found.metadata, found.metadata.annotations or {}
    allocated = annotations.get(ALLOCATED, "")
    shape = pod_shape(PodTemplate(metadata=meta, spec=found.spec), "pod")
    if not allocated and not asks_for_cards(shape):
        return None
    try:
        shares = decode_allocation(allocated)
    except BadAnnotation as bad:
        raise Refused([problem(f"metadata.annotations[{ALLOCATED}]", str(bad))]) from bad
    workload = annotations.get(WORKLOAD, "")
    return PodObserved(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=found.spec.node_name,
        phase=found.status.phase,
        workload=f"{meta.namespace}/{workload}" if workload else "",
        pod_set=(meta.labels or {}).get(POD_SET, ""),
        shares=shares,
        init=len(found.spec.init_containers or ()),
        init_done=any(one.type == "Initialized" and one.status == "True" for one in found.status.conditions or ()),
        terminating=meta.deletion_timestamp is not None,
    )


def _cards(text: str) -> tuple[Card, ...]:
    try:
        return decode_register(text)
    except BadAnnotation as bad:
        raise Refused(
            [problem(f"metadata.annotations[{REGISTER}]", str(bad), "what HAMi's device plugin writes")]
        ) from bad


def _allocatable(found: ApiNode) -> dict[str, int]:
    result: dict[str, int] = {}
    for name, text in sorted((found.status.allocatable or {}).items()):
        try:
            result[name] = to_units(name, text)
        except BadQuantity:
            continue  # A resource of a plugin that writes nonsense decides nothing here.
    return result
