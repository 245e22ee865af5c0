"""Checks of cases about whole pods: effective use, quota, rebuilding, the filter and the webhook."""

from typing import Any

import msgspec

from projections.devices.admission_rule import Applicant, judge, pod_within_quota
from projections.devices.annotations import (
    ASSIGNED_NODE,
    ASSIGNED_TIME,
    MIG_ALLOCATIONS,
    NODE_POLICY,
    by_vendor,
    decode_mig_allocations,
)
from projections.devices.bad_annotation import BadAnnotation
from projections.devices.fit import asking
from projections.devices.namespace_quota import (
    Limits,
    charged,
    limited,
    managed,
    relimited,
    room,
    unlimited,
)
from projections.devices.ranking import rank
from projections.devices.rebuild import PodShares, rebuilt
from projections.devices.registration import node_cards
from projections.devices.requests import read_request
from projections.devices.steering import EVEN, is_true
from projections.devices.terms import CARD_POLICY, NUMA_BIND
from projections.devices.use import CardState, NodeCards, effective_shares
from projections.devices.vendors import BY_WORD, Resources
from projections.devices.written import written
from tests.conformance.difference import first_difference
from tests.conformance.hami.asking import asked_in, quantities
from tests.conformance.hami.cards import CORDON
from tests.conformance.hami.quantities import whole_quantities
from tests.conformance.hami.shapes import (
    containers_in,
    limits_in,
    limits_out,
    registered_in,
    resources_in,
    share_out,
    state_out,
    vendor_of,
    vendors_in,
)

Case = dict[str, Any]
TIME = "<time>"


def _effective(case: Case, *, init_done: bool) -> str | None:
    given = case["in"]
    found = {
        word: [
            [
                share_out(share, slots=True)
                for share in effective_shares(
                    containers_in(rows), given["init_container_count"], word, init_done=init_done
                )
            ]
        ]
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


def fit_quota(case: Case) -> str | None:
    """Whether a namespace's quota holds so much."""
    given = case["in"]
    names = resources_in(given["vendors"]).get(given["vendor"], Resources(count=""))
    factor = max(given["memory_factor"], 1)
    left = room(
        limits_in(given["quota"].get(given["namespace"], {})), msgspec.structs.replace(names, factor=factor)
    )
    return first_difference(case["out"], {"ok": left.holds(given["mem"], given["cores"])})


def pod_fit_quota(case: Case) -> str | None:
    """Whether a namespace's quota holds a pod."""
    given = case["in"]
    env, pod = given["env"], given["pod"]
    limits = limits_in(env["quota"].get(pod["namespace"], {}))
    every = [asked_in(container) for container in [*pod["init_containers"], *pod["containers"]]]
    init = len(pod["init_containers"])
    found = all(pod_within_quota(vendor, every, init, limits) for vendor in vendors_in(env).values())
    return first_difference(case["out"], {"ok": found})


def quota_op(case: Case) -> str | None:
    """One change of a quota ledger."""
    given = case["in"]
    arguments, resources = given["args"], resources_in(given["vendors"])
    names = managed(resources)
    before: dict[str, Limits] = {space: limits_in(rows) for space, rows in (given["before"] or {}).items()}
    quota = arguments.get("quota") or arguments.get("new") or {}
    space = arguments.get("namespace", quota.get("namespace", ""))
    limits = before.get(space, {})
    match given["op"]:
        case "add_quota":
            after = limited(limits, whole_quantities(quota["hard"]), names)
        case "del_quota":
            after = unlimited(limits, whole_quantities(quota["hard"]), names)
        case "update_quota":
            old = whole_quantities(arguments["old"]["hard"])
            after = relimited(limits, old, whole_quantities(quota["hard"]), names)
        case "add_usage" | "rm_usage" as operation:
            shares = {word: containers_in(rows) for word, rows in (arguments["devices"] or {}).items()}
            after = charged(limits, shares, resources, sign=1 if operation == "add_usage" else -1)
        case other:
            return f"unknown operation {other}"
    spaces = {**before, space: after}
    return first_difference(
        _spaces_out({name: limits_in(rows) for name, rows in case["out"]["after"].items()}), _spaces_out(spaces)
    )


def _spaces_out(spaces: dict[str, Limits]) -> Case:
    """Without what says nothing: no use and no limit."""
    rows = {
        space: {name: row for name, row in limits_out(limits).items() if row["used"] or row["limit_set"]}
        for space, limits in spaces.items()
    }
    return {space: found for space, found in rows.items() if found}


def _pod_shares(row: Case, own: set[str]) -> PodShares:
    """What one recorded pod holds of a node's cards of the vendors in `own`."""
    shares = tuple(
        share
        for word, containers in (row["devices"] or {}).items()
        if word in own
        for container in containers_in(containers)
        for share in container
    )
    text = (row["pod"]["annotations"] or {}).get(MIG_ALLOCATIONS, "")
    return PodShares(shares=shares, pieces=decode_mig_allocations(text) if text else ())


def _states(node: Case, pods: list[Case]) -> list[CardState]:
    cards = [registered_in(row, word) for word, rows in node["devices"].items() for row in rows]
    own = set(node["devices"])
    return rebuilt(cards, [_pod_shares(row, own) for row in pods if row["node"] == node["name"]])


def nodes_usage(case: Case) -> str | None:
    """The use of every card, put together from the pods."""
    given = case["in"]
    annotations = (given["task"] or {}).get("annotations") or {}
    by_name = {node["name"]: node for node in given["nodes"]}
    registered = [name for name in given["names"] if name in by_name]
    overall = [
        {
            "name": name,
            "annotations": {},
            "gpu_policy": annotations.get(CARD_POLICY, given["env"]["gpu_policy_default"]),
            "numa_bind": is_true(annotations.get(NUMA_BIND, "")),
            "devices": [state_out(state) for state in _states(by_name[name], given["pods"])],
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
            "failed": {name: "node-unregistered" for name in given["names"] if name not in by_name},
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
    limits = limits_in(env["quota"].get(pod["namespace"], {}))
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
        weights=EVEN,
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
        patches = {ASSIGNED_NODE: best.node, ASSIGNED_TIME: TIME}
        for word, containers in slots.items():
            patches.update(written(vendors[word], containers, annotations, TIME))
        result.update(
            assigned_node=best.node,
            node_names=[best.node],
            annotations_after={**annotations, **patches},
            failed_nodes={},
            effective_devices={
                word: [[{**share_out(share, slots=True), "idx": 0} for share in effective_shares(containers, init, word)]]
                for word, containers in slots.items()
            },
        )
    return first_difference({key: expected[key] for key in result}, result)


def _live_nodes(given: Case, pods: list[Case]) -> list[NodeCards]:
    nodes = [node for node in given["nodes"] if node["name"] in (given["node_names"] or [])]
    return [_node_cards(node["name"], node["annotations"] or {}, _states(node, pods)) for node in nodes]


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
        cordoned=frozenset(part.strip() for part in annotations.get(CORDON, "").split(",")),
        used={state.card.uuid: state.use for state in states},
        annotations=annotations,
    )


def patch_annotations(case: Case) -> str | None:
    """What one vendor writes on a pod; a key that HAMi's test had not registered stands as the empty text."""
    given = case["in"]
    vendor = vendor_of(given)
    containers = (given["devices"] or {}).get(vendor.word)
    annotations = given["pod"]["annotations"] or {}
    found = written(vendor, containers_in(containers), annotations, TIME) if containers else {}
    expected = dict(case["out"]["annotations"])
    if "" in expected:
        expected[vendor.to_allocate] = expected[vendor.allocated] = expected.pop("")
    return first_difference(expected, {**(given["before"] or {}), **found})


def webhook(case: Case) -> str | None:
    """The verdict on a pod and what is changed of it."""
    given = case["in"]
    env, pod = given["env"], given["pod"]
    every = [*pod["init_containers"], *pod["containers"]]
    verdict = judge(
        Applicant(
            init_containers=tuple(asked_in(row) for row in pod["init_containers"]),
            containers=tuple(asked_in(row) for row in pod["containers"]),
            privileged=any(row.get("privileged") for row in every),
            annotations=pod["annotations"] or {},
            scheduler=pod.get("scheduler_name", ""),
            node=pod.get("node_name", ""),
        ),
        vendors_in(env),
        limits_in(env["quota"].get(pod["namespace"], {})),
        scheduler=given["scheduler_name"],
        force=given["force_overwrite_default_scheduler"],
    )
    patches: list[Case] = []
    for kind, before, after in (
        ("initContainers", pod["init_containers"], verdict.init_containers),
        ("containers", pod["containers"], verdict.containers),
    ):
        for place, (row, asked) in enumerate(zip(before, after, strict=False)):
            old = quantities(row["limits"])
            patches += [
                {
                    "op": "replace" if name in old else "add",
                    "path": f"/spec/{kind}/{place}/resources/limits/{name.replace('~', '~0').replace('/', '~1')}",
                    "value": str(value),
                }
                for name, value in sorted(asked.limits.items())
                if old.get(name) != value
            ]
    if verdict.allowed and verdict.scheduler != pod.get("scheduler_name", ""):
        operation = "replace" if pod.get("scheduler_name") else "add"
        patches.append({"op": operation, "path": "/spec/schedulerName", "value": verdict.scheduler})
    return first_difference(
        case["out"],
        {"allowed": verdict.allowed, "code": verdict.code, "patches": patches if verdict.allowed else []},
    )
