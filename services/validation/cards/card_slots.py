"""Cards of the nodes at hand: how large they are, and whether any node has cards and slots for as many shares as are asked for."""

from collections.abc import Mapping, Sequence

from events.card import Card
from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, to_units
from events.whole_number import whole_number
from projections.devices.card_config import CardConfig
from projections.devices.fit.pick import MIG_MODE
from projections.devices.registration.node_cards import cards_on
from projections.devices.vendors.table import NVIDIA
from services.validation.problem import Problem

_COUNTED = "nvidia.com/gpu.count"
"""How many cards the discovery of NVIDIA has counted on a node."""


def cards_of(node: JsonMapping, config: CardConfig) -> tuple[Card, ...]:
    """The cards that a node has registered; none of a vendor where what it says of these can't be read."""
    meta, status = object_at(node, "metadata"), object_at(node, "status")
    capacity: dict[str, int] = {}
    for name, text in {**object_at(status, "allocatable"), **object_at(status, "capacity")}.items():
        try:
            capacity[str(name)] = to_units(str(name), text)
        except BadQuantity:
            continue  # What is no number holds no card.
    labels, annotations = object_at(meta, "labels"), object_at(meta, "annotations")
    return cards_on(str(meta.get("name")), annotations, capacity, labels, config.vendors).cards


def most_cards(nodes: Mapping[str, JsonMapping], config: CardConfig) -> int:
    """How many shares of NVIDIA's cards a container has at most on the node that has most of them; 0 where none is known.

    One of each card, but for cards that are cut by MIG, of which it may have all pieces.
    """
    most = 0
    for node in nodes.values():
        own = [card for card in cards_of(node, config) if card.vendor == NVIDIA]
        registered = sum(card.slots if card.mode == MIG_MODE else 1 for card in own)
        labels = object_at(node, "metadata", "labels")
        most = max(most, registered or whole_number(str(labels.get(_COUNTED, ""))) or 0)
    return most


def most_slots(nodes: Mapping[str, JsonMapping], config: CardConfig) -> dict[str, int]:
    """By vendor, how many shares of cards the node offers that offers most of them."""
    most: dict[str, int] = {}
    for node in nodes.values():
        slots: dict[str, int] = {}
        for card in cards_of(node, config):
            slots[card.vendor] = slots.get(card.vendor, 0) + card.slots
        labels = object_at(node, "metadata", "labels")
        counted = whole_number(str(labels.get(_COUNTED, "")))
        if counted and NVIDIA not in slots:
            slots[NVIDIA] = counted * config.split
        most |= {vendor: max(found, most.get(vendor, 0)) for vendor, found in slots.items()}
    return most


def slot_problems(pod: JsonMapping, field: str, nodes: Mapping[str, JsonMapping], config: CardConfig) -> list[Problem]:
    """What of a pod's shares no node here has room for: those of a container on cards of their own, all of them in slots.

    Rule: docs/rules/objects.md#gpu-mistakes
    """
    found = _card_problems(pod, field, most_cards(nodes, config), config)
    if found:
        return found
    for vendor, most in sorted(most_slots(nodes, config).items()):
        count = config.by_word[vendor].resources.count
        shares, container = _most_at_once(pod, count)
        if shares > most:
            found.append(
                Problem(
                    field=f"{field}.{container}.resources.limits.{count}",
                    code="ExceedsCardSlots",
                    what=f"a pod asks for {shares} of {count}, and no node here has slots for more than {most}",
                    consequence="no node can ever take the pod, whatever the quota",
                    instead=f"at most {most} for each pod; more pods for more cards",
                )
            )
    return found


def _card_problems(pod: JsonMapping, field: str, most: int, config: CardConfig) -> list[Problem]:
    count = config.by_word[NVIDIA].resources.count
    return [
        Problem(
            field=f"{field}.{part}[{index}].resources.limits.{count}",
            code="ExceedsCards",
            what=f"a container asks for {shares} of {count}, and no node here has more than {most} card(s)",
            consequence="each share of a container is on a card of its own: no node can ever take the pod, whatever the quota",
            instead=f"{count}: {most} at most; for more of one card a larger {config.by_word[NVIDIA].resources.memory}",
        )
        for part in ("initContainers", "containers")
        for index, shares in enumerate(_asked(objects_at(pod, part), count))
        if most and shares > most
    ]


def _most_at_once(pod: JsonMapping, count: str) -> tuple[int, str]:
    """The most shares that a pod has at one time, with those of its sidecars, and the container that asks for most of them."""
    init, main = (_asked(objects_at(pod, part), count) for part in ("initContainers", "containers"))
    beside, most, container = 0, 0, ""
    for index, one in enumerate(objects_at(pod, "initContainers")):
        if beside + init[index] > most:
            most, container = beside + init[index], f"initContainers[{index}]"
        beside += init[index] if one.get("restartPolicy") == "Always" else 0
    if sum(main) and beside + sum(main) >= most:
        return beside + sum(main), f"containers[{main.index(max(main))}]"
    return most, container


def _asked(containers: Sequence[JsonMapping], count: str) -> list[int]:
    found: list[int] = []
    for one in containers:
        resources = object_at(one, "resources")
        amounts = {**object_at(resources, "requests"), **object_at(resources, "limits")}
        found.append(whole_number(str(amounts.get(count, 0))) or 0)
    return found
