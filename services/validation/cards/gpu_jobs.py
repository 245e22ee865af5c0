"""What containers ask of cards: whole cards unawares, units that HAMi does not read, more than a card has, poor fits."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from events.card import WHOLE_CARD
from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, to_units
from events.whole_number import whole_number
from projections.devices.card_config import CardConfig
from projections.devices.vendors.table import NVIDIA
from services.validation.cards.card_slots import cards_of
from services.validation.problem import Problem, warning

WASTED = 3
"""A fit is poor when more than one part in so many of a card's memory stays unused."""

WHOLE_CARD_UNCHARGED = "WholeCardUncharged"


class GpuNames(msgspec.Struct, frozen=True, kw_only=True):
    """By which names cards of NVIDIA are asked for, and how many containers share one."""

    count: str
    memory: str
    cores: str
    percent: str
    factor: int
    """MiB in one unit of the memory resource."""
    split: int


def gpu_names(config: CardConfig) -> GpuNames:
    """The names as HAMi's configuration has them."""
    names = config.by_word[NVIDIA].resources
    return GpuNames(
        count=names.count,
        memory=names.memory,
        cores=names.cores,
        percent=names.percent,
        factor=names.factor,
        split=config.split,
    )


def gpu_container_problems(
    pod: JsonMapping, field: str, card_sizes: Sequence[int], config: CardConfig
) -> list[Problem]:
    """Problems of all containers of a pod; `card_sizes` are the MiB of the cards known from the files, smallest first."""
    names = gpu_names(config)
    found: list[Problem] = []
    for part in ("initContainers", "containers"):
        for index, one in enumerate(objects_at(pod, part)):
            resources = object_at(one, "resources")
            section = "limits" if resources.get("limits") else "requests"
            asked = {**object_at(resources, "requests"), **object_at(resources, "limits")}
            found.extend(_container(asked, f"{field}.{part}[{index}].resources.{section}", card_sizes, names))
    return found


def card_sizes(flavors: Mapping[str, JsonMapping], nodes: Mapping[str, JsonMapping], config: CardConfig) -> list[int]:
    """The MiB of the cards that nodes have registered, else of a card for each flavor and node whose labels say it; smallest first."""
    real = {card.memory for one in nodes.values() for card in cards_of(one, config) if card.vendor == NVIDIA}
    if real:
        return sorted(real)
    labels = [object_at(one, "spec", "nodeLabels") for one in flavors.values()]
    labels.extend(object_at(one, "metadata", "labels") for one in nodes.values())
    return sorted({size for one in labels if (size := card_size(one)) is not None})


def card_size(labels: JsonMapping) -> int | None:
    """The MiB of a card by the labels of its node: the discovery's own label, or the product's name."""
    stated = whole_number(str(labels.get("nvidia.com/gpu.memory", "")))
    if stated is not None:
        return stated
    sizes = [int(found.group(1)) * 1024 for text in labels.values() if (found := re.search(r"(\d+)\s*GB", str(text)))]
    return sizes[0] if sizes else None


def plain_number(value: Any) -> int | None:
    """A whole number without a suffix, as HAMi reads its resources."""
    return whole_number(str(value))


def not_mebibytes(value: Any, field: str, names: GpuNames, *, consequence: str) -> list[Problem]:
    """Card memory that is written with a suffix, or not as a number at all."""
    if plain_number(value) is not None:
        return []
    return [
        Problem(
            field=field,
            code="NotMebibytes",
            what=f"{value} is not a plain number; {names.memory} is counted in {_unit(names)}",
            consequence=consequence,
            instead=_mebibytes(value, names),
        )
    ]


def _mebibytes(text: Any, names: GpuNames) -> str:
    try:
        amount = (to_units("memory", text) >> 20) // names.factor
    except BadQuantity:
        amount = 0
    return f'"{amount}"' if amount > 0 else f"a number of {_unit(names)}"


def _unit(names: GpuNames) -> str:
    return "MiB" if names.factor == 1 else f"{names.factor} MiB"


def _container(asked: JsonMapping, field: str, sizes: Sequence[int], names: GpuNames) -> list[Problem]:
    found: list[Problem] = []
    if names.memory in asked:
        dropped = "HAMi drops the request: the pod is treated as asking for no card at all"
        found.extend(not_mebibytes(asked[names.memory], f"{field}.{names.memory}", names, consequence=dropped))
    cores = plain_number(asked.get(names.cores, 0))
    if cores is None or cores > WHOLE_CARD:
        found.append(
            Problem(
                field=f"{field}.{names.cores}",
                code="NotPercentOfCard",
                what=f"{asked[names.cores]} of {names.cores}, which is a percentage of one card",
                consequence="no card has more than 100 %: the pod is never placed",
                instead="0 to 100, for each card that is asked for",
            )
        )
    memory = (plain_number(asked.get(names.memory, 0)) or 0) * names.factor
    if names.count not in asked:
        return [*found, *_without_card(asked, field, names)]
    if not {names.memory, names.percent} & set(asked):
        found.append(_whole_card(field, names))
    elif sizes and memory > sizes[-1]:
        found.append(
            Problem(
                field=f"{field}.{names.memory}",
                code="ExceedsCardCapacity",
                what=f"{memory} MiB on one card, and the largest card here has {sizes[-1]} MiB",
                consequence="no card can ever hold it, whatever the quota",
                instead=f"at most {sizes[-1]} for each card; {names.count} asks for several cards",
            )
        )
    elif memory:
        found.extend(_poor_fit(memory, cores or 0, field, sizes, names))
    return found


def _without_card(asked: JsonMapping, field: str, names: GpuNames) -> list[Problem]:
    named = [name for name in (names.memory, names.cores, names.percent) if name in asked]
    if not named:
        return []
    return [
        warning(
            f"{field}.{named[0]}",
            "CardCountLeftOut",
            f"{', '.join(named)} without {names.count}",
            "HAMi takes it as one card; quota charges no card for it",
            f'{names.count}: "1" beside it',
        )
    ]


def _whole_card(field: str, names: GpuNames) -> Problem:
    return warning(
        field,
        WHOLE_CARD_UNCHARGED,
        f"{names.count} without {names.memory.partition('/')[2]}",
        "HAMi gives whole cards to this container alone, while quota of gpumem and gpucores is charged nothing",
        f"{names.memory} and {names.cores} as they are needed",
    )


def _poor_fit(memory: int, cores: int, field: str, sizes: Sequence[int], names: GpuNames) -> list[Problem]:
    """A warning when the shares fit poorly on every known card size."""
    left = [
        (size - (fit := _fitting(size, memory, cores, names.split)) * memory, fit, size)
        for size in sizes
        if size >= memory
    ]
    if not left or any(unused * WASTED <= size for unused, _, size in left):
        return []
    unused, fit, size = min(left)
    return [
        warning(
            f"{field}.{names.memory}",
            "PoorFit",
            f"{fit} such container(s) fit on a card of {size} MiB",
            f"{unused} MiB and {WHOLE_CARD - fit * cores} % of each card stay unused, though the quota counts them as free",
            "shares of memory and cores that run out together",
        )
    ]


def _fitting(size: int, memory: int, cores: int, split: int) -> int:
    return min(size // memory, WHOLE_CARD // cores if cores else split, split)
