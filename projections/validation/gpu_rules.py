"""Quotas of GPUs that do not add up: cards counted as shares, MB for MiB, cores of half the cards, per-card values."""

import re
from collections.abc import Mapping
from typing import Any

from events.amount import UNLIMITED
from events.whole_number import whole_number
from projections.validation.gpu_jobs import not_mebibytes
from projections.validation.problem import Problem, Severity

Plain = dict[str, Any]
GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
SPLIT = 10
"""HAMi's default of how many containers share a card (deviceSplitCount)."""


def gpu_queue_problems(spec: Plain, flavors: Mapping[str, Plain]) -> list[Problem]:
    """What the GPU quotas of a ClusterQueue most likely do not mean."""
    found: list[Problem] = []
    for i, group in enumerate(spec.get("resourceGroups") or ()):
        covered = set(group.get("coveredResources") or ())
        if GPU not in covered:
            continue
        before = len(found)
        for j, flavor in enumerate(group.get("flavors") or ()):
            field = f"spec.resourceGroups[{i}].flavors[{j}].resources"
            found.extend(_flavor(flavor, flavors.get(str(flavor.get("name"))), field))
        # Whoever reckons in cards above has not reckoned in totals here either.
        if covered & {MEMORY, CORES} and len(found) > before:
            found.append(
                _warning(
                    f"spec.resourceGroups[{i}].coveredResources",
                    "PerCardValues",
                    "gpumem and gpucores of a container are meant per card",
                    "a container with 2 cards and gpumem 16000 holds 32000 MiB; Kueue charges 16000 unless a "
                    "transformation multiplies by nvidia.com/gpu, kuelog charges what is held",
                    "quota in totals over all cards, and for Kueue resources.transformations with multiplyBy",
                )
            )
    return found


def _flavor(flavor: Plain, observed: Plain | None, field: str) -> list[Problem]:
    quotas = {
        str(one.get("name")): (k, _number(one.get("nominalQuota")))
        for k, one in enumerate(flavor.get("resources") or ())
    }
    found: list[Problem] = []
    for k, one in enumerate(flavor.get("resources") or ()):
        text = str(one.get("nominalQuota"))
        if one.get("name") == MEMORY and text != str(UNLIMITED) and not text.endswith("k"):
            counted = "it is counted as so many MiB, which is not what is meant"
            found.extend(not_mebibytes(one.get("nominalQuota"), f"{field}[{k}].nominalQuota", consequence=counted))
    k, cards = quotas.get(GPU, (0, None))
    if cards is None:
        return found
    at, memory = quotas.get(MEMORY, (0, None))
    gigabytes = _gigabytes(observed)
    looks_like_cards = gigabytes is not None and memory in (cards * gigabytes * 1000, cards * gigabytes * 1024)
    if looks_like_cards:
        found.append(
            _warning(
                f"{field}[{k}].nominalQuota",
                "GpuCountsShares",
                f"{cards} of {GPU} is meant as cards, but one of it is a share of a card",
                f"HAMi offers {SPLIT} per card ({cards * SPLIT} for {cards} cards); small slices run out of this quota "
                "long before the cards are full",
                f"nominalQuota: {cards * SPLIT}",
            )
        )
    if gigabytes is not None and memory == cards * gigabytes * 1000:
        found.append(
            _warning(
                f"{field}[{at}].nominalQuota",
                "MegabytesForMebibytes",
                f"{memory} = {cards} x {gigabytes} x 1000 mixes MB and MiB",
                f"{cards} cards have {cards * gigabytes * 1024} MiB; {cards * gigabytes * 24} MiB are never given to anybody",
                f"nominalQuota: {cards * gigabytes * 1024}",
            )
        )
    at, cores = quotas.get(CORES, (0, None))
    if looks_like_cards and cores is not None and cores < cards * 100:
        found.append(
            _warning(
                f"{field}[{at}].nominalQuota",
                "CoresBelowCards",
                f"{cores} of {CORES} is less than {cards} cards have",
                f"{cards} cards have {cards * 100} %: two jobs with 50 % fit on one card, and half of the cards stays idle",
                f"nominalQuota: {cards * 100}",
            )
        )
    return found


def _gigabytes(flavor: Plain | None) -> int | None:
    labels = ((flavor or {}).get("spec") or {}).get("nodeLabels") or {}
    for value in labels.values():
        match = re.search(r"(\d+)\s*GB", str(value))
        if match is not None:
            return int(match.group(1))
    return None


def _number(value: Any) -> int | None:
    return whole_number(str(value))


def _warning(field: str, code: str, what: str, consequence: str, instead: str) -> Problem:
    return Problem(
        field=field, code=code, what=what, consequence=consequence, instead=instead, severity=Severity.WARNING
    )
