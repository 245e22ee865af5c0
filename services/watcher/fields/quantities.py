"""Quantities of manifests in the units of the log, or the problem that they are."""

from collections.abc import Mapping
from contextlib import suppress

from events.amount import UNLIMITED, Requests
from events.api.meta import Quantity
from events.quantity import BadQuantity, to_units
from events.whole_number import whole_number
from services.watcher.fields.problems import Refused, problem

_WHOLE_NUMBERS = ("nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/gpu", "nvidia.com/gpumem-percentage")


def units(resource: str, text: Quantity, field: str) -> int:
    """One quantity. Raises `Refused` with what to write instead."""
    try:
        amount = to_units(resource, text)
    except BadQuantity as bad:
        raise Refused([problem(field, str(bad), "a number with an optional suffix")]) from bad
    if amount < 0:
        raise Refused([problem(field, f"{text} is negative", "a quantity of at least 0")])
    if (
        resource in _WHOLE_NUMBERS
        and whole_number(str(text).strip().lstrip("+")) is None
        and not str(text).endswith("k")
    ):
        raise Refused(
            [
                problem(
                    field,
                    f"{text} is not a plain number; HAMi reads {resource} in {_unit(resource)}",
                    _instead(resource, text),
                )
            ]
        )
    return amount


def amounts(requests: Mapping[str, Quantity] | None, field: str) -> Requests:
    """A map of quantities, in order of names."""
    return {name: units(name, (requests or {})[name], f"{field}[{name}]") for name in sorted(requests or {})}


def readable_amounts(requests: Mapping[str, Quantity] | None) -> Requests:
    """A map of quantities, in order of names, without those that can't be read: they decide nothing."""
    found: Requests = {}
    for name, text in sorted((requests or {}).items()):
        with suppress(BadQuantity):
            found[name] = to_units(name, text)
    return found


def duration(text: str) -> int:
    """A duration such as 90s, 10m, 2h or 1h30m, in milliseconds. Raises ValueError."""
    sizes = {"h": 3_600_000, "m": 60_000, "s": 1000}
    total, number = 0, ""
    for character in text:
        if whole_number(character) is not None:
            number += character
        elif character in sizes and number:
            total, number = total + (whole_number(number) or 0) * sizes[character], ""
        else:
            raise ValueError(text)
    if number or not text or total > UNLIMITED:
        raise ValueError(text)
    return total


def _unit(resource: str) -> str:
    return "MiB" if resource.endswith("gpumem") else "whole numbers"


def _instead(resource: str, text: Quantity) -> str:
    if resource.endswith("gpumem"):
        try:
            mib = to_units("memory", text) // (1 << 20)
        except BadQuantity:
            return "a number of MiB"
        if mib:
            return f'"{mib}" for {text}'
    return "a plain whole number"
