"""A thousand ways to tamper with a log of three thousand commits: each is found, and its place is named right."""

import random
from collections.abc import Callable

import msgspec
import pytest

from events.subjects import FACTS
from ops.production.archive.proof.evidence import Evidence, Statement
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.chain import Link, link_of
from ops.queries.audit.verify import Auditor
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of, ring_key

SEED, TIMES = 20261121, 1000
KEY, OTHER = key_of(1), key_of(2)
Places = set[tuple[str, int]]
"""Where a change may rightly be named: an adjacent swap has two places, all others have one."""


class Remembered:
    """The link of a message follows from what is stored alone, so that of an untouched message need be made only once."""

    def __init__(self, log: Log) -> None:
        # By the bytes object too: a message under another number is another entry with the same bytes in it.
        self._entries = {id(e): link_of(e) for entries in log.values() for e in entries}
        self._bytes = {id(e.data): (e, self._entries[id(e)]) for entries in log.values() for e in entries}

    def __call__(self, entry: Entry) -> Link:
        link = self._entries.get(id(entry))
        if link is not None:
            return link
        known, link = self._bytes.get(id(entry.data), (None, None))
        return link if link and known and _stored(known) == _stored(entry) else link_of(entry)


def _stored(entry: Entry) -> tuple[str, str, str]:
    return entry.stream, entry.subject, entry.message_id


def renumbered(entries: list[Entry]) -> list[Entry]:
    """As a store would number them that was written anew."""
    return [e if e.sequence == n else msgspec.structs.replace(e, sequence=n) for n, e in enumerate(entries, start=1)]


def flip(entries: list[Entry], at: int, chance: random.Random) -> Places:
    e = entries[at]
    what = chance.choice(("data", "data", "data", "subject", "message_id"))
    old = e.data if what == "data" else getattr(e, what).encode()
    place = chance.randrange(len(old))
    new = old[:place] + bytes([old[place] ^ (1 << chance.randrange(7))]) + old[place + 1 :]
    entries[at] = msgspec.structs.replace(e, **{what: new if what == "data" else new.decode()})
    return {(e.stream, at + 1)}


def flip_data(entries: list[Entry], at: int, chance: random.Random) -> Places:
    before = entries[at]
    while entries[at].data == before.data:
        entries[at] = before
        flip(entries, at, chance)
    return {(before.stream, at + 1)}


def drop(entries: list[Entry], at: int, chance: random.Random) -> Places:
    stream = entries[at].stream
    del entries[at]
    if chance.random() < 0.5:
        entries[:] = renumbered(entries)
    return {(stream, at + 1)}


def duplicate(entries: list[Entry], at: int, chance: random.Random) -> Places:
    to = chance.randrange(len(entries) + 1)
    entries.insert(to, entries[at])
    stream = entries[at].stream
    entries[:] = renumbered(entries)
    # A copy beside its original can't be told from it.
    return {(stream, to + 1), *({(stream, at + 1), (stream, at + 2)} if to in (at, at + 1) else ())}


def add(entries: list[Entry], at: int, chance: random.Random) -> Places:
    e = entries[at]
    entries.insert(at, msgspec.structs.replace(e, message_id=f"forged-{chance.random()}"))
    entries[:] = renumbered(entries)
    return {(e.stream, at + 1)}


def swap(entries: list[Entry], at: int, chance: random.Random) -> Places:
    other = (at + chance.choice((1, 1, chance.randrange(1, len(entries))))) % len(entries)
    entries[at], entries[other] = entries[other], entries[at]
    stream = entries[at].stream
    entries[:] = renumbered(entries)
    return {(stream, at + 1), (stream, other + 1)}


def truncate(entries: list[Entry], at: int, chance: random.Random) -> Places:
    stream = entries[at].stream
    del entries[at:]
    return {(stream, at + 1)}


WAYS: list[Callable[[list[Entry], int, random.Random], Places]] = [flip, drop, duplicate, add, swap, truncate]


@pytest.fixture(scope="module")
def log() -> Log:
    return log_of(3_000, devices=300)


@pytest.fixture(scope="module")
def evidence(log: Log) -> Evidence:
    return evidence_of(log, KEY)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_change_is_found_and_its_place_is_named(
    way: Callable[[list[Entry], int, random.Random], Places], log: Log, evidence: Evidence
) -> None:
    auditor = Auditor(evidence, link=Remembered(log))
    assert auditor.examine(log).findings == ()
    chance = random.Random(f"{SEED} {way.__name__}")
    for _ in range(TIMES // (len(WAYS) + 1) + 1):
        stream = chance.choice((PARTITION, PARTITION, PARTITION, FACTS, FACTS, DEVICE_PARTITION))
        changed = {**log, stream: list(log[stream])}
        places = way(changed[stream], chance.randrange(len(log[stream])), chance)
        found = {(one.stream, one.sequence) for one in auditor.examine(changed).findings}
        assert found and found <= places, (places, found)


def sealed_by(forged: Log, how: str) -> Evidence:
    """What somebody without the key may put beside a log that he has changed."""
    new = evidence_of(forged, OTHER)
    old_ring, key = (ring_key(KEY),), ring_key(OTHER)
    endorsed = msgspec.structs.replace(key, replaces=old_ring[0].id, endorsement="00" * 64)
    lost = msgspec.structs.replace(key, replaces=old_ring[0].id, lost="trust me")
    ring = {"as if by the key": old_ring, "endorsed by nobody": (*old_ring, endorsed), "lost": (*old_ring, lost)}
    if how == "as if by the key":
        new = msgspec.structs.replace(
            new, heads={s: msgspec.structs.replace(head, key=old_ring[0].id) for s, head in new.heads.items()}
        )
    return msgspec.structs.replace(new, keys=ring.get(how, (key,)))


def test_a_log_that_is_changed_and_signed_with_another_key_is_found(log: Log) -> None:
    short = {stream: entries[-40:] for stream, entries in log.items()}
    short = {s: [msgspec.structs.replace(e, sequence=n) for n, e in enumerate(found, 1)] for s, found in short.items()}
    chance = random.Random(f"{SEED} sign")
    ours = evidence_of(short, KEY)
    for _ in range(TIMES // (len(WAYS) + 1)):
        stream = chance.choice((PARTITION, FACTS, DEVICE_PARTITION))
        forged = {**short, stream: list(short[stream])}
        chance.choice(WAYS)(forged[stream], chance.randrange(40), chance)
        forged = {s: renumbered(found) for s, found in forged.items()}
        how = chance.choice(("as if by the key", "endorsed by nobody", "lost", "another ring"))
        evidence = sealed_by(forged, how)
        # All of it replaced, ring included, is found by those who know the fingerprint from elsewhere, or the old heads.
        pinned = (ring_key(KEY).id,) if how == "another ring" else ()
        findings = Auditor(evidence, pinned).examine(forged).findings
        assert (stream, "checkpoint") in {(one.stream, one.what) for one in findings} or not forged[stream]
        statement = Statement(keys=ours.keys, heads=ours.heads)
        handed = Auditor(evidence).examine(forged, [statement]).findings
        assert any(one.stream == stream and "handed out" in one.detail for one in handed)


def test_what_is_kept_beside_the_log_is_not_believed_either(log: Log, evidence: Evidence) -> None:
    chance = random.Random(f"{SEED} record")
    link = Remembered(log)
    for _ in range(20):
        stream = chance.choice((PARTITION, FACTS, DEVICE_PARTITION))
        at = chance.randrange(len(evidence.leaves[stream]))
        kept = bytearray(evidence.leaves[stream])
        kept[at] ^= 1 << chance.randrange(8)
        harmed = msgspec.structs.replace(evidence, leaves={**evidence.leaves, stream: bytes(kept)})
        findings = Auditor(harmed, link=link).examine(log).findings
        assert [(one.stream, one.sequence, one.what) for one in findings] == [(stream, at // 32 + 1, "record")]
        cut = msgspec.structs.replace(evidence, leaves={**evidence.leaves, stream: bytes(kept[: at // 32 * 32])})
        findings = Auditor(cut, link=link).examine(log).findings
        assert {(one.stream, one.what) for one in findings} == {(stream, "record")}


def test_without_any_record_the_chain_still_names_what_it_can(log: Log) -> None:
    chance = random.Random(f"{SEED} chain")
    nothing = Auditor(Evidence(), link=Remembered(log))
    assert nothing.examine(log).findings == ()
    for way in (flip_data, drop, duplicate, add, swap):
        for _ in range(5):
            changed = {**log, PARTITION: list(log[PARTITION])}
            way(changed[PARTITION], chance.randrange(1, len(log[PARTITION]) - 1), chance)
            assert {one.stream for one in nothing.examine(changed).findings} >= {PARTITION}
    fewer = {**log, FACTS: log[FACTS][:-7]}
    missing = nothing.examine(fewer).findings
    assert [(one.stream, one.sequence, one.upto) for one in missing] == [(FACTS, len(log[FACTS]) - 6, len(log[FACTS]))]


def test_messages_behind_the_last_checkpoint_are_no_additions(log: Log) -> None:
    half = evidence_of(log, KEY, 0.5)
    auditor = Auditor(half, link=Remembered(log))
    report = auditor.examine(log)
    assert report.findings == ()
    assert {one.stream: one.signed for one in report.streams}[PARTITION] == 1_500
    changed = {**log, PARTITION: list(log[PARTITION])}
    flip(changed[PARTITION], 1_499, random.Random(1))
    assert [(one.stream, one.sequence) for one in auditor.examine(changed).findings] == [(PARTITION, 1_500)]
    behind = {**log, PARTITION: [*log[PARTITION][:2_000], *log[PARTITION][2_001:]]}
    assert {(one.stream, one.sequence) for one in auditor.examine(behind).findings} == {(PARTITION, 2_001)}
    mixed = {**log, PARTITION: renumbered([*log[PARTITION][:2_500], log[PARTITION][10], *log[PARTITION][2_500:]])}
    assert (PARTITION, 2_501) in {(one.stream, one.sequence) for one in auditor.examine(mixed).findings}
