"""Hundreds of messages that were stored as nobody may store them: each is found, over the log and over its archive."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.codec import decode_commit, decode_sighting, encode
from events.control import Quarantined
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL, FACTS
from ops.production.archive.archive import read_archive, write_archive
from ops.production.archive.finding import AUTHOR, TIME
from ops.production.archive.proof.evidence import load_evidence
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.verify import Auditor
from services.runtime.control_log import AHEAD
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of
from tests.services.runtime.test_control_log import said as control_said

SEED, TIMES = 20261122, 40
KEY = key_of(1)
STORED: Millis = 1_800_000_000_000


def message(entry: Entry) -> Any:
    return decode_sighting(entry.data) if entry.stream == FACTS else decode_commit(entry.data)


def changed(entry: Entry, **fields: object) -> Entry:
    return msgspec.structs.replace(entry, data=encode(msgspec.structs.replace(message(entry), **fields)))


def rechained(entries: list[Entry]) -> list[Entry]:
    """A partition as its authors would have stored it: each commit names the one before it as it stands now."""
    found: list[Entry] = []
    prev = GENESIS
    for entry in entries:
        found.append(changed(entry, prev_hash=prev))
        prev = bytes_hash(found[-1].data)
    return found


def unknown(entry: Entry, chance: random.Random) -> Entry:
    return changed(entry, author=chance.choice(("", "Watcher", "admitter-2", "root", "x" * 500)))


def of_others(entry: Entry, chance: random.Random) -> Entry:
    own = message(entry).author
    others = ("watcher", "applier", "queue-manager", "admitter", "preemptor", "accountant", "operator")
    return changed(entry, author=chance.choice([one for one in others if one != own]))


def filed_elsewhere(entry: Entry, chance: random.Random) -> Entry:
    parts = entry.subject.split(".")
    at = chance.randrange(2, len(parts) + 1)
    shorter, longer = [*parts[:-1]], [*parts[:at], "more", *parts[at:]]
    other = [*parts[:-1], "DecisionApplied" if entry.stream == FACTS else "preemptor"]
    return msgspec.structs.replace(entry, subject=".".join(chance.choice((shorter, longer, other))))


def far_ahead(entry: Entry, chance: random.Random) -> Entry:
    return changed(entry, at=STORED + AHEAD + chance.choice((1, 1000, 86_400_000)))


WAYS: dict[Callable[[Entry, random.Random], Entry], str] = {
    unknown: AUTHOR,
    of_others: AUTHOR,
    filed_elsewhere: AUTHOR,
    far_ahead: TIME,
}


@pytest.fixture(scope="module")
def log() -> Log:
    log = log_of(60, devices=20)
    return {s: [msgspec.structs.replace(one, stored=STORED) for one in entries] for s, entries in log.items()}


def with_one(log: Log, way: Callable[[Entry, random.Random], Entry], chance: random.Random) -> tuple[Log, str, int]:
    """A log in which one message was stored so, and everything else as it would be behind that."""
    stream = chance.choice((PARTITION, FACTS, DEVICE_PARTITION))
    at = chance.randrange(len(log[stream]))
    entries = list(log[stream])
    entries[at] = way(entries[at], chance)
    return {**log, stream: entries if stream == FACTS else rechained(entries)}, stream, at + 1


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_was_amiss_when_it_was_stored_is_found_though_it_was_signed(
    way: Callable[[Entry, random.Random], Entry], log: Log, tmp_path: Path
) -> None:
    assert Auditor(evidence_of(log, KEY)).examine(log).findings == ()
    chance = random.Random(f"{SEED} {way.__name__}")
    for number in range(TIMES):
        made, stream, sequence = with_one(log, way, chance)
        evidence = evidence_of(made, KEY, chance.choice((1.0, 0.5)))
        report = Auditor(evidence).examine(made)
        assert [(one.stream, one.sequence, one.what) for one in report.findings] == [(stream, sequence, WAYS[way])]
        assert report.changes == (), "the log is what was signed"
        if number % 8 == 0:
            url = str(tmp_path / str(number))
            write_archive(made, evidence_of(made, KEY), url)
            archived, damage = read_archive(url)
            again = Auditor(load_evidence(url)).examine(archived, ends={})
            assert damage == []
            assert [(one.stream, one.sequence, one.what) for one in again.findings] == [(stream, sequence, WAYS[way])]


def test_ten_seconds_are_no_offence_and_what_is_skipped_on_record_is_none_either(log: Log) -> None:
    just = {**log, FACTS: [changed(log[FACTS][0], at=STORED + AHEAD), *log[FACTS][1:]]}
    assert Auditor(evidence_of(just, KEY)).examine(just).findings == ()
    foreign = {**log, FACTS: [changed(log[FACTS][0], author="nobody"), *log[FACTS][1:]]}
    assert len(Auditor(evidence_of(foreign, KEY)).examine(foreign).findings) == 1
    skipped = {**foreign, CONTROL: [control_said(1, Quarantined(stream=FACTS, sequence=1, reason="r"))]}
    assert Auditor(evidence_of(skipped, KEY)).examine(skipped).findings == ()


def test_a_message_that_was_changed_afterwards_is_told_once(log: Log) -> None:
    evidence = evidence_of(log, KEY)
    harmed = {**log, FACTS: [changed(log[FACTS][0], author="nobody"), *log[FACTS][1:]]}
    assert [one.what for one in Auditor(evidence).examine(harmed).findings] == ["changed"]
