"""docs/events.md: every event for people, from its schema and from who may say it."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from events.authors import AUTHORS
from events.catalogue import AdmissionDecision, ControlEvent, DeviceDecision, Fact
from events.json_object import JsonObject

_HEAD = """# Events

Everything that can stand on the log. A **fact** is something observed, a **decision** something a service concluded; one message is one
fact or one commit of decisions ([how kuelog works](architecture.md)). Times are milliseconds since 1970, UTC. A field with a default may be
missing in what is stored. What is stored never changes; more fields may come.

[events.json](schema/events.json) says the same to programs as JSON Schema, [asyncapi.json](schema/asyncapi.json) which stream carries what.
`kuelog log show --type 'Workload*'` shows those of a log. This page is made by `python -m ops.schemas`.
"""
_PARTS = (
    ("Facts", Fact),
    ("Decisions about admission", AdmissionDecision),
    ("Decisions about cards", DeviceDecision),
    ("Control", ControlEvent),
)


def page(schema: JsonObject) -> str:
    """The whole page, from the schema of all events."""
    known: Any = schema["$defs"]
    events = {one.__name__ for _, part in _PARTS for one in _types(part)} | {"Commit", "Sighting"}
    parts = [
        f"\n## {title}\n{''.join(_event(known, one) for one in sorted(_types(part), key=lambda one: one.__name__))}"
        for title, part in _PARTS
    ]
    values = "".join(_struct(name, found) for name, found in known.items() if name not in events)
    return f"{_HEAD}{''.join(parts)}\n## Values\n\nWhat fields hold that are not plain.\n{values}"


def _types(union: object) -> Iterable[type]:
    return get_args(union)


def _event(known: Any, event: type) -> str:
    found = known[event.__name__]
    authors = [name for name, one in AUTHORS.items() if event in one.says]
    (tag,) = found["properties"]["type"]["enum"]
    return f"\n### {event.__name__}\n\n`{tag}`, by {' or '.join(authors)}. {_told(found)}\n{_table(found)}"


def _struct(name: str, found: Any) -> str:
    """A value that is no event: its fields, or the words that it may be."""
    told = "\n\n".join(one for one in (_told(found), _words(found) if "enum" in found else "") if one)
    return f"\n### {name}\n" + (f"\n{told}\n" if told else "") + _table(found)


def _told(found: Any) -> str:
    return " ".join(str(found.get("description", "")).split())


def _table(found: Any) -> str:
    rows = "".join(_row(name, one) for name, one in found.get("properties", {}).items() if name != "type")
    return f"\n| field | type | default |\n|---|---|---|\n{rows}" if rows else ""


def _row(name: str, field: Any) -> str:
    default = f"`{_value(field['default'])}`" if "default" in field else ""
    return f"| `{name}` | {_words(field)} | {default} |\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case "":
            return '""'
        case tuple() | list():
            return f"[{', '.join(_value(one) for one in value)}]"
        case _:
            return str(value).replace("|", "\\|")


def _words(field: Any) -> str:
    """The type of a field in words."""
    return " or ".join(dict.fromkeys(_alternatives(field)))


def _alternatives(field: Any) -> Iterator[str]:
    match field:
        case {"anyOf": [*several]}:
            for one in several:
                yield from _alternatives(one)
        case {"$ref": str(to)}:
            name = to.rpartition("/")[2]
            yield f"[{name}](#{name.lower()})"
        case {"enum": [*values]}:
            yield ", ".join(f"`{one}`" for one in values)
        case {"type": "array", "items": items}:
            yield f"list of {_words(items)}"
        case {"type": "array", "prefixItems": [*several]}:
            yield f"({', '.join(_words(one) for one in several)})"
        case {"type": "object", "additionalProperties": dict(values)}:
            yield f"map of {_words(values)}"
        case {"type": str(plain)}:
            yield plain
        case _:
            yield "anything"
