"""Whether a Workload object differs from how it was looked at last in anything that is read of it.

What kuelog writes of its decisions comes back with the watch, and says nothing that is not on the log: neither the admission nor its
conditions are read of an object whose workload is known, but for its end. To read it again would cost more than to write it.
"""

import hashlib

import msgspec

from events.json_object import JsonMapping, object_at, objects_at
from projections.workloads.lifecycle import FINISHED

_DIGEST = 8
_NOT_READ = frozenset({"resourceVersion", "managedFields"})


class LastLooks:
    """By place, a digest of what was read of the object when nothing of it was left to report."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def same(self, place: str, digest: bytes) -> bool:
        """Whether all that is read of the object is as it was."""
        return self._digests.get(place) == digest

    def note(self, place: str, digest: bytes) -> None:
        """All that follows from the object is reported."""
        self._digests[place] = digest

    def forget(self, place: str) -> None:
        """Something else was reported of its workload, or the object is gone."""
        self._digests.pop(place, None)

    def forget_all(self) -> None:
        """Something has changed that objects are understood by."""
        self._digests.clear()


def digest_of(value: JsonMapping) -> bytes:
    """A digest of all that is read of an object whose workload is known, but for its end; the rest of its status may change."""
    read = (
        {name: field for name, field in object_at(value, "metadata").items() if name not in _NOT_READ},
        value.get("spec"),
        object_at(value, "status").get("admissionChecks"),
    )
    return hashlib.blake2b(msgspec.json.encode(read), digest_size=_DIGEST).digest()


def end_of(value: JsonMapping) -> tuple[str, str] | None:
    """Reason and message of the condition by which an object says that its workload has ended; None where none does."""
    for one in objects_at(value, "status", "conditions"):
        if one.get("type") == FINISHED and one.get("status") == "True":
            return str(one.get("reason") or ""), str(one.get("message") or "")
    return None
