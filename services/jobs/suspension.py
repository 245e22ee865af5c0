"""What a mutating webhook does to a job that a queue is to manage: it is created suspended."""

from events.json_object import JsonObject
from services.jobs.defaulting import PLAIN, queued_later, waiting
from services.jobs.kinds import Kinds


def suspend_queued(operation: str, kind: str, value: JsonObject, kinds: Kinds = PLAIN) -> JsonObject:
    """The job suspended, if it names a queue; what serves hands its queue on, also later; any other object as it is."""
    return waiting(value, kind, kinds) if operation == "CREATE" else queued_later(value, kind, kinds)
