"""Checks of cases about single cards: selection, order, scores, MIG pieces and fit."""

from fractions import Fraction
from typing import Any

from events.card import CardShare
from projections.devices.annotations.allocated_cards import names_in
from projections.devices.annotations.steering import BadWeights, Weights, model_choice, parse_weights, uuid_choice
from projections.devices.annotations.terms import terms_of
from projections.devices.card_use import CardState, use_of
from projections.devices.fit import mig
from projections.devices.fit.card_checks import splits_by_software
from projections.devices.fit.pick import pick_cards, settled
from projections.devices.fit.pod_count import TriedContainers
from projections.devices.fit.pod_fit import charge, reason_text
from projections.devices.fit.score import SCALE, asked_of, card_order, fullness
from projections.devices.namespace_quota import room
from projections.devices.registration.register_annotation import CORDON
from tests.conformance.difference import first_difference
from tests.conformance.hami.shapes import (
    containers_in,
    limits_at_cards,
    profiles_in,
    request_in,
    share_in,
    share_out,
    spans_in,
    state_in,
    state_out,
    vendor_of,
)

Case = dict[str, Any]
_DIGITS = 12


def check_uuid(case: Case) -> str | None:
    """Whether a card may be used by its UUID."""
    given = case["in"]
    choice = uuid_choice(given["annotations"] or {}, given["use_key"], given["nouse_key"])
    return first_difference(case["out"], {"ok": choice.allows_uuid(given["uuid"])})


def check_type(case: Case) -> str | None:
    """Whether a card may be used by its model."""
    given = case["in"]
    choice = model_choice(given["annotations"] or {}, given["use_key"], given["nouse_key"])
    return first_difference(case["out"], {"ok": choice.allows_model(given["card_type"])})


def _sort_key(given: Case) -> Any:
    order = card_order(given["policy"], numa_bind=given["numa_bind"])
    return lambda row: order(round(row["score"] * 10**6), row["used"], row["numa"], row["index"])


def device_less(case: Case) -> str | None:
    """Which of two cards comes first."""
    key = _sort_key(case["in"])
    return first_difference(case["out"], {"less": key(case["in"]["a"]) < key(case["in"]["b"])})


def device_sort(case: Case) -> str | None:
    """The order of cards."""
    given = case["in"]
    return first_difference(case["out"], {**given, "devices": sorted(given["devices"], key=_sort_key(given))})


def weights_in(row: Case) -> Weights:
    """Scoring weights."""
    return Weights(slot=row["slot"], core=row["core"], memory=row["memory"])


def device_score(case: Case) -> str | None:
    """The score of a card for the requests of its type."""
    given = case["in"]
    state = state_in(given["device"])
    asked = asked_of(state.card, [request_in(row) for row in given["requests"].values()])
    full = fullness(state.card, state.use.plus(asked), weights_in(given["weights"]))
    # Ten times the fullness is the score; the scale is a power of two, so tenths come back by rounding.
    return first_difference(case["out"], {"score": round(Fraction(10 * full, SCALE), _DIGITS)})


def weights(case: Case) -> str | None:
    """Reading scoring weights; what HAMi keeps of a refused text is not compared."""
    try:
        found = parse_weights(case["in"]["text"])
    except BadWeights:
        return first_difference(case["out"]["error"], True, ".error")
    read = {"slot": found.slot, "core": found.core, "memory": found.memory, "error": None}
    return first_difference(case["out"], read)


def mig_candidate(case: Case) -> str | None:
    """The piece of a MIG card for a request."""
    given = case["in"]
    found = mig.candidate(profiles_in(given["profiles"]), given["mem"], spans_in(given["occupied"]))
    piece = found[1] if found else None
    return first_difference(
        case["out"],
        {
            "ok": piece is not None,
            "profile": piece.profile if piece else "",
            "start": piece.start if piece else 0,
            "size": piece.size if piece else 0,
        },
    )


def mig_placement(case: Case) -> str | None:
    """Where a piece of a profile goes."""
    given = case["in"]
    profile = mig.named(profiles_in(given["profiles"]), given["profile"])
    span = mig.placement(profile, spans_in(given["occupied"])) if profile else None
    return first_difference(
        case["out"],
        {"ok": span is not None, "start": span.start if span else 0, "size": span.size if span else 0},
    )


def mig_can_place(case: Case) -> str | None:
    """Whether pieces of several profiles find places together."""
    given = case["in"]
    found = mig.can_place(profiles_in(given["profiles"]), given["requested"], spans_in(given["occupied"]))
    return first_difference(case["out"], {"ok": found})


def fit(case: Case) -> str | None:
    """The cards for one request on one node."""
    given = case["in"]
    vendor, node = vendor_of(given), given["node"]
    cordoned = frozenset(names_in(node["annotations"].get(CORDON, "")))
    states = [state_in(row, cordoned=cordoned, custom=node.get("registered_custom")) for row in given["devices"]]
    limits = limits_at_cards(given["env"]["quota"].get(given["pod"]["namespace"], {}), [vendor])
    terms = terms_of(
        vendor,
        given["pod"]["annotations"] or {},
        default_policy=given["env"]["gpu_policy_default"],
        room=room(limits, vendor.resources),
    )
    allocated = (given["allocated"] or {}).get(vendor.word)
    before = TriedContainers(shares=containers_in(allocated) if allocated else ())
    found = pick_cards(
        states,
        request_in(given["request"]),
        terms,
        before=before.count(use_of),
        pair_scores=node.get("pair_scores") or {},
        held=frozenset(share.uuid for share in before.seen()),
        soft_node=splits_by_software(vendor, node["annotations"]),
    )
    expected = {**case["out"], "devices": _plain(case["out"]["devices"])}
    return first_difference(
        expected,
        {
            "ok": found.complete,
            "reason": "" if found.complete else reason_text(found.refusals, found.cards),
            "devices": {given["request"]["type"]: [share_out(s) for s in found.picked]} if found.picked else {},
        },
    )


def _plain(devices: Case) -> Case:
    return {word: [share_out(share_in(row)) for row in rows] for word, rows in devices.items()}


def add_usage(case: Case) -> str | None:
    """What a chosen card is charged."""
    given = case["in"]
    state, share = state_in(given["device"]), share_in(given["chosen"])
    share = settled(state, _with_piece(state, share))
    (after,) = charge([state], [share])
    expected = {"chosen": share_out(share_in(case["out"]["chosen"])), "device": case["out"]["device"]}
    expected["device"] = state_out(state_in(case["out"]["device"]))
    return first_difference(expected, {"chosen": share_out(share), "device": state_out(after)})


def _with_piece(state: CardState, share: CardShare) -> CardShare:
    if state.card.mode != "mig":
        return share
    found = mig.candidate(state.card.profiles, share.memory, mig.spans_of(state.use.instances))
    assert found is not None
    return CardShare(
        uuid=share.uuid,
        vendor=share.vendor,
        memory=share.memory,
        cores=share.cores,
        index=share.index,
        instance=found[1],
    )
