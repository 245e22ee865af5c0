"""Checks of cases about whole pods: effective use, rebuilding what they hold, and the filter."""

from typing import Any

from msgspec.structs import replace

from events.card import CardShare
from events.device import DevicesRegistered, PodObserved
from projections.devices.annotations.allocated_cards import (
    ASSIGNED_NODE,
    MIG_ALLOCATIONS,
    NODE_POLICY,
    MigAllocation,
    by_vendor,
    decode_mig_allocations,
    names_in,
)
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.devices.annotations.index_annotations import PinContext
from projections.devices.annotations.pod_annotations import card_annotations
from projections.devices.annotations.terms import terms_of
from projections.devices.card_use import CardState, CardUse, NodeCards, effective_use, states_of
from projections.devices.fit.pod_fit import asking
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.namespace_quota import charged
from projections.devices.placement.ranking import rank
from projections.devices.registration.node_cards import node_cards
from projections.devices.registration.register_annotation import CORDON
from projections.devices.requests.card_requests import read_request
from projections.devices.vendors.table import BY_WORD, NVIDIA
from projections.trail import Trail
from tests.conformance.difference import first_difference
from tests.conformance.hami.asking import asked_in
from tests.conformance.hami.quantities import whole_quantities
from tests.conformance.hami.shapes import (
    containers_in,
    limits_at_cards,
    registered_in,
    state_out,
    vendors_in,
)
from tests.conformance.hami.writing import TIME

Case = dict[str, Any]


def _effective(case: Case, *, init_done: bool) -> str | None:
    given = case["in"]
    found = {
        word: [used_out(word, effective_use(containers_in(rows), given["init_container_count"], init_done=init_done))]
        for word, rows in (given["devices"] or {}).items()
    }
    expected = {
        word: [[{k: v for k, v in row.items() if k != "custom"} for row in container] for container in rows]
        for word, rows in (case["out"]["devices"] or {}).items()
    }
    filled = {word: rows for word, rows in found.items() if word in expected or any(rows)}
    return first_difference(expected, filled)


def collapse_init_usage(case: Case) -> str | None:
    """What a pod takes while its init containers count."""
    return _effective(case, init_done=False)


def app_only_usage(case: Case) -> str | None:
    """What a pod takes once its init containers are done."""
    return _effective(case, init_done=True)


def used_out(word: str, uses: dict[str, CardUse]) -> list[Case]:
    """What is taken of each card of a vendor, as recorded."""
    return [
        {"uuid": uuid, "type": word, "mem": use.memory, "cores": use.cores, "idx": 0, "slots": use.slots}
        for uuid, use in uses.items()
    ]


def books_in(given: Case, nodes: list[Case], pods: list[Case]) -> CardHoldings:
    """The book of cards after nodes and pods were seen, as the watcher tells of them."""
    books = CardHoldings(Trail())
    vendors: dict[str, set[str]] = {}
    for node in nodes:
        cards = tuple(registered_in(row, word) for word, rows in node["devices"].items() for row in rows)
        books.register(DevicesRegistered(node=node["name"], cards=cards, cordoned=_cordoned(node)))
        vendors[node["name"]] = set(node["devices"])
    for row in pods:
        own = vendors.get(row["node"], set())
        shares = [
            share
            for word, containers in (row["devices"] or {}).items()
            if word in own
            for container in containers_in(containers)
            for share in container
        ]
        text = (row["pod"]["annotations"] or {}).get(MIG_ALLOCATIONS, "")
        seen = PodObserved(
            namespace=row["pod"]["namespace"],
            name=row["pod"]["name"],
            uid=row["pod"]["uid"],
            node=row["node"],
            phase="Running",
            shares=(_with_pieces(shares, decode_mig_allocations(text) if text else ()),),
        )
        books.observe_pod(seen)
    return books


def _cordoned(node: Case) -> tuple[str, ...]:
    return names_in((node["annotations"] or {}).get(CORDON, ""))


def _with_pieces(shares: list[CardShare], pieces: tuple[MigAllocation, ...]) -> tuple[CardShare, ...]:
    """The shares with the pieces of MIG cards that stand beside them; what is recorded of one card as one share is split."""
    found: list[CardShare] = []
    for share in shares:
        own = [piece.instance() for piece in pieces if piece.gpu_uuid == share.uuid]
        found.append(replace(share, instance=own[0] if own else None))
        found += [replace(share, memory=0, cores=0, slots=0, instance=piece) for piece in own[1:]]
    return tuple(found)


def nodes_usage(case: Case) -> str | None:
    """The use of every card, put together from the pods."""
    given = case["in"]
    task = (given["task"] or {}).get("annotations") or {}
    pod = asking(task, [], default_policy=given["env"]["gpu_policy_default"])
    books = books_in(given, given["nodes"], given["pods"])
    registered = [name for name in given["names"] if name in books.nodes]
    overall = [
        {
            "name": name,
            "annotations": {},
            "gpu_policy": pod.policy(),
            "numa_bind": terms_of(BY_WORD[NVIDIA], task).numa_bind,
            "devices": [state_out(state) for state in states_of(books.cards_of(name))],
        }
        for name in registered
    ]
    expected = case["out"]
    return first_difference(
        {
            "candidates": expected["candidates"],
            "failed": expected["failed"],
            "overall": [_without_pods(row) for row in expected["overall"]],
        },
        {
            "candidates": registered,
            "failed": {name: "node-unregistered" for name in given["names"] if name not in books.nodes},
            "overall": overall,
        },
    )


def _without_pods(row: Case) -> Case:
    """A recorded node without the pods that hang on its cards and its own annotations."""
    devices = [
        {key: value for key, value in device.items() if key not in ("pods", "custom")} for device in row["devices"]
    ]
    pieces = [
        {**device, "mig_in_use": [{**piece, "runtime_ready": False} for piece in device["mig_in_use"]]}
        if "mig_in_use" in device
        else device
        for device in devices
    ]
    return {**row, "annotations": {}, "devices": pieces}


def filter_pod(case: Case) -> str | None:
    """From nodes, pods and one more pod to the node, the allocation and what is written on the pod."""
    given, expected = case["in"], case["out"]
    env, pod = given["env"], given["pod"]
    annotations = pod["annotations"] or {}
    vendors = vendors_in(env)
    limits = limits_at_cards(env["quota"].get(pod["namespace"], {}), vendors.values())
    others = []
    for row in given["pods"]:
        if row["pod"]["uid"] == pod["uid"]:
            shares = {word: containers_in(rows) for word, rows in (row["devices"] or {}).items()}
            limits = charged(limits, shares, {word: v.resources for word, v in vendors.items()}, sign=-1)
        else:
            others.append(row)
    requests = []
    for container in [*pod["init_containers"], *pod["containers"]]:
        asked = asked_in(container)
        found = [read_request(vendor, asked.limits, asked.requests) for vendor in vendors.values()]
        requests.append(tuple(request for request in found if request is not None))
    terms = asking(
        annotations,
        [request for each in requests for request in each],
        default_policy=env["gpu_policy_default"],
        limits=limits,
        vendors=vendors,
    )
    templates = given["template_nodes"] or []
    nodes = [_template_node(row) for row in templates] if templates else _live_nodes(given, others)
    init = len(pod["init_containers"])
    ranking = rank(nodes, requests, init, terms)
    best = ranking.best(annotations.get(NODE_POLICY, env["node_policy_default"]))
    result: Case = {
        "failed_nodes": ranking.failed,
        "template_nodes": [fit.node for fit in ranking.fits] or None if templates else None,
        "assigned_node": None,
        "annotations_after": None,
        "effective_devices": None,
        "node_names": None,
    }
    if best is not None and not templates:
        slots = by_vendor(best.shares)
        patches = {ASSIGNED_NODE: best.node, "hami.io/vgpu-time": TIME}
        for word, containers in slots.items():
            patches.update(card_annotations(vendors[word], containers, annotations, PinContext(at=TIME)))
        result.update(
            assigned_node=best.node,
            node_names=[best.node],
            annotations_after={**annotations, **patches},
            failed_nodes={},
            effective_devices={
                word: [used_out(word, effective_use(containers, init))] for word, containers in slots.items()
            },
        )
    return first_difference({key: expected[key] for key in result}, result)


def _live_nodes(given: Case, pods: list[Case]) -> list[NodeCards]:
    nodes = [node for node in given["nodes"] if node["name"] in (given["node_names"] or [])]
    books = books_in(given, nodes, pods)
    return [books.cards_of(node["name"]) for node in nodes]


def _template_node(row: Case) -> NodeCards:
    states: list[CardState] = []
    for vendor in BY_WORD.values():
        try:
            cards = node_cards(vendor, row["name"], row["annotations"] or {}, whole_quantities(row["capacity"]))
        except BadAnnotation:
            continue
        states += [CardState(card) for card in cards]
    return _node_cards(row["name"], row["annotations"] or {}, states)


def _node_cards(name: str, annotations: Case, states: list[CardState]) -> NodeCards:
    return NodeCards(
        node=name,
        cards=tuple(state.card for state in states),
        cordoned=frozenset(names_in(annotations.get(CORDON, ""))),
        used={state.card.uuid: state.use for state in states},
        annotations=annotations,
    )
