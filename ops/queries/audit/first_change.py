"""What a stream was, and what it is, where it first differs from what was recorded: by the bytes that an archive has."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from events.merkle import leaf_hash
from ops.production.archive.archive_pages import ArchivePages
from ops.production.archive.finding import AuditFinding
from ops.production.archive.proof.evidence import Evidence
from ops.production.archive.proof.leaves import Leaves
from ops.queries.audit.walk import Streams
from services.runtime.log_port import Entry

_OF_MESSAGES = frozenset({"changed", "missing", "added", "reordered"})
_LONGEST = 200
NOTHING = "nothing"


class FirstChange(msgspec.Struct, frozen=True, kw_only=True):
    """The first message of a stream that is not what it was."""

    stream: str
    sequence: int
    field: str
    """The first of its fields that differs, as a path; empty where one of the two is no message in JSON, or is not there."""
    before: str
    after: str

    def __str__(self) -> str:
        of = f" {self.field}" if self.field else ""
        return f"{self.stream} from {self.sequence} on, first changed:{of} before {self.before} after {self.after}"


def first_changes(
    findings: Iterable[AuditFinding], streams: Streams, evidence: Evidence, archive: str
) -> Iterator[FirstChange]:
    """By stream that was changed, what it was there, where the archive has the very message that was recorded.

    Raises `FolderUnreadable`, `ArchiveDamaged`.
    """
    places: dict[str, int] = {}
    for one in findings:
        if one.what in _OF_MESSAGES and one.stream in evidence.heads:
            places[one.stream] = min(one.sequence, places.get(one.stream, one.sequence))
    pages = ArchivePages(archive, sorted(places)) if places else None
    for stream, sequence in sorted(places.items()):
        if pages is None or sequence > pages.end(stream):
            continue
        before = next(one for one in pages.page(stream, sequence) if one.sequence == sequence)
        record = Leaves(evidence.leaves.get(stream, b""))
        after = _at(streams, stream, sequence)
        recorded = sequence <= len(record) and record[sequence - 1] == _leaf(before)
        if recorded and (after is None or _leaf(after) != _leaf(before)):
            yield _between(before, after)


def _at(streams: Streams, stream: str, sequence: int) -> Entry | None:
    for entry in streams.get(stream, ()):
        if entry.sequence >= sequence:
            return entry if entry.sequence == sequence else None
    return None


def _between(before: Entry, after: Entry | None) -> FirstChange:
    field, was, is_now = "", shown(before.data), NOTHING
    if after is not None and after.data == before.data:
        field, was, is_now = "", f"{before.subject} {before.message_id}", f"{after.subject} {after.message_id}"
    elif after is not None:
        field, was, is_now = next(_fields(_read(before.data), _read(after.data)), ("", was, shown(after.data)))
    return FirstChange(stream=before.stream, sequence=before.sequence, field=field, before=was, after=is_now)


def _leaf(entry: Entry) -> bytes:
    return leaf_hash(entry.stream, entry.subject, entry.message_id, entry.data)


def _read(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _fields(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """The fields in which two messages differ, with what each has there."""
    if before is None or after is None:
        if path and before is not after:
            yield path, _text(before), _text(after)
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            at = f"{path}.{name}" if path else str(name)
            if (name in before) is not (name in after):
                yield (
                    at,
                    _text(before[name]) if name in before else NOTHING,
                    _text(after[name]) if name in after else NOTHING,
                )
            else:
                yield from _fields(before[name], after[name], at)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _fields(one, other, f"{path}[{place}]")
    elif before != after:
        yield path, _text(before), _text(after)


def _text(value: Any) -> str:
    return shown(msgspec.json.encode(value))


def shown(data: bytes) -> str:
    """Bytes as they are shown in a line; what is no text is escaped, what is long is cut."""
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
