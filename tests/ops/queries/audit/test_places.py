"""Each place of a log that is not as it was is told once, by what is surest of it: the record, the signed root, the chain."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.subjects import FACTS
from ops.production.archive.finding import Covered
from ops.production.archive.proof.evidence import Evidence
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.verify import Auditor
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of, ring_key

KEY = key_of(1)
COMMITS, SIGNED = 12, 6
Place = tuple[str, int, str]


def other(entry: Entry) -> Entry:
    """Another message in its place, which names the same predecessor."""
    return replace(entry, data=entry.data.replace(b"team/w", b"team/x"))


def changed(stream: str, *sequences: int) -> Callable[[Log], Log]:
    return lambda log: {**log, stream: [other(one) if one.sequence in sequences else one for one in log[stream]]}


def without(stream: str, *sequences: int) -> Callable[[Log], Log]:
    return lambda log: {**log, stream: [one for one in log[stream] if one.sequence not in sequences]}


def test_every_partition_is_held_against_its_own_chain() -> None:
    log = log_of(COMMITS, devices=COMMITS)
    evidence = evidence_of(log, KEY, SIGNED / COMMITS)
    both = changed(DEVICE_PARTITION, SIGNED + 2)(changed(PARTITION, SIGNED + 1)(log))
    assert found(evidence, both) == [(DEVICE_PARTITION, SIGNED + 3, "chain"), (PARTITION, SIGNED + 2, "chain")]


def found(evidence: Evidence, log: Log) -> list[Place]:
    return sorted((one.stream, one.sequence, one.what) for one in Auditor(evidence).examine(log).findings)


@pytest.mark.parametrize(
    ("change", "places"),
    [
        (dict, []),
        (changed(PARTITION, 3), [(PARTITION, 3, "changed")]),
        (changed(PARTITION, 3, 4), [(PARTITION, 3, "changed"), (PARTITION, 4, "changed")]),
        (changed(PARTITION, 3, 5), [(PARTITION, 3, "changed"), (PARTITION, 5, "changed")]),
        (changed(PARTITION, SIGNED), [(PARTITION, SIGNED, "changed")]),
        (changed(PARTITION, SIGNED + 1), [(PARTITION, SIGNED + 2, "chain")]),
        (changed(PARTITION, 3, SIGNED + 2), [(PARTITION, 3, "changed"), (PARTITION, SIGNED + 3, "chain")]),
        (changed(PARTITION, COMMITS), []),
        (changed(FACTS, 3), [(FACTS, 3, "changed")]),
        (without(PARTITION, 2), [(PARTITION, 2, "missing")]),
        (without(PARTITION, SIGNED + 3), [(PARTITION, SIGNED + 3, "missing")]),
        (without(FACTS, SIGNED + 3), [(FACTS, SIGNED + 3, "missing")]),
        (without(FACTS, COMMITS), [(FACTS, COMMITS, "missing")]),
        (without(FACTS, 3, COMMITS), [(FACTS, 3, "missing")]),
    ],
)
def test_under_a_checkpoint_over_the_first_half_a_place_is_told_once(
    change: Callable[[Log], Log], places: list[Place]
) -> None:
    log = log_of(COMMITS)
    assert found(evidence_of(log, KEY, SIGNED / COMMITS), change(log)) == places


def test_a_partition_of_which_nothing_is_recorded_has_to_begin_with_a_commit_that_follows_none() -> None:
    log = log_of(COMMITS)
    behind = {**log, PARTITION: [replace(one, sequence=one.sequence - 1) for one in log[PARTITION][1:]]}
    assert found(Evidence(), behind) == [(PARTITION, 1, "chain")]
    assert found(Evidence(), log) == []


def test_a_partition_that_contradicts_itself_is_told_though_it_was_signed_as_it_is() -> None:
    broken = changed(PARTITION, 3)(log_of(COMMITS))
    assert found(evidence_of(broken, KEY), broken) == [(PARTITION, 4, "chain")]


def harmed(evidence: Evidence, sequence: int) -> Evidence:
    """The evidence with another leaf kept beside it."""
    kept = bytearray(evidence.leaves[PARTITION])
    kept[(sequence - 1) * 32] ^= 1
    return replace(evidence, leaves={**evidence.leaves, PARTITION: bytes(kept)})


@pytest.mark.parametrize(
    ("change", "places"),
    [
        (dict, [(PARTITION, 4, "record")]),
        (
            changed(PARTITION, 2),
            [(PARTITION, 2, "changed"), (PARTITION, 4, "changed"), (PARTITION, SIGNED, "checkpoint")],
        ),
        (changed(FACTS, 2), [(FACTS, 2, "changed"), (PARTITION, 4, "record")]),
    ],
)
def test_a_leaf_that_was_changed_beside_a_checkpoint_is_told_as_that_while_the_log_leads_to_the_signed_root(
    change: Callable[[Log], Log], places: list[Place]
) -> None:
    log = log_of(COMMITS)
    assert found(harmed(evidence_of(log, KEY, SIGNED / COMMITS), 4), change(log)) == places


def test_leaves_that_were_cut_off_beside_a_checkpoint_are_told_at_the_checkpoint() -> None:
    log = log_of(COMMITS)
    evidence = evidence_of(log, KEY, SIGNED / COMMITS)
    cut = replace(evidence, leaves={**evidence.leaves, PARTITION: evidence.leaves[PARTITION][:64]})
    assert found(cut, log) == [(PARTITION, SIGNED, "record")]


def test_a_report_says_how_much_of_each_stream_stands_under_whose_checkpoint() -> None:
    log = log_of(COMMITS, devices=2)
    evidence = evidence_of({name: log[name] for name in (FACTS, PARTITION)}, KEY, 0.5)
    short = {**log, PARTITION: log[PARTITION][:4]}
    told = {one.stream: one for one in Auditor(evidence).examine(short).streams}
    key, head = ring_key(KEY).id, evidence.heads[PARTITION]
    assert told[PARTITION] == Covered(stream=PARTITION, messages=4, signed=4, key=key, root=head.root)
    assert told[FACTS].signed == evidence.heads[FACTS].sequence == 7
    assert told[DEVICE_PARTITION] == Covered(stream=DEVICE_PARTITION, messages=2)


@pytest.mark.parametrize(
    ("ends", "missing"),
    [
        (None, [(FACTS, 11)]),
        ({}, []),
        ({FACTS: COMMITS}, []),
        ({FACTS: 9}, [(FACTS, 10)]),
        (lambda: {FACTS: 9}, [(FACTS, 10)]),
    ],
)
def test_what_commits_rest_on_has_to_be_there_as_far_as_it_is_known_where_a_stream_ends(
    ends: object, missing: list[tuple[str, int]]
) -> None:
    log = log_of(COMMITS)
    short = {**log, FACTS: log[FACTS][:10]}
    findings = Auditor(Evidence()).examine(short, (), ends).findings  # pyright: ignore[reportArgumentType]
    assert [(one.stream, one.sequence) for one in findings if one.what == "missing"] == missing
