"""JSON Schema 2020-12 of all events and messages, and an AsyncAPI 3 description of the streams that carry them."""

import inspect
from pathlib import Path
from typing import get_args

import msgspec

from events.authors import AUTHORS
from events.catalogue import Fact, all_events
from events.commit import Commit, Sighting
from events.json_object import JsonObject
from events.subjects import CLUSTER, CONTROL, DEVICES, FACTS, LOG
from ops.schemas.page import page

FOLDER = Path(__file__).parent.parent.parent / "docs"


def json_schema() -> JsonObject:
    """Every event and both kinds of message."""
    _, components = msgspec.json.schema_components((*all_events(), Sighting, Commit), ref_template="#/$defs/{name}")
    for component in components.values():
        if "description" in component:
            # From 3.13 on Python itself takes the indentation out of docstrings; these files are the same under every version.
            component["description"] = inspect.cleandoc(component["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kuelog events",
        "$defs": dict(sorted(components.items())),
    }


def async_api() -> JsonObject:
    """The streams, the subjects that messages are filed under, what they carry, and who sends and receives it."""
    operations: JsonObject = {}
    for name, (_, message, told, _) in _CHANNELS.items():
        messages = [{"$ref": f"#/channels/{name}/messages/{message}"}]
        for action, who in (("send", "Stored by its author"), ("receive", "Read in order by everybody")):
            operations[f"{action}-{name}"] = {
                "action": action,
                "channel": {"$ref": f"#/channels/{name}"},
                "summary": f"{who}: {told}",
                "messages": messages,
            }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "kuelog log",
            "version": "1.0.0",
            "description": "The streams of kuelog's log on NATS JetStream. A subject names the author of a commit, or the kind of a fact.",
        },
        "defaultContentType": _JSON,
        "channels": {
            name: {
                "address": address,
                "description": told,
                "parameters": {each: parameters[each] for each in sorted(parameters)},
                "messages": {message: {"$ref": f"#/components/messages/{message}"}},
            }
            for name, (address, message, told, parameters) in _CHANNELS.items()
        },
        "operations": operations,
        "components": {"messages": {one: _message(one) for one in ("Commit", "Sighting")}},
    }


def _message(name: str) -> JsonObject:
    return {
        "name": name,
        "contentType": _JSON,
        "payload": {"schemaFormat": _SCHEMA_FORMAT, "schema": {"$ref": f"events.json#/$defs/{name}"}},
    }


def _authors(family: str) -> JsonObject:
    names = sorted(one.name for one in AUTHORS.values() if one.family == family)
    return {"description": "Who decides it.", "enum": names}


_JSON = "application/json"
_SCHEMA_FORMAT = "application/schema+json;version=draft-2020-12"
_CHANNELS: dict[str, tuple[str, str, str, JsonObject]] = {
    FACTS: (
        "kuelog.facts.{tree}.{kind}",
        "Sighting",
        "what the watcher observes and the applier reports",
        {
            "tree": {"description": f"The tree of queues that a fact is about; `{CLUSTER}` where it is about none."},
            "kind": {
                "description": "The type of the fact, without its version.",
                "enum": sorted(one.__name__ for one in get_args(Fact)),
            },
        },
    ),
    "LOG_p": (
        "kuelog.log.{partition}.{author}",
        "Commit",
        "decisions of a partition of trees",
        {"partition": {"description": "The number of the partition.", "examples": ["0"]}, "author": _authors(LOG)},
    ),
    "DEVICES_pool": (
        "kuelog.devices.{pool}.{author}",
        "Commit",
        "the accountant's decisions for a pool of nodes",
        {"pool": {"description": "The pool of nodes.", "examples": ["default"]}, "author": _authors(DEVICES)},
    ),
    CONTROL: (
        "kuelog.control.{author}",
        "Commit",
        "takeovers, messages skipped on record, price lists, corrections and closed months",
        {"author": _authors(CONTROL)},
    ),
    "CONTROL_first": (
        "kuelog.control._.{author}",
        "Commit",
        "where prices and corrections were filed at first: on the same stream, and read for ever",
        {"author": _authors(CONTROL)},
    ),
}
"""By the family of a stream: address, message, what it is about, and the places in its address."""


def documents() -> dict[str, bytes]:
    """The files as they should stand in docs."""
    schema = json_schema()
    return {
        "schema/events.json": _pretty(schema),
        "schema/asyncapi.json": _pretty(async_api()),
        "events.md": page(schema).encode(),
    }


def _pretty(value: JsonObject) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
