"""Stored events in the JSON format of CloudEvents 1.0 (https://github.com/cloudevents/spec)."""

from base64 import b64encode

import msgspec

from events.json_object import JsonObject
from events.timestamp import format_exactly
from ops.queries.shown import ShownEvent
from projections.explanation.about import objects_of

SPEC = "1.0"
_TYPES = "io.kuelog."
_UNREADABLE = f"{_TYPES}Unreadable"


def cloud_event(one: ShownEvent) -> JsonObject:
    """A stored event; `source` and `id` name it for ever. What nobody can read is there as it was stored, in base64.

    Its extensions say where it stands (`stream`, `sequence`), who wrote it (`author`), what it follows from (`cause`), why it does
    not count (`mark`) and the id of its trace (`traceid`); each is there where it is known.
    """
    subject = next(iter(objects_of(one.event)), "") if one.event is not None else ""
    known = {
        "subject": subject,
        "author": one.author,
        "cause": one.cause,
        "mark": one.mark,
        "traceid": one.entry.trace,
    }
    found: JsonObject = {
        "specversion": SPEC,
        "id": f"{one.entry.sequence}/{one.index}",
        "source": f"/kuelog/{one.entry.stream}",
        "type": _UNREADABLE,
        "time": format_exactly(one.at),
        "stream": one.entry.stream,
        "sequence": str(one.entry.sequence),
        **{name: text for name, text in known.items() if text},
    }
    if one.event is None:
        return {**found, "data_base64": b64encode(one.entry.data).decode()}
    data = msgspec.to_builtins(one.event)
    return {**found, "type": f"{_TYPES}{data['type']}", "datacontenttype": "application/json", "data": data}
