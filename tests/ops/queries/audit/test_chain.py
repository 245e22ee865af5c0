"""What a stream says about itself, without any record beside it: each way in which it can contradict itself, by place and in words."""

from collections.abc import Callable, Mapping

import msgspec
import pytest

from events.codec import decode_commit, encode
from events.commit import InputRun
from events.subjects import FACTS
from ops.production.archive.finding import AuditFinding
from ops.production.log.streams import PARTITION
from ops.queries.audit.chain import Chain, Envelope, Gaps, Link, Resting, Rests, link_of, missing_inputs
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import log_of

Told = tuple[int, str, str]
"""Where, what, and in which words."""
ANOTHER = "names another message as its predecessor than stands at "


@pytest.fixture
def partition() -> list[Entry]:
    return log_of(6)[PARTITION]


def told(findings: list[AuditFinding]) -> list[Told]:
    return [(one.sequence, one.what, one.detail) for one in findings]


def chained(entries: list[Entry]) -> Chain:
    chain = Chain()
    for entry in entries:
        chain.take(entry, link_of(entry))
    return chain


def changed(entry: Entry, **fields: object) -> Entry:
    """The entry with other fields in its commit."""
    return msgspec.structs.replace(entry, data=encode(msgspec.structs.replace(decode_commit(entry.data), **fields)))


def at(entry: Entry, sequence: int) -> Entry:
    return msgspec.structs.replace(entry, sequence=sequence)


def third(made: Callable[[Entry], Entry]) -> Callable[[list[Entry]], list[Entry]]:
    """The partition with its third message changed."""
    return lambda partition: [*partition[:2], made(partition[2]), *partition[3:]]


@pytest.mark.parametrize(
    ("change", "findings"),
    [
        pytest.param(list, [], id="untouched"),
        pytest.param(
            third(lambda one: msgspec.structs.replace(one, data=b"{")),
            [(3, "unreadable", "is no commit that this version can read"), (4, "chain", ANOTHER + "3")],
            id="can't be read",
        ),
        pytest.param(
            third(lambda one: msgspec.structs.replace(one, message_id="other")),
            [(3, "changed", "is stored as other and names itself LOG_0-2")],
            id="stored under another id",
        ),
        pytest.param(
            third(lambda one: msgspec.structs.replace(one, message_id="")),
            [],
            id="stored under no id, as an archive may",
        ),
        pytest.param(third(lambda one: changed(one, epoch=7)), [(4, "chain", ANOTHER + "3")], id="changed inside"),
        pytest.param(
            third(lambda one: changed(one, prev_hash="0" * 64)),
            [(3, "chain", ANOTHER + "2"), (4, "chain", ANOTHER + "3")],
            id="hangs on nothing",
        ),
        pytest.param(
            lambda partition: [changed(partition[0], prev_hash="f" * 64), *partition[1:]],
            [(1, "chain", ANOTHER + "0"), (2, "chain", ANOTHER + "1")],
            id="the first hangs on something",
        ),
        pytest.param(lambda partition: partition[3:], [], id="begun behind an archive"),
        pytest.param(
            lambda partition: [partition[0], *partition[2:]], [], id="a gap is no break of the chain behind it"
        ),
        pytest.param(
            lambda partition: [*partition[:2], *partition[1:]],
            [],
            id="one that comes again under its number says nothing of the chain",
        ),
        pytest.param(
            lambda partition: [partition[0], *(at(one, one.sequence - 1) for one in partition[2:])],
            [(2, "chain", "was appended behind sequence 2, and stands behind 1")],
            id="one dropped and numbered anew: told where it begins",
        ),
        pytest.param(
            lambda partition: [*partition[:2], *(at(one, one.sequence + 1) for one in partition[1:])],
            [(3, "chain", "was appended behind sequence 1, and stands behind 2")],
            id="one twice and numbered anew: told where it begins",
        ),
    ],
)
def test_a_partition_that_contradicts_itself_is_told_where_it_begins_to(
    partition: list[Entry], change: Callable[[list[Entry]], list[Entry]], findings: list[Told]
) -> None:
    assert told(chained(change(partition)).findings(begin=0, recorded=0)) == findings


def test_a_partition_that_is_moved_back_to_its_place_is_told_again(partition: list[Entry]) -> None:
    moved = [partition[0], at(partition[2], 2), *partition[3:]]
    assert [place for place, _, _ in told(chained(moved).findings(begin=0, recorded=0))] == [2, 4]


def test_what_was_recorded_as_it_is_may_be_strange_and_what_stands_behind_the_record_may_not(
    partition: list[Entry],
) -> None:
    strange = chained([*partition[:2], msgspec.structs.replace(partition[2], data=b"{"), *partition[3:]])
    assert [place for place, _, _ in told(strange.findings(begin=0, recorded=2))] == [3, 4]
    assert [place for place, _, _ in told(strange.findings(begin=0, recorded=3))] == [4], (
        "that the next names another stays"
    )
    assert [place for place, _, _ in told(strange.findings(begin=2, recorded=0))] == [3, 4]
    assert [place for place, _, _ in told(strange.findings(begin=3, recorded=0))] == [4]
    assert told(strange.findings(begin=4, recorded=0)) == []


def test_facts_form_no_chain_and_of_a_commit_just_what_any_version_can_read_is_read() -> None:
    log = log_of(2)
    fact, commit = link_of(log[FACTS][0]), link_of(log[PARTITION][1])
    assert (fact.sha256, fact.envelope) == ("", None)
    archived = msgspec.structs.replace(log[FACTS][0], stream="".join(list(FACTS)))
    assert link_of(archived) == fact, "wherever it was read"
    stored = decode_commit(log[PARTITION][1].data)
    assert commit.envelope == Envelope(id=stored.id, prev_hash=stored.prev_hash, base=1, inputs=stored.inputs)
    assert link_of(msgspec.structs.replace(log[PARTITION][1], data=b"[" * 100_000)).envelope is None


@pytest.mark.parametrize(
    ("after", "sequences", "findings"),
    [
        (0, (1, 2, 3), []),
        (4, (5, 6), []),
        (0, (2,), [(1, 1, "missing", "1 message(s) are not there")]),
        (4, (5, 9, 10), [(6, 8, "missing", "3 message(s) are not there")]),
        (0, (1, 1), [(1, 0, "reordered", "comes behind sequence 1")]),
        (0, (1, 2, 1), [(1, 0, "reordered", "comes behind sequence 2")]),
        (4, (3, 5), [(3, 0, "reordered", "comes behind sequence 4"), (4, 4, "missing", "1 message(s) are not there")]),
    ],
)
def test_sequences_that_are_not_there_or_come_again_are_told(
    after: int, sequences: tuple[int, ...], findings: list[tuple[int, int, str, str]]
) -> None:
    gaps = Gaps(PARTITION, after)
    for sequence in sequences:
        gaps.take(sequence)
    assert [(one.sequence, one.upto, one.what, one.detail) for one in gaps.findings] == findings
    assert {one.stream for one in gaps.findings} <= {PARTITION}


def resting(*runs: tuple[int, str, int], skipped: tuple[int, ...] = ()) -> Rests:
    """What commits say of their inputs: the sequence of each, a stream and how much of it."""
    found = Resting(PARTITION, skipped)
    for sequence, stream, upto in runs:
        envelope = Envelope(id="c", prev_hash="", base=sequence - 1, inputs=(InputRun(stream=stream, upto=upto),))
        entry = Entry(stream=PARTITION, sequence=sequence, subject="", message_id="c", data=b"")
        found.take(entry, Link(leaf=b"", envelope=envelope))
    return found.result()


def test_a_partition_rests_on_the_most_that_any_of_its_commits_names_and_says_by_which() -> None:
    said = resting((1, FACTS, 4), (2, "DEVICES_0", 2), (3, FACTS, 4), (4, FACTS, 9))
    assert said == Rests(upto={FACTS: (9, "LOG_0 4"), "DEVICES_0": (2, "LOG_0 2")})


def test_a_commit_that_rests_on_less_than_one_before_it_is_told_and_counts_for_nothing() -> None:
    said = resting((1, FACTS, 4), (2, FACTS, 3), (3, FACTS, 5))
    assert told(list(said.findings)) == [(2, "inputs", "rests on FACTS up to 3, a commit before it up to 4")]
    assert said.upto == {FACTS: (5, "LOG_0 3")}
    assert [one.sequence for one in resting((1, FACTS, -1)).findings] == [1], "nobody rests on less than nothing"


def test_what_a_skipped_commit_says_is_not_asked() -> None:
    assert resting((1, FACTS, 4), (2, FACTS, 900), (3, FACTS, 5), skipped=(2,)) == Rests(upto={FACTS: (5, "LOG_0 3")})


@pytest.mark.parametrize(
    ("rests", "ends", "findings"),
    [
        ([{FACTS: (9, "LOG_0 4")}], {FACTS: 9}, []),
        ([{FACTS: (9, "LOG_0 4")}], {}, []),
        ([{FACTS: (9, "LOG_0 4")}], {FACTS: 7}, [(FACTS, 8, 9, "LOG_0 4 rests on FACTS up to 9, which ends at 7")]),
        (
            [{FACTS: (8, "LOG_0 4")}, {FACTS: (9, "DEVICES_0 1")}, {FACTS: (8, "LOG_1 2")}],
            {FACTS: 7},
            [(FACTS, 8, 9, "DEVICES_0 1 rests on FACTS up to 9, which ends at 7")],
        ),
        (
            [{FACTS: (9, "LOG_0 4")}, {FACTS: (9, "DEVICES_0 1")}],
            {FACTS: 0},
            [(FACTS, 1, 9, "LOG_0 4 rests on FACTS up to 9, which ends at 0")],
        ),
        (
            [{FACTS: (2, "LOG_0 1"), "DEVICES_0": (3, "LOG_0 2")}],
            {FACTS: 1, "DEVICES_0": 2},
            [
                ("DEVICES_0", 3, 3, "LOG_0 2 rests on DEVICES_0 up to 3, which ends at 2"),
                (FACTS, 2, 2, "LOG_0 1 rests on FACTS up to 2, which ends at 1"),
            ],
        ),
    ],
)
def test_messages_that_commits_rest_on_and_that_are_not_there_are_told_once_by_who_rests_on_most(
    rests: list[Mapping[str, tuple[int, str]]],
    ends: Mapping[str, int],
    findings: list[tuple[str, int, int, str]],
) -> None:
    found = missing_inputs([Rests(upto=dict(one)) for one in rests], ends)
    assert [(one.stream, one.sequence, one.upto, one.detail) for one in found] == findings
    assert {one.what for one in found} <= {"missing"}
