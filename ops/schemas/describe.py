"""JSON Schema 2020-12 of all events and messages, and an AsyncAPI 3 description of the streams that carry them."""

import inspect
from pathlib import Path

import msgspec

from events.catalogue import all_events
from events.commit import Commit, Sighting
from events.json_object import JsonObject
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
    """The streams, their subjects and what they carry."""
    channels = {
        "FACTS": ("kuelog.facts.{tree}.{kind}", "Sighting", "what the watcher observes and the applier reports"),
        "LOG_p": ("kuelog.log.{partition}.{author}", "Commit", "decisions of a partition of trees"),
        "DEVICES_pool": ("kuelog.devices.{pool}.{author}", "Commit", "the accountant's decisions for a pool of nodes"),
        "CONTROL": (
            "kuelog.control.{author}",
            "Commit",
            "takeovers, messages skipped on record, price lists and corrections",
        ),
    }
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "kuelog log", "version": "1.0.0"},
        "channels": {
            name: {
                "address": address,
                "description": told,
                "messages": {message: {"payload": {"$ref": f"events.json#/$defs/{message}"}}},
            }
            for name, (address, message, told) in channels.items()
        },
    }


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
