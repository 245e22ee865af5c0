"""The fields of a file that is read into structs, as rows for people: path, type, default, and what the docstring says."""

import ast
import inspect
import types
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields


def struct_rows(part: type[msgspec.Struct]) -> str:
    """A row of a Markdown table for each field, and for those of the structs in it."""
    return "".join(f"| `{path}` | {kind} | {default} | {told} |\n" for path, kind, default, told in _rows(part, ""))


def _rows(part: type[msgspec.Struct], above: str) -> Iterator[tuple[str, str, str, str]]:
    told = _told(part)
    for field in fields(part):
        path = f"{above}{field.encode_name}"
        inner, kind = _kind(field.type)
        is_part = inner is not None and not inner.__module__.startswith("events.")
        yield path, "" if kind == "object" else kind, _default(field), told.get(field.name, "").replace("|", "\\|")
        if is_part and inner is not None:
            yield from _rows(inner, f"{path}[]." if kind == "list" else f"{path}.")


def _told(part: type[msgspec.Struct]) -> dict[str, str]:
    """The docstrings of the fields of a struct."""
    (body,) = ast.parse(inspect.getsource(part)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            found[field.target.id] = ast.literal_eval(after.value)
    return found


def _kind(found: Any) -> tuple[type[msgspec.Struct] | None, str]:
    """The struct that a type holds, if it holds one, and the type in words."""
    origin, given = get_origin(found), [one for one in get_args(found) if one not in (type(None), ...)]
    match origin:
        case None if isinstance(found, type) and issubclass(found, msgspec.Struct):
            return found, "object"
        case None if isinstance(found, type) and issubclass(found, Enum):
            return None, _any_of([str(one.value) for one in found])
        case None:
            return None, _WORDS.get(found, "")
        case _ if origin is Literal:
            return None, _any_of([str(one) for one in given])
        case _ if origin is tuple:
            inner, kind = _kind(given[0])
            return inner, "list" if inner is not None else f"list of {kind}"
        case _ if origin is dict:
            return None, f"map of {_kind(given[1])[1]}"
        case _ if origin in (Union, types.UnionType) and len(given) == 1:
            return _kind(given[0])
        case _ if origin in (Union, types.UnionType):
            return None, "number or text"
        case _:
            return _kind(given[0])


_WORDS = {bool: "true or false", str: "text", int: "number", Any: ""}


def _any_of(words: list[str]) -> str:
    return ", ".join(f"`{one}`" for one in words)


def _default(field: msgspec.structs.FieldInfo) -> str:
    """The value where the file says nothing; empty where that is nothing or the defaults of the parts."""
    if field.required:
        return "required"
    value = field.default
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case Enum():
            return f"`{value.value}`"
        case str() | int() if value != "":
            return f"`{value}`"
        case (str(), *_):
            return _any_of(list(value))
        case _:
            return ""
