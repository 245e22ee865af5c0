"""Checks of cases about whole nodes: containers on a node, scores, and the choice among nodes."""

from fractions import Fraction
from typing import Any

from events.card import CardRequest, CardShare
from projections.devices.annotations.allocated_cards import NODE_POLICY, by_vendor, names_in
from projections.devices.card_use import NodeCards
from projections.devices.fit.node_scores import vendor_score, weighted
from projections.devices.fit.pod_count import TriedContainers
from projections.devices.fit.pod_fit import Asking, asking, fit_container, reason_text
from projections.devices.fit.score import node_score
from projections.devices.namespace_quota import Limit
from projections.devices.placement.ranking import rank
from projections.devices.registration.register_annotation import CORDON
from projections.devices.vendors.chip_families import ascend
from projections.devices.vendors.table import BY_WORD
from tests.conformance.difference import first_difference
from tests.conformance.hami.shapes import (
    containers_in,
    limits_at_cards,
    request_in,
    share_in,
    share_out,
    state_in,
    vendor_of,
    vendors_in,
)

Case = dict[str, Any]


def node_in(row: Case) -> NodeCards:
    """A node with its cards and their use."""
    states = [state_in(device) for device in row["devices"] or ()]
    return NodeCards(
        node=row["name"],
        cards=tuple(state.card for state in states),
        cordoned=frozenset(names_in((row["annotations"] or {}).get(CORDON, ""))),
        used={state.card.uuid: state.use for state in states},
        pair_scores=row.get("pair_scores") or {},
        annotations=row["annotations"] or {},
    )


def requests_in(rows: Case) -> tuple[CardRequest, ...]:
    """The requests of one container, by vendor."""
    return tuple(sorted((request_in(row) for row in rows.values()), key=lambda request: request.vendor))


def asking_in(given: Case, requests: list[tuple[CardRequest, ...]]) -> Asking:
    """The pod's demands."""
    env, pod = given["env"], given["pod"]
    vendors = vendors_in(env)
    limits: dict[str, Limit] = limits_at_cards(env["quota"].get(pod["namespace"], {}), vendors.values())
    return asking(
        pod["annotations"] or {},
        [request for each in requests for request in each],
        default_policy=env["gpu_policy_default"],
        limits=limits,
        vendors=vendors,
    )


def slots_out(containers: tuple[tuple[CardShare, ...], ...], words: set[str]) -> Case:
    """The shares per vendor word and container, as recorded."""
    found = by_vendor(containers)
    return {
        word: [[share_out(share) for share in shares] for shares in rows]
        for word, rows in found.items()
        if word in words
    }


def plain_slots(devices: Case) -> Case:
    """Recorded shares with the fields that every vendor has."""
    return {
        word: [[share_out(share_in(row)) for row in container or ()] for container in containers]
        for word, containers in devices.items()
    }


def fit_in_devices(case: Case) -> str | None:
    """One more container on a node."""
    given = case["in"]
    requests = requests_in(given["requests"])
    pod = asking_in(given, [requests])
    on = node_in(given["node"])
    already = {word: containers_in(rows) for word, rows in (given["allocated"] or {}).items()}
    states = [state_in(row) for row in given["node"]["devices"]]
    before = TriedContainers(shares=tuple(shares for rows in already.values() for shares in rows))
    tried = fit_container(states, requests, pod, on=on, tried=before)
    fit, after = tried.fit, tried.after
    allocated = plain_slots(given["allocated"] or {})
    if fit.complete:
        for word, rows in slots_out((fit.picked,), {request.vendor for request in requests}).items():
            allocated[word] = [*allocated.get(word, []), *rows]
    return first_difference(
        {**case["out"], "allocated": plain_slots(case["out"]["allocated"])},
        {
            "ok": fit.complete,
            "reason": "" if fit.complete else reason_text(fit.refusals, fit.cards),
            "allocated": allocated,
            "devices_after": {state.card.uuid: [state.use.slots, state.use.memory, state.use.cores] for state in after},
        },
    )


def calc_score(case: Case) -> str | None:
    """All nodes tried with one pod."""
    given, expected = case["in"], case["out"]
    requests = [requests_in(rows or {}) for rows in given["requests"]]
    pod = asking_in(given, requests)
    init = len(given["pod"]["init_containers"])
    policy = pod.annotations.get(NODE_POLICY, given["env"]["node_policy_default"])
    if pod.unreadable:
        return first_difference(expected["error"], True, ".error")
    ranking = rank([node_in(row) for row in given["nodes"]], requests, init, pod, policy)
    words = {request.vendor for each in requests for request in each}
    best = [fit.node for fit in ranking.best_of_equals(policy)]
    fits = {fit.node: {"score": fit.score, "devices": _aligned(slots_out(fit.shares, words))} for fit in ranking.fits}
    recorded = {
        row["node"]: {"score": row["score"], "devices": _aligned(plain_slots(row["devices"]))}
        for row in expected["fit_nodes"]
    }
    if case.get("hami_bug"):
        fits, recorded = _without_positions(fits), _without_positions(recorded)
    return first_difference(
        {
            "error": expected["error"],
            "fits": recorded,
            "failed": expected["failed_nodes"],
            "policy": expected["policy"],
            "best": expected["best_node"],
            "after": expected["usage_after"],
        },
        {
            "error": None,
            "fits": fits,
            "failed": ranking.failed,
            "policy": policy,
            "best": best[0] if len(best) == 1 else None,
            "after": {
                fit.node: {uuid: [use.slots, use.memory, use.cores] for uuid, use in fit.after.items()}
                for fit in ranking.fits
            },
        },
    )


def _aligned(devices: Case) -> Case:
    """Vendors that give the pod nothing are not told."""
    return {word: rows for word, rows in devices.items() if any(rows)}


def _without_positions(fits: Case) -> Case:
    """HAMi lost the positions of containers in these records; the shares in their order are what is left."""
    return {
        node: {
            "score": fit["score"],
            "devices": {word: [row for row in rows if row] for word, rows in fit["devices"].items()},
        }
        for node, fit in fits.items()
    }


def node_default_score(case: Case) -> str | None:
    """The score of a node by the use of its cards."""
    return first_difference(case["out"], {"score": node_score(state_in(row) for row in case["in"]["devices"])})


def score_node(case: Case) -> str | None:
    """What the vendor adds to a node's score."""
    given = case["in"]
    before = [state_in(row) for row in given["previous"]]
    found = vendor_score(
        vendor_of(given),
        containers_in(given["chosen"]),
        before,
        given["node"]["annotations"] or {},
        given["policy"],
    )
    return first_difference(case["out"], {"score": found})


def node_override_score(case: Case) -> str | None:
    """The score of a node with what the vendors of its cards add."""
    given = case["in"]
    before = [state_in(row) for row in given["previous"]]
    total = Fraction(given["score_before"])
    for word, rows in given["devices"].items():
        vendor = BY_WORD.get(word) or (ascend(word) if word.startswith("Ascend") else None)
        if vendor is not None:
            annotations, policy = given["node"]["annotations"] or {}, given["policy"]
            own = vendor_score(vendor, containers_in(rows), before, annotations, policy)
            total += weighted(vendor, own, policy)
    return first_difference(case["out"], {"score": total})
