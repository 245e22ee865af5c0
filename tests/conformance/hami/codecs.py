"""Checks of cases about annotations: how cards and allocations are written and read."""

from collections.abc import Callable
from typing import Any

import msgspec

from events.timestamp import format_timestamp
from projections.devices.annotations import allocated_cards
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.devices.registration import register_annotation
from projections.devices.registration.node_cards import node_cards
from projections.devices.registration.node_lock import parse_node_lock
from tests.conformance.difference import first_difference
from tests.conformance.hami.quantities import whole_quantities
from tests.conformance.hami.shapes import (
    containers_in,
    registered_in,
    registered_out,
    share_in,
    share_out,
    vendor_of,
)

Case = dict[str, Any]


def _read(case: Case, key: str, empty: Any, read: Callable[[], Any]) -> str | None:
    """Compare what is read, or that it is refused."""
    try:
        found = {key: read(), "error": None}
    except BadAnnotation:
        found = {key: empty, "error": True}
    return first_difference(case["out"], found)


def decode_container_devices(case: Case) -> str | None:
    """The shares of one container."""
    text = case["in"]["text"]
    return _read(case, "devices", [], lambda: [share_out(share) for share in allocated_cards.decode_container(text)])


def decode_pod_devices(case: Case) -> str | None:
    """The shares of a pod, by vendor."""
    given = case["in"]

    def read() -> Case:
        texts = given["annotations"] or {}
        return {
            word: [[share_out(share) for share in slot] for slot in allocated_cards.decode_slots(texts[key], key=key)]
            for word, key in given["annotation_keys"].items()
            if key in texts
        }

    return _read(case, "devices", {}, read)


def decode_mig_allocations(case: Case) -> str | None:
    """The pieces of MIG cards."""

    def read() -> Any:
        return [msgspec.to_builtins(piece) for piece in allocated_cards.decode_mig_allocations(case["in"]["text"])]

    expected = case["out"]["allocations"]
    zeroes = [{"containerIndex": 0, "deviceIndex": 0} for _ in expected]
    return _read(
        case,
        "allocations",
        [],
        lambda: [{**zero, **row} for zero, row in zip(zeroes, read(), strict=True)],
    )


def decode_node_devices_json(case: Case) -> str | None:
    """The cards of a node in JSON."""
    return _read(
        case,
        "devices",
        [],
        lambda: [registered_out(card) for card in register_annotation.decode_json(case["in"]["text"])],
    )


def decode_node_devices_legacy(case: Case) -> str | None:
    """The cards of a node in the older form."""
    return _read(
        case,
        "devices",
        [],
        lambda: [registered_out(card) for card in register_annotation.decode_legacy(case["in"]["text"])],
    )


def decode_pair_scores(case: Case) -> str | None:
    """Pair scores."""
    return _read(case, "scores", {}, lambda: register_annotation.decode_pair_scores(case["in"]["text"]))


def encode_container_devices(case: Case) -> str | None:
    """The text of one container's shares."""
    shares = [share_in(row) for row in case["in"]["devices"] or ()]
    return first_difference(case["out"], {"text": allocated_cards.encode_container(shares)})


def encode_pod_single_device(case: Case) -> str | None:
    """The text of one vendor's shares of a pod."""
    text = allocated_cards.encode_allocation(containers_in(case["in"]["containers"]))
    return first_difference(case["out"], {"text": text})


def encode_pod_devices(case: Case) -> str | None:
    """The annotations of a pod's shares."""
    given = case["in"]
    found = {
        given["annotation_keys"][word]: allocated_cards.encode_allocation(containers_in(rows))
        for word, rows in given["devices"].items()
        if word in given["annotation_keys"]
    }
    return first_difference(case["out"], {"annotations": found})


def encode_node_devices_json(case: Case) -> str | None:
    """The text of a node's cards in JSON."""
    cards = [registered_in(row) for row in case["in"]["devices"]]
    return first_difference(case["out"], {"text": register_annotation.encode_json(cards)})


def encode_node_devices_legacy(case: Case) -> str | None:
    """The text of a node's cards in the older form."""
    cards = [registered_in(row) for row in case["in"]["devices"]]
    return first_difference(case["out"], {"text": register_annotation.encode_legacy(cards)})


def node_lock(case: Case) -> str | None:
    """The lock of a node."""
    try:
        found = parse_node_lock(case["in"]["text"])
    except BadAnnotation:
        return first_difference(case["out"]["error"], True, ".error")
    read = {"time": format_timestamp(found.since), "namespace": found.namespace, "name": found.name, "error": None}
    return first_difference(case["out"], read)


def node_devices(case: Case) -> str | None:
    """The cards of one vendor on a node."""
    node, vendor = case["in"]["node"], vendor_of(case["in"])
    texts = node["annotations"] or {}

    def read() -> Any:
        cards = node_cards(vendor, node["name"], texts, whole_quantities(node["capacity"]), node["labels"])
        scores = {}
        if vendor.rules.topology and register_annotation.PAIR_SCORES in texts:
            scores = register_annotation.decode_pair_scores(texts[register_annotation.PAIR_SCORES])
        return [
            {**registered_out(card), **({"pair_scores": scores[card.uuid]} if card.uuid in scores else {})}
            for card in cards
        ]

    return _read(case, "devices", [], read)
