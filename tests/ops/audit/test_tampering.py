"""A thousand ways to tamper with a log of ten thousand commits: each is found, and its place is named right."""

import random
from collections.abc import Callable

import msgspec
import pytest

from events.subjects import FACTS
from ops.audit.chain import Link, link_of
from ops.audit.evidence import Evidence
from ops.audit.verify import Auditor
from ops.wiring import DEVICE_LANE, LANE
from services.log_port import Entry
from tests.ops.audit.logs import Log, evidence_of, key_of, log_of

SEED, TIMES = 20261121, 1000
KEY, OTHER = key_of(1), key_of(2)
Places = set[tuple[str, int]]
"""Where a change may rightly be named: an adjacent swap has two places, all others have one."""


class Remembered:
    """The link of a message follows from what is stored alone, so that of an untouched message need be made only once."""

    def __init__(self, log: Log) -> None:
        self._untouched = {id(entry): link_of(entry) for entries in log.values() for entry in entries}
        self._log = log

    def __call__(self, entry: Entry) -> Link:
        return self._untouched.get(id(entry)) or link_of(entry)


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
    return log_of(10_000, devices=1_000)


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
        stream = chance.choice((LANE, LANE, LANE, FACTS, FACTS, DEVICE_LANE))
        changed = {**log, stream: list(log[stream])}
        places = way(changed[stream], chance.randrange(len(log[stream])), chance)
        found = {(one.stream, one.sequence) for one in auditor.examine(changed).findings}
        assert found and found <= places, (places, found)
