"""One event of every type, with every field filled: whatever today's version can write."""

from typing import Any, cast, get_args

import msgspec
from msgspec import inspect

from events.catalogue import AnyEvent
from events.codec import encode

Plain = Any


def event_types() -> list[type[msgspec.Struct]]:
    """All types of the catalogue, by name."""
    return sorted(_members(AnyEvent), key=lambda one: one.__name__)


def tag_of(kind: type[msgspec.Struct]) -> str:
    """The tag under which a type is written."""
    return str(kind.__struct_config__.tag)


def one_of_each() -> list[bytes]:
    """The bytes of one event of every type."""
    return [
        encode(cast(AnyEvent, msgspec.convert(_filled(inspect.type_info(kind), 0), kind))) for kind in event_types()
    ]


def _members(union: Any) -> list[type[msgspec.Struct]]:
    union = getattr(union, "__value__", union)
    parts = get_args(union)
    return [one for part in parts for one in _members(part)] if parts else [union]


def _filled(kind: Any, depth: int) -> Plain:  # noqa: C901, PLR0911 - one case per kind of type
    match kind:
        case inspect.StructType():
            fields = {field.encode_name: _filled(field.type, depth + 1) for field in kind.fields}
            return {str(kind.tag_field): kind.tag, **fields} if kind.tag_field else fields
        case inspect.UnionType():
            some = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            return _filled(some[0], depth)
        case inspect.VarTupleType() | inspect.ListType() | inspect.SetType() | inspect.FrozenSetType():
            return [_filled(kind.item_type, depth + 1)]
        case inspect.TupleType():
            return [_filled(one, depth + 1) for one in kind.item_types]
        case inspect.DictType():
            return {_filled(kind.key_type, depth + 1): _filled(kind.value_type, depth + 1)}
        case inspect.EnumType():
            return next(iter(kind.cls)).value
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 7
        case inspect.FloatType():
            return 7.5
        case inspect.StrType():
            return "team/a"
        case inspect.DecimalType():
            return "7.5"
        case inspect.CustomType() | inspect.AnyType():
            return "7.5"
        case _:
            raise AssertionError(f"no sample of {kind} is known: say here what one looks like")
