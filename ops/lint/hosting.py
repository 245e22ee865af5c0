"""Whether any node of the flavors that a job may get could host its pods, were it empty; the nodes are those at hand."""

from collections.abc import Mapping

from events.api.jobs import ApiJob
from events.api.labels import QUEUE_NAME
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.pod_set import PodShape
from events.quantity import BadQuantity, from_units, to_units
from projections.devices.card_config import CardConfig
from projections.devices.card_use import NodeCards
from projections.devices.fit.pod_fit import asking, fit_asking, reason_text
from projections.devices.requests.card_requests import pod_card_requests
from projections.quota.effective_requests import pod_requests
from services.validation.cards.card_slots import cards_of
from services.validation.crosscheck import Objects
from services.validation.problem import Problem
from services.watcher.fields.object_reading import read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused

_DISCOVERED = "nvidia.com/gpu."
"""How the labels begin that NVIDIA's discovery puts on nodes with cards."""
_SHOWN = 3
"""Nodes of which it is said why they can't."""


def hosting_problems(job: JsonObject, objects: Objects) -> list[Problem]:
    """The problem of a Job whose pods no node at hand can ever host; none where no such nodes are at hand.

    Rule: docs/rules/objects.md#no-host
    """
    flavors = _flavors(job, objects)
    nodes = _nodes_of(flavors, objects)
    if not nodes:
        return []
    try:
        shape = pod_shape(read(job, ApiJob).spec.template, "spec.template")
    except Refused:
        return []  # Reported for itself.
    # Where no node tells of cards, nobody knows what they have.
    told = any(cards_of(node, objects.config) for node in objects.all("Node").values())
    reasons: list[str] = []
    for name, node in nodes.items():
        why = (_cards_lacking(node, shape, objects.config) if told else "") or _amount_lacking(
            node, shape, objects.config
        )
        if not why:
            return []
        reasons.append(f"{name}: {why}")
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    of = f" of {', '.join(sorted(flavors))}" if flavors else ""
    return [
        Problem(
            field="spec.template.spec.containers",
            code="NoNodeCanHost",
            what=f"no node{of} can host a pod, were it empty: {'; '.join(reasons[:_SHOWN])}{more}",
            consequence="the job waits for ever, whatever the quota",
            instead="smaller requests, more pods with less each, or a queue whose flavors have larger nodes",
        )
    ]


def _flavors(job: JsonMapping, objects: Objects) -> dict[str, JsonObject]:
    """The flavors of the job's queue; all of the files where its queue is not among them."""
    known = objects.all("ResourceFlavor")
    meta = object_at(job, "metadata")
    local = objects.find("LocalQueue", f"{meta.get('namespace', '')}/{object_at(meta, 'labels').get(QUEUE_NAME, '')}")
    queue = objects.find("ClusterQueue", str(object_at(local, "spec").get("clusterQueue", "")))
    if queue is None:
        return known
    groups = objects_at(queue, "spec", "resourceGroups")
    named = {str(one.get("name")) for group in groups for one in objects_at(group, "flavors")}
    return {name: known[name] for name in sorted(named) if name in known}


def _nodes_of(flavors: Mapping[str, JsonObject], objects: Objects) -> dict[str, JsonObject]:
    nodes = objects.all("Node")
    wanted = [object_at(one, "spec", "nodeLabels") for one in flavors.values()] or [{}]
    return {
        name: node
        for name, node in sorted(nodes.items())
        if any(labels.items() <= object_at(node, "metadata", "labels").items() for labels in wanted)
    }


def _cards_lacking(node: JsonMapping, shape: PodShape, config: CardConfig) -> str:
    """Why the cards of a node can't take such a pod even when nobody else has any; empty when they can."""
    requests = pod_card_requests(shape, config)
    asked = [one for each in requests.containers for one in each]
    if not asked:
        return ""
    annotations = {str(name): str(text) for name, text in object_at(node, "metadata", "annotations").items()}
    cards = cards_of(node, config)
    if not cards and any(str(label).startswith(_DISCOVERED) for label in object_at(node, "metadata", "labels")):
        return ""  # It has cards, and has not registered them yet.
    on = NodeCards(node=str(object_at(node, "metadata").get("name")), cards=cards, annotations=annotations)
    pod = asking(shape.device_annotations, asked, vendors=config.by_word)
    fit = fit_asking(on, requests.containers, requests.init, pod, requests.sidecars)
    return "" if fit.shares is not None else reason_text(fit.refusals, fit.cards) or "no such cards"


def _amount_lacking(node: JsonMapping, shape: PodShape, config: CardConfig) -> str:
    """The resource besides cards of which a pod asks for more than a node can allocate; empty when there is none."""
    offered = object_at(node, "status", "allocatable") or object_at(node, "status", "capacity")
    for name, amount in sorted(pod_requests(shape, config=config).items()):
        if name not in offered or name in config.names:
            continue
        try:
            there = to_units(name, offered[name])
        except BadQuantity:
            continue
        if amount > there:
            return f"{name} {from_units(name, amount)} of {from_units(name, there)}"
    return ""
