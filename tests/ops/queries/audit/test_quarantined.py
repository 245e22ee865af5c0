"""What an operator had skipped says nothing of what the commits behind it rest on."""

from msgspec.structs import replace

from events.codec import decode_commit, encode
from events.commit import Commit, InputRun
from events.control import Quarantined
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL, FACTS
from ops.production.archive.proof.evidence import Evidence
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.verify import Auditor
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import evidence_of, key_of, log_of


def behind(entries: list[Entry], commit: Commit) -> None:
    """Store a commit that follows what is there."""
    end = entries[-1] if entries else None
    base = end.sequence if end else 0
    made = replace(commit, id=f"c-{base}", base=base, prev_hash=bytes_hash(end.data) if end else commit.prev_hash)
    subject = "kuelog.control.operator" if commit.partition == CONTROL else f"kuelog.log.0.{commit.author}"
    entries.append(
        Entry(stream=made.partition, sequence=base + 1, subject=subject, message_id=made.id, data=encode(made))
    )


def test_a_skipped_commit_that_rests_on_nothing_blames_none_behind_it() -> None:
    log = log_of(3)
    honest = decode_commit(log[PARTITION][-1].data)
    behind(log[PARTITION], replace(honest, inputs=(InputRun(stream=FACTS, upto=1000),)))
    behind(log[PARTITION], honest)
    found = Auditor(Evidence()).examine(log).findings
    assert [(one.sequence, one.what) for one in found] == [(5, "inputs")], "nobody has said that the fourth is strange"
    quarantined = Quarantined(stream=PARTITION, sequence=4, reason="stored by a stray script")
    first = Commit(
        id="",
        prev_hash="0" * 64,
        partition=CONTROL,
        base=0,
        inputs=(),
        author="operator",
        epoch=0,
        rules="1",
        at=5000,
        events=(quarantined,),
    )
    signed = Auditor(evidence_of(log, key_of(1)))
    assert signed.examine(log).findings
    behind(log[CONTROL], first)
    assert Auditor(Evidence()).examine(log).findings == ()
    assert signed.examine(log).findings == (), "nor does an auditor who knew the stream before"


def test_what_is_skipped_of_one_stream_is_not_skipped_of_another() -> None:
    log = log_of(3)
    honest = decode_commit(log[PARTITION][-1].data)
    behind(log[PARTITION], replace(honest, inputs=(InputRun(stream=FACTS, upto=1000),)))
    behind(log[PARTITION], honest)
    told = replace(honest, partition=CONTROL, prev_hash=GENESIS, author="operator", inputs=())
    for stream in (DEVICE_PARTITION, FACTS):
        skipped = Quarantined(stream=stream, sequence=4, reason="stored by a stray script")
        behind(log[CONTROL], replace(told, events=(skipped,)))
    found = Auditor(Evidence()).examine(log).findings
    assert [(one.stream, one.sequence, one.what) for one in found] == [(PARTITION, 5, "inputs")]
