"""Quotas of GPUs that do not add up: cards counted as shares, MB for MiB, cores of half the cards, per-card values."""

import re
from collections.abc import Mapping

from events.amount import UNLIMITED
from events.json_object import JsonMapping, array_at, object_at, objects_at
from projections.devices.card_config import CardConfig
from projections.devices.vendors.table import NVIDIA
from services.validation.cards.card_slots import cards_of
from services.validation.cards.gpu_jobs import GpuNames, gpu_names, not_mebibytes, plain_number
from services.validation.problem import Problem, warning


def gpu_queue_problems(
    spec: JsonMapping,
    flavors: Mapping[str, JsonMapping],
    config: CardConfig,
    nodes: Mapping[str, JsonMapping],
) -> list[Problem]:
    """What the GPU quotas of a ClusterQueue most likely do not mean, by the cards of the nodes where these are at hand."""
    names = gpu_names(config)
    found: list[Problem] = []
    for i, group in enumerate(objects_at(spec, "resourceGroups")):
        covered = set(array_at(group, "coveredResources"))
        if names.count not in covered:
            continue
        before = len(found)
        for j, flavor in enumerate(objects_at(group, "flavors")):
            field = f"spec.resourceGroups[{i}].flavors[{j}].resources"
            observed = flavors.get(str(flavor.get("name")))
            found.extend(_flavor(flavor, observed, field, names, _registered(observed, nodes, config)))
        # If the quota above counts cards, these numbers are per card as well.
        if covered & {names.memory, names.cores} and len(found) > before:
            found.append(
                warning(
                    f"spec.resourceGroups[{i}].coveredResources",
                    "PerCardValues",
                    "gpumem and gpucores of a container are meant per card",
                    "a container with 2 cards and gpumem 16000 holds 32000 MiB; Kueue charges 16000 unless a "
                    "transformation multiplies by nvidia.com/gpu, kuelog charges what is held",
                    "quota in totals over all cards, and for Kueue resources.transformations with multiplyBy",
                )
            )
    return found


def _flavor(
    flavor: JsonMapping, observed: JsonMapping | None, field: str, names: GpuNames, registered: int | None
) -> list[Problem]:
    quotas = {
        str(one.get("name")): (k, plain_number(one.get("nominalQuota")))
        for k, one in enumerate(objects_at(flavor, "resources"))
    }
    found: list[Problem] = []
    for k, one in enumerate(objects_at(flavor, "resources")):
        text = str(one.get("nominalQuota"))
        if one.get("name") == names.memory and text != str(UNLIMITED) and not text.endswith("k"):
            counted = "it is counted as so many MiB, which is not what is meant"
            found.extend(
                not_mebibytes(one.get("nominalQuota"), f"{field}[{k}].nominalQuota", names, consequence=counted)
            )
    k, cards = quotas.get(names.count, (0, None))
    if cards is None:
        return found
    at, memory = quotas.get(names.memory, (0, None))
    gigabytes = _gigabytes(observed)
    sizes = ([gigabytes * 1000, gigabytes * 1024] if gigabytes else []) + ([registered] if registered else [])
    looks_like_cards = memory in [cards * size for size in sizes]
    if looks_like_cards:
        found.append(
            warning(
                f"{field}[{k}].nominalQuota",
                "GpuCountsShares",
                f"{cards} of {names.count} is meant as cards, but one of it is a share of a card",
                f"HAMi offers {names.split} per card ({cards * names.split} for {cards} cards); small slices run out of this quota "
                "long before the cards are full",
                f"nominalQuota: {cards * names.split}",
            )
        )
    written = None if gigabytes is None else cards * gigabytes * 1000
    if gigabytes is not None and written is not None and memory == written and registered != gigabytes * 1000:
        size = registered or gigabytes * 1024
        found.append(
            warning(
                f"{field}[{at}].nominalQuota",
                "MegabytesForMebibytes",
                f"{memory} = {cards} x {gigabytes} x 1000 mixes MB and MiB",
                f"{cards} cards have {cards * size} MiB; {abs(cards * size - written)} MiB are "
                + ("never given to anybody" if cards * size > written else "given that no card has"),
                f"nominalQuota: {cards * size}",
            )
        )
    at, cores = quotas.get(names.cores, (0, None))
    if looks_like_cards and cores is not None and cores < cards * 100:
        found.append(
            warning(
                f"{field}[{at}].nominalQuota",
                "CoresBelowCards",
                f"{cores} of {names.cores} is less than {cards} cards have",
                f"{cards} cards have {cards * 100} %: two jobs with 50 % fit on one card, and half of the cards stays idle",
                f"nominalQuota: {cards * 100}",
            )
        )
    return found


def _registered(flavor: JsonMapping | None, nodes: Mapping[str, JsonMapping], config: CardConfig) -> int | None:
    """The MiB of a card of a flavor, where its nodes are at hand and all their cards have as many."""
    labels = object_at(flavor, "spec", "nodeLabels")
    mine = [one for one in nodes.values() if labels and labels.items() <= object_at(one, "metadata", "labels").items()]
    sizes = {card.memory for one in mine for card in cards_of(one, config) if card.vendor == NVIDIA}
    return sizes.pop() if len(sizes) == 1 else None


def _gigabytes(flavor: JsonMapping | None) -> int | None:
    labels = object_at(flavor, "spec", "nodeLabels")
    for value in labels.values():
        match = re.search(r"(\d+)\s*GB", str(value))
        if match is not None:
            return int(match.group(1))
    return None
