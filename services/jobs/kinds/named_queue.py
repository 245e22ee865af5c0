"""Which queue an object names, and whether it has named any before."""

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject
from services.jobs.kinds.pods import annotations_of, labels_of


def named_queue(value: JsonObject) -> str:
    """The queue that an object names, by label or by the old annotation."""
    return str(labels_of(value).get(QUEUE_NAME) or annotations_of(value).get(QUEUE_NAME) or "")


def known_before(old: JsonObject | None, new: JsonObject) -> JsonObject | None:
    """The job before a change; None where it is new to us: it is made, or gets a queue by the change."""
    return None if old is None or (named_queue(new) and not named_queue(old)) else old
