"""Stored histories: logs as they were written, kept for ever; what is written is never changed, only added to."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ops.production.log.streams import SOLE
from services.runtime.log_port import Entry

HERE = Path(__file__).parent
LOGS = "log.jsonl.gz"
EVENTS = "events.json.gz"
"""One of every event, as the version of that folder writes it."""

History = dict[str, list[Entry]]


def versions() -> list[str]:
    """The folders, one for each version of the rules."""
    return sorted(one.parent.name for one in HERE.glob(f"*/{LOGS}"))


def read_history(version: str) -> History:
    found: History = {name: [] for name in SOLE.every}
    for line in gzip.decompress((HERE / version / LOGS).read_bytes()).splitlines():
        stream, sequence, subject, message_id, stored, data = json.loads(line)
        found[stream].append(
            Entry(
                stream=stream,
                sequence=sequence,
                subject=subject,
                message_id=message_id,
                stored=stored,
                data=data.encode(),
            )
        )
    return found


def write_history(version: str, entries: Mapping[str, Sequence[Entry]]) -> None:
    lines = [
        json.dumps(
            [one.stream, one.sequence, one.subject, one.message_id, getattr(one, "stored", 0), one.data.decode()]
        )
        for name in SOLE.every
        for one in entries.get(name, ())
    ]
    _write(version, LOGS, "\n".join(lines).encode())


def read_events(version: str) -> list[bytes]:
    plain = json.loads(gzip.decompress((HERE / version / EVENTS).read_bytes()))
    return [json.dumps(one).encode() for one in plain]


def write_events(version: str, events: Iterable[bytes]) -> None:
    _write(version, EVENTS, json.dumps([json.loads(one) for one in events]).encode())


def _write(version: str, name: str, data: bytes) -> None:
    (HERE / version).mkdir(exist_ok=True)
    (HERE / version / name).write_bytes(gzip.compress(data, mtime=0))
