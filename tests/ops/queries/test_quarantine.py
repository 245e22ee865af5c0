"""What may be skipped, and what has to be skipped before it."""

import pytest

from events.codec import encode
from events.commit import Commit, InputRun
from events.event import Millis
from events.hash_chain import GENESIS
from events.subjects import FACTS, commit_subject, fact_subject
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.quarantine import QuarantineRefused, refuse_if_folded
from services.runtime.log_port import Entry

AT: Millis = 1_800_000_000_000


def stored(stream: str, subject: str, data: bytes) -> Entry:
    return Entry(stream=stream, sequence=1, subject=subject, message_id="x", data=data, stored=AT)


def test_who_wants_to_skip_what_a_halting_commit_rests_on_is_told_to_skip_that_commit_first() -> None:
    foreign = Commit(
        id="x",
        prev_hash=GENESIS,
        partition=DEVICE_PARTITION,
        base=0,
        inputs=(InputRun(stream=DEVICE_PARTITION, upto=9), InputRun(stream=FACTS, upto=1)),
        author="accountant",
        epoch=0,
        rules="1",
        at=AT,
        events=(),
    )
    entries = {
        PARTITION: [stored(PARTITION, commit_subject(PARTITION, "admitter"), b"garbage")],
        FACTS: [stored(FACTS, fact_subject("", "PodsGone"), b"garbage")],
        DEVICE_PARTITION: [stored(DEVICE_PARTITION, commit_subject(DEVICE_PARTITION, "accountant"), encode(foreign))],
    }
    with pytest.raises(
        QuarantineRefused, match="DEVICES_default 1 rests on FACTS 1, and halts its partition"
    ) as refused:
        refuse_if_folded(entries, FACTS, 1)
    assert refused.value.first == (DEVICE_PARTITION, 1)
    refuse_if_folded(entries, DEVICE_PARTITION, 1)
