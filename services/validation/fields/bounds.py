"""What a definition says of single fields: how much they hold, of which form it is, and what may not be missing.

Rule: docs/rules/objects.md#validation
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from events.json_object import JsonMapping, is_array, is_object
from services.validation.problem import Problem, duplicate, invalid, not_supported, required, too_long


class Form(msgspec.Struct, frozen=True):
    """How a text is made up."""

    pattern: str
    words: str


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a field may be."""

    least: int | None = None
    """Characters of a text, entries of a list or map; of a number itself."""
    most: int | None = None
    form: Form | None = None
    options: tuple[str, ...] = ()
    """The only values that it may have, where there are any."""
    once: bool = False
    """Each entry of the list is another one."""
    needs: tuple[str, ...] = ()
    """Fields that it has to have."""
    told_elsewhere: bool = False
    """Another rule of ours says it of an object, in better words or with more of them; only the definition says it so."""


def bound_problems(value: JsonMapping, bounds: Mapping[str, Bounds]) -> list[Problem]:
    """Where an object goes beyond bounds; these are by path: `[]` are the entries of a list, `{}` the values of a map."""
    return [
        problem
        for path, one in bounds.items()
        if not one.told_elsewhere
        for field, found in _places(value, path.split("."), "")
        for problem in _problems(found, one, field)
    ]


def _places(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    """The fields at a path that are there, by their names."""
    if not steps:
        yield path, value
        return
    name = steps[0].rstrip("[]{}")
    inner = value.get(name) if is_object(value) else None
    field = f"{path}.{name}" if path else name
    if steps[0].endswith("[]"):
        for index, one in enumerate(inner if is_array(inner) else ()):
            yield from _places(one, steps[1:], f"{field}[{index}]")
    elif steps[0].endswith("{}"):
        for key, one in (inner if is_object(inner) else {}).items():
            yield from _places(one, steps[1:], f"{field}[{key}]")
    elif inner is not None:
        yield from _places(inner, steps[1:], field)


def _problems(found: Any, bounds: Bounds, field: str) -> Iterator[Problem]:
    match found:
        case str():
            yield from _text(found, bounds, field)
        case int():
            yield from _amount(found, bounds, field, "")
        case _ if is_array(found):
            yield from _amount(len(found), bounds, field, " entries")
            if bounds.once:
                yield from (
                    duplicate(f"{field}[{index}]", one, "each once")
                    for index, one in enumerate(found)
                    if one in found[:index]
                )
        case _ if is_object(found):
            yield from _amount(len(found), bounds, field, " entries")
            yield from (
                required(f"{field}.{name}", f"{name} is missing", f"{name}: with what is meant")
                for name in bounds.needs
                if found.get(name) is None
            )
        case _:
            return


def _amount(found: int, bounds: Bounds, field: str, of: str) -> Iterator[Problem]:
    if bounds.least is not None and found < bounds.least:
        yield invalid(field, found, f"{found}{of}", f"at least {bounds.least}{of}")
    if bounds.most is not None and found > bounds.most:
        yield Problem(field=field, code="TooMany", what=f"{found}{of}", instead=f"at most {bounds.most}{of}")


def _text(found: str, bounds: Bounds, field: str) -> Iterator[Problem]:
    if bounds.least is not None and len(found) < bounds.least:
        yield required(field, "it is empty", "a text")
    elif bounds.options and found not in bounds.options:
        yield not_supported(field, found, bounds.options)
    elif bounds.form is not None and re.fullmatch(bounds.form.pattern, found) is None:
        yield invalid(field, found, f"{found!r} is not of the form of such a name", bounds.form.words)
    if bounds.most is not None and len(found) > bounds.most:
        yield too_long(field, found, bounds.most)
